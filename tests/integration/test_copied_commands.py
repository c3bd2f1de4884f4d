"""The commands that the console's pages offer to copy work when pasted into a shell, against a server with and one
without authentication."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.integration.process import ROOT, Served, serving
from tests.integration.signed import KEYS, OURS, client, signed_server
from tests.needs import needs

pytestmark = needs("curl")
_COPIED = re.compile(r'data-copy="([^"]*)"')
HOSTILE = "-x 'it' \"is\" `id` $HOME\u00e9 @/etc/passwd"


def paste(command: str, user: str = "") -> str:
    """Runs the text in a shell and returns its output. `cqs` is that of this environment."""
    keys = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), KEYS[user], strict=True)) if user else {}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {"PATH": path, "PYTHONPATH": str(ROOT), "HOME": "/nowhere", **keys}
    done = subprocess.run(["bash", "-ec", command], env=environ, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def copied(server: Served, path: str) -> list[str]:
    with urlopen(f"{server.endpoint}/ADMIN{path}", timeout=60) as page:
        return [unescape(text) for text in _COPIED.findall(page.read().decode())]


def only(texts: list[str], *wanted: str) -> str:
    (found,) = [text for text in texts if all(one in text for one in wanted)]
    return found


@pytest.mark.parametrize("mode", ["open", "signed"])
def test_commands_do_what_the_page_does(tmp_path: Path, mode: str) -> None:
    user = "alice" if mode == "signed" else ""
    flags = ("--data-dir", str(tmp_path / "data"), "--account", OURS)
    with signed_server(tmp_path, "signed", "--account", OURS) if user else serving(*flags) as server:
        sqs = client(server)
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        sent = sqs.send_message(QueueUrl=url, MessageBody=HOSTILE)["MessageId"]
        message = copied(server, f"/q/{OURS}/orders/messages/{sent}")
        look = only(copied(server, f"/q/{OURS}/orders/messages"), "curl ", "PeekMessages")

        for command in (only(message, "curl ", "AmazonSQS.SendMessage"), only(message, "cqs send ")):
            paste(command, user)
        assert [one["Body"] for one in json.loads(paste(look, user))["Messages"]] == [HOSTILE] * 3
        paste(only(message, "cqs change ", " delete "), user)
        assert sent not in paste(look, user)
        paste(only(copied(server, "/queues/sure?do=purge&chosen=orders"), "curl "), user)
        assert json.loads(paste(look, user))["Messages"] == []
        paste(only(copied(server, "/queues/sure?do=delete&chosen=orders"), "cqs delete "), user)
        paste(only(copied(server, "/queues/new"), "curl ").replace("\u2026", "other"), user)
        assert sqs.list_queues()["QueueUrls"] == [url.replace("orders", "other")]
