"""The commands' client and signer: the signatures equal botocore's, and failures are one clear line."""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import threading
from datetime import UTC, datetime

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from cqs.cli import main
from cqs.commands.client import CallFailed, Client, client_of, endpoint_of
from cqs.commands.signer import Keys, signed
from cqs.errors import ConfigError

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
RESET = b"reset"
"""Stands for a connection reset instead of a response."""
HEADERS = {
    "Host": "127.0.0.1:9324",
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "AmazonSQS.SendMessage",
    "x-amzn-query-mode": "true",
}


@pytest.mark.parametrize("token", ["", "session/token=="])
@pytest.mark.parametrize("body", [b"{}", '{"MessageBody": "héllo  ☃"}'.encode()])
@pytest.mark.parametrize("path", ["/", "/prefix/"])
def test_signature_is_that_of_botocore(monkeypatch: pytest.MonkeyPatch, token: str, body: bytes, path: str) -> None:
    monkeypatch.setattr(auth, "get_current_datetime", lambda *_: NOW.replace(tzinfo=None), raising=False)
    request = AWSRequest("POST", f"http://127.0.0.1:9324{path}", headers=dict(HEADERS), data=body)
    request.context["timestamp"] = NOW.strftime("%Y%m%dT%H%M%SZ")
    auth.SigV4Auth(Credentials("AKIDEXAMPLE", "secret", token or None), "sqs", "eu-west-1").add_auth(request)

    ours = signed(Keys("AKIDEXAMPLE", "secret", token), "eu-west-1", path, HEADERS, body, NOW)

    assert ours["X-Amz-Date"] == request.headers["X-Amz-Date"]
    assert ours["Authorization"] == request.headers["Authorization"]


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9324/é", "http://книга.example", f"http://{'a' * 70}.com"])
def test_an_endpoint_that_no_request_can_name_is_refused_by_its_name(endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"endpoint: .* can't be used; expected a URL"):
        Client(endpoint)


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION"])
@pytest.mark.parametrize("value", ["ключ", "a\nb"])
def test_what_no_header_can_hold_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: can't be used"):
        client_of("http://127.0.0.1:9324", {name: value})


def test_secret_is_not_shown() -> None:
    assert "geheim" not in repr(Keys("AKID", "geheim", "geheim"))


@pytest.mark.parametrize(
    ("given", "environ", "endpoint"),
    [
        ("http://flag", {"AWS_ENDPOINT_URL_SQS": "http://sqs"}, "http://flag"),
        (None, {"AWS_ENDPOINT_URL_SQS": "http://sqs", "AWS_ENDPOINT_URL": "http://all"}, "http://sqs"),
        (None, {"AWS_ENDPOINT_URL": "http://all", "CQS_PORT": "9400"}, "http://all"),
        (None, {"CQS_PUBLIC_URL": "https://q.example", "CQS_PORT": "9400"}, "https://q.example"),
        (None, {"CQS_PORT": "9400", "CQS_HOST": "0.0.0.0"}, "http://127.0.0.1:9400"),
        (None, {}, "http://127.0.0.1:9324"),
    ],
)
def test_endpoint_comes_from_flag_environment_and_settings(
    given: str | None, environ: dict[str, str], endpoint: str
) -> None:
    assert endpoint_of(given, environ) == endpoint


@pytest.mark.parametrize(
    "endpoint", ["localhost:9324", "ftp://a", "http://", "nonsense", "http://[::1", "http://a:99999", "http://a:x"]
)
def test_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="endpoint"):
        Client(endpoint)


def test_keys_come_from_the_environment_only_as_a_pair() -> None:
    environ = {"AWS_ENDPOINT_URL": "http://a", "AWS_ACCESS_KEY_ID": "id"}

    assert client_of(None, environ)._keys is None
    assert client_of(None, environ | {"AWS_SECRET_ACCESS_KEY": "s"})._keys == Keys("id", "s")


@pytest.mark.parametrize(("keys", "is_told"), [(None, True), (Keys("AKID", "s"), False)])
def test_who_has_no_key_is_told_where_it_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, keys: Keys | None, is_told: bool
) -> None:
    answer = (403, "MissingAuthenticationToken", b'{"message": "Request is missing Authentication Token"}')
    monkeypatch.setattr(Client, "_exchange", lambda *_: answer)

    with pytest.raises(CallFailed) as failed:
        Client("http://a", keys=keys).call("ListQueues")

    assert ("AWS_ACCESS_KEY_ID" in str(failed.value)) is is_told


@pytest.mark.parametrize(
    ("keys", "text", "told"),
    [
        (
            Keys("AKID", "s"),
            "The token is invalid.",
            "invalid: AWS_ACCESS_KEY_ID is AKID, which is no key of this server",
        ),
        (Keys("AKID", "s", "token"), "Sign with a key.", "^Sign with a key, and without AWS_SESSION_TOKEN$"),
    ],
)
def test_who_has_another_servers_key_or_a_session_is_told_which(
    monkeypatch: pytest.MonkeyPatch, keys: Keys, text: str, told: str
) -> None:
    answer = (403, "InvalidClientTokenId", json.dumps({"message": text}).encode())
    monkeypatch.setattr(Client, "_exchange", lambda *_: answer)

    with pytest.raises(CallFailed, match=told):
        Client("http://a", keys=keys).call("ListQueues")


@pytest.mark.parametrize(
    ("scheme", "answer", "told"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", "http://"),
        ("http", b"", "https://"),
        ("http", RESET, "https://"),
    ],
)
def test_who_speaks_to_a_port_that_has_or_lacks_tls_is_told(scheme: str, answer: bytes, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(65_536)
                if answer == RESET:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    peer.sendall(answer)

        refusing = threading.Thread(target=refuse)
        refusing.start()
        client = Client(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(CallFailed, match=f"perhaps .*{told}"):
            client.call("ListQueues")
        refusing.join()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_server_that_is_not_there_is_one_line_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setattr(sys, "argv", ["cqs", "ls", "--endpoint", endpoint])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    told = "Connection refused; `cqs serve` starts a server, --endpoint or AWS_ENDPOINT_URL_SQS names another"
    assert capsys.readouterr().err == f"cqs: no answer from {endpoint}: {told}\n"


def answer_one(listener: socket.socket, body: bytes) -> threading.Thread:
    """Answers the first request of the next connection, and closes it."""

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(65_536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    return serving


def test_answer_that_is_not_of_the_protocol_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        serving = answer_one(listener, b"<html>")

        with pytest.raises(CallFailed, match="does not speak"):
            client.call("ListQueues")
        client.close()
        serving.join()


def test_call_after_the_server_has_closed_the_idle_connection_opens_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        for body in (b'{"QueueUrls": ["first"]}', b'{"QueueUrls": ["second"]}'):
            serving = answer_one(listener, body)

            assert client.call("ListQueues") == json.loads(body)

            serving.join()
            assert select.select([client._connection.sock], [], [], 60)[0], "the server's end of it did not arrive"
        client.close()
