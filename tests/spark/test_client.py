"""What the client of a replay makes of servers that are none of SQS."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from spark_jobs.client import CallFailed, Client, Dropped, OutcomeUnknown


class Stranger(BaseHTTPRequestHandler):
    """Answers every call with the same."""

    status, body = 200, b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None: ...


class Quiet(HTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


@pytest.fixture
def client() -> Iterator[Client]:
    with Quiet(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        client = Client(f"http://127.0.0.1:{server.server_port}", "c", random.Random(1))
        yield client
        client.close()
        server.shutdown()


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"[]", b"{}", b"7", b"", b"\xff", b"[" * 500])
def test_answer_of_another_kind_of_server_is_told(client: Client, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(Stranger, "body", body)

    with pytest.raises(CallFailed, match="answers something else than SQS"):
        client.create_queue("q", 30)


def test_call_that_is_lost_on_purpose_is_told_apart(client: Client) -> None:
    client.drop_probability = 1.0

    for _ in range(10):
        with pytest.raises(Dropped, match="dropped"):
            client.delete("url", "receipt")
    assert (Dropped.outcome, OutcomeUnknown.outcome) == ("dropped", "unknown")


@pytest.mark.parametrize(("status", "error"), [(400, CallFailed), (404, CallFailed), (503, OutcomeUnknown)])
def test_refusal_was_not_done_and_a_failure_may_be(
    client: Client, monkeypatch: pytest.MonkeyPatch, status: int, error: type[Exception]
) -> None:
    monkeypatch.setattr(Stranger, "status", status)

    with pytest.raises(error, match=str(status)):
        client.delete("url", "receipt")
