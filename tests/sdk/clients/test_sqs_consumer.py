"""sqs-consumer and the AWS SDK for JavaScript, which checks every digest itself."""

from __future__ import annotations

import json
import subprocess
from collections import Counter

from tests.needs import needs
from tests.sdk.server_process import ServerProcess
from tests.sdk.toolchains import node_folder

pytestmark = needs("node", "npm")


def test_consumer_handles_every_message_and_sees_failed_ones_again(server: ServerProcess) -> None:
    count = 100
    command = ["node", str(node_folder() / "consume.mjs"), server.url, "node-consumer", str(count)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=150)
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout.splitlines()[-1])
    every = [f"message {number}" for number in range(count)]
    sevens = [body for body in every if body.endswith("7")]
    assert seen["errors"] == []
    assert Counter(seen["handled"]) == Counter(every)
    assert sorted(seen["failed"]) == sorted(sevens)
    assert seen["counts"] == {body: 2 if body in sevens else 1 for body in every}
