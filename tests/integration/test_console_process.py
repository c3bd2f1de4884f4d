"""The console of a server process, over plain HTTP: sessions survive a restart, logged-out ones do not."""

from __future__ import annotations

import re
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.integration.process import Served, serving

PASSWORD = "correct horse battery"
_TOKEN = re.compile(r'name="csrf" (?:value|content)="([0-9a-f]+)"')


class Browser:
    """Keeps one cookie, and posts with the token of the last page it loaded."""

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
        connection = HTTPConnection(self._host, timeout=60)
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


def raw(server: Served, request: bytes) -> tuple[int, bytes]:
    """Sends these bytes and returns status and full response; status 0 = closed without one."""
    host, port = urlsplit(server.endpoint).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    return (int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0), answer


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


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server where alice has a password. No request of the tests may make it log an error or a traceback."""
    with console_server(tmp_path_factory.mktemp("locked")) as server:
        yield server
        code, rest = server.stop()
    assert (code, "Traceback" in rest, "console_failed" in rest) == (0, False, False), rest


PATHS = (
    "/ADMIN/../etc/passwd", "/ADMIN/static/../../../etc/passwd", "/ADMIN/static/..%2f..%2f..%2fetc%2fpasswd",
    "/ADMIN/static/%2e%2e/%2e%2e/pyproject.toml", "/ADMIN/static//etc/passwd", "/ADMIN/static/%252e%252e%252fapp.py",
    "/ADMIN/static/..\\..\\app.py", "/ADMIN/static/console.css%00.png", "/ADMIN/reports/raw/..%2f..%2fmaster.key",
    "/ADMIN//evil.example/", "//evil.example/ADMIN/", "/ADMIN/q/%2e%2e/%2e%2e/messages", "/ADMIN/%ff%fe",
    "/ADMIN/users/..%2f..", "/ADMIN;x=1/users", "/%41DMIN/users", "/admin/users", "/ADMIN/users?" + "a=b&" * 1_500,
    "/ADMIN/" + "x/" * 3_000,
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:40])
def test_no_path_leads_past_the_login(locked: Served, path: str) -> None:
    status, answer = raw(locked, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode("latin-1"))

    assert status in (301, 303, 308, 400, 403, 404, 405, 414, 431), answer[:300]
    assert b"root:" not in answer and b"[project]" not in answer
    location = re.search(rb"(?i)^location: *(\S+)", answer, re.MULTILINE)
    assert location is None or location[1].removeprefix(b"/").startswith(b"ADMIN/"), location


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "get"])
def test_no_other_method_is_taken(locked: Served, method: str) -> None:
    status, answer = raw(locked, f"{method} /ADMIN/users/add HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())

    assert status in (0, 400, 403, 404, 405) or b"Location: /ADMIN/login" in answer


FORMS = {
    "too long": (b"Content-Length: 999999999\r\n\r\n" + b"a=b&" * 100_000, 413),
    "chunks without end": (b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"x" * 65_536 + b"\r\n", 303),
    "two lengths": (b"Content-Length: 3\r\nContent-Length: 5\r\n\r\na=b", 400),
    "both": (b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "packed": (b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\na=b", 415),
    "cut off": (b"Content-Length: 100\r\n\r\na=b", 303),
    "many fields": (b"Content-Length: 40000\r\n\r\n" + b"a=b&" * 10_000, 303),
}
"""With the status of each; a stranger whose form was not read is sent to the login page (303)."""


@pytest.mark.parametrize(("body", "expected"), FORMS.values(), ids=FORMS.keys())
def test_no_form_of_a_stranger_is_taken(locked: Served, body: bytes, expected: int) -> None:
    origin = urlsplit(locked.endpoint).netloc.encode()
    head = b"POST /ADMIN/login HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nConnection: close\r\n" % (origin, origin)
    kind = b"Content-Type: application/x-www-form-urlencoded\r\n"

    status, answer = raw(locked, head + kind + body)

    assert status == expected, answer[:300]
    assert locked.get("/health")[0] == 200


def test_guessing_is_locked_and_the_right_password_has_to_wait_too(locked: Served) -> None:
    guesser = Browser(locked)
    guesser.get("/ADMIN/login")

    answers = [guesser.post("/ADMIN/login", user="alice", password=f"guess {number}") for number in range(6)]

    assert answers == [401] * 5 + [429]
    assert guesser.post("/ADMIN/login", user="alice", password=PASSWORD) == 429
    assert not guesser.is_in()
