"""Runs `cqs doctor` for tests, and a fake server that answers like Redis versions that are not available here."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from cqs.cache.redis import probe
from cqs.cli import cli

PATIENCE_S = 180.0


@dataclass(frozen=True)
class Told:
    """The doctor's output: exit code, and level, part, text and remedy of each finding."""

    code: int
    findings: list[tuple[str, str, str, str]]

    def about(self, part: str) -> list[tuple[str, str]]:
        """Returns level and text of the findings whose part begins like this."""
        return [(level, text) for level, where, text, _ in self.findings if where.startswith(part)]


def doctor(*arguments: str, **env: str) -> Told:
    """Runs it, for a server on a free port. Other servers have a minute to answer."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(probe, "PROBE_S_MAX", PATIENCE_S)
        result = CliRunner().invoke(cli, ["doctor", "-o", "json", *arguments], env={"CQS_PORT": "0", **env})
    assert result.exit_code in (0, 1), (result.output, result.exception)
    told = json.loads(result.stdout)
    assert told["is_well"] is (result.exit_code == 0)
    findings = [(one["level"], one["part"], one["text"], one["to_do"]) for one in told["findings"]]
    assert all(bool(to_do) is (level != "ok") for level, _, _, to_do in findings), "what to do, and only when it is due"
    return Told(result.exit_code, findings)


@contextmanager
def pretended_redis(version: str, behind_s: int) -> Iterator[str]:
    """Yields the address of a server that answers INFO, TIME and CONFIG GET like a master of this version, whose clock
    runs this far behind ours."""
    info = f"redis_version:{version}\r\nrole:master\r\nrun_id:abc\r\nused_memory:1\r\n"

    class Answers(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while count := self.rfile.readline():
                words = [self.rfile.readline() and self.rfile.readline().strip() for _ in range(int(count[1:]))]
                self.wfile.write(self.answer(*words).encode())

        def answer(self, name: bytes, *rest: bytes) -> str:
            if name == b"INFO":
                return f"${len(info)}\r\n{info}\r\n"
            texts = self.now() if name == b"TIME" else [rest[1].decode(), ""]
            return f"*2\r\n{''.join(f'${len(text)}{chr(13)}{chr(10)}{text}{chr(13)}{chr(10)}' for text in texts)}"

        def now(self) -> list[str]:
            seconds, nanos = divmod(time.time_ns(), 1_000_000_000)
            return [str(seconds - behind_s), str(nanos // 1_000)]

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
