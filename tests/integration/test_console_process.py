"""The console of a server as a process, over plain HTTP: sessions outlive a restart, logged-out ones do not."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tests.integration.process import Served, serving

PASSWORD = "correct horse battery"
_TOKEN = re.compile(r'name="csrf" (?:value|content)="([0-9a-f]+)"')


class Browser:
    """Keeps one cookie, and posts with the token of the page it saw last."""

    def __init__(self, server: Served, cookie: str = "") -> None:
        self._host = urlsplit(server.endpoint).netloc
        self.cookie = cookie
        self.token = ""

    def get(self, path: str) -> int:
        return self._ask("GET", path)

    def post(self, path: str, **fields: str) -> int:
        return self._ask("POST", path, urlencode({"csrf": self.token, **fields}))

    def log_in(self, user: str) -> None:
        assert self.get("/ADMIN/login") == 200
        assert self.post("/ADMIN/login", user=user, password=PASSWORD) == 303

    def is_in(self) -> bool:
        return self.get("/ADMIN/") == 200

    def _ask(self, method: str, path: str, body: str | None = None) -> int:
        connection = HTTPConnection(self._host, timeout=20)
        headers = {"Cookie": f"cqs_console={self.cookie}", "Origin": f"http://{self._host}"}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = line.partition(";")[0].partition("=")
            if name == "cqs_console":
                self.cookie = value
        found = _TOKEN.search(text)
        self.token = found[1] if found is not None else self.token
        return answer.status


@contextmanager
def console_server(folder: Path) -> Iterator[Served]:
    users = folder / "users.toml"
    users.write_text(f'[[user]]\nname = "alice"\nrole = "administrator"\npassword = "{PASSWORD}"\n')
    users.chmod(0o600)
    with serving("--data-dir", str(folder / "data"), "--users-file", str(users)) as server:
        yield server


def test_a_logged_out_session_stays_dead_after_kill_and_restart(tmp_path: Path) -> None:
    with console_server(tmp_path) as server:
        alice, elsewhere = Browser(server), Browser(server)
        alice.log_in("alice")
        elsewhere.log_in("alice")
        stolen = alice.cookie
        assert Browser(server, stolen).is_in()
        assert alice.get("/ADMIN/") == 200
        assert alice.post("/ADMIN/log-out") == 303
        server.stop(signal.SIGKILL)

    with console_server(tmp_path) as server:
        assert not Browser(server, stolen).is_in()
        assert Browser(server, elsewhere.cookie).is_in()


def test_a_drained_node_is_not_ready_until_it_is_taken_in_again(tmp_path: Path) -> None:
    with console_server(tmp_path) as server:
        alice = Browser(server)
        alice.log_in("alice")
        assert server.get("/ready")[0] == 200
        assert alice.get("/ADMIN/nodes") == 200

        assert alice.post("/ADMIN/nodes/drain") == 303
        assert server.get("/ready") == (503, '{"status": "unavailable", "reason": "draining", "auth": "open"}')
        assert server.get("/health")[0] == 200

        assert alice.post("/ADMIN/nodes/resume") == 303
        assert server.get("/ready")[0] == 200
