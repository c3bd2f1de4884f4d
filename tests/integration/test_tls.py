"""TLS on the listener: SDKs on both lanes, a certificate that is replaced while connections are open, and clients that
don't really speak TLS."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cqs.errors import ConfigError
from cqs.tls import Certificate
from tests.integration.certificates import connected, make_certificate, serial_of, tls_flags
from tests.integration.process import (
    ROOT,
    START_S_MAX,
    Served,
    command,
    lines_until_serving,
    serving,
    until,
    until_waiting,
)
from tests.integration.signed import KEYS, LANES, OURS, THEIRS, client, said, signed_server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls")
    make_certificate(made)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    """It would take ten minutes to stop if an idle connection held it up."""
    flags = *tls_flags(folder), "--header-timeout", "1s", "--stop-timeout", "10m"
    with signed_server(folder, "enforced", *flags) as running:
        yield running
        code, rest = running.stop()
    assert (code, "Traceback" in rest) == (0, False), rest


@pytest.fixture
def port(server: Served) -> int:
    return int(server.endpoint.rpartition(":")[2])


@pytest.mark.parametrize("lane", LANES)
def test_sdk_works_over_tls_and_policies_know_it(server: Served, folder: Path, lane: str) -> None:
    alice, bob = (client(server, user, lane, verify=str(folder / "cert.pem")) for user in ("alice", "bob"))
    url = alice.create_queue(QueueName=f"safe-{lane}")["QueueUrl"]
    allow = {
        "Effect": "Allow", "Principal": {"AWS": THEIRS}, "Action": "sqs:*",
        "Resource": f"arn:aws:sqs:us-east-1:{OURS}:safe-{lane}", "Condition": {"Bool": {"aws:SecureTransport": "true"}},
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    alice.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    body = "x" * 300_000

    assert url.startswith(server.endpoint) and url.startswith("https://")
    assert said(bob.send_message, QueueUrl=url, MessageBody=body) == (200, "")
    assert bob.receive_message(QueueUrl=url)["Messages"][0]["Body"] == body


def test_certificate_is_changed_on_sighup_while_connections_live(server: Served, folder: Path, port: int) -> None:
    def serial_now() -> int:
        with connected(port) as connection:
            return serial_of(connection)

    def is_answered(connection: ssl.SSLSocket) -> bool:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(1_000).startswith(b"HTTP/1.1 200 ")

    old = serial_now()
    with connected(port) as living:
        assert is_answered(living)
        new = make_certificate(folder)
        server.process.send_signal(signal.SIGHUP)
        until(lambda: serial_now() == new)
        assert is_answered(living) and serial_of(living) == old != new

        (folder / "key.pem").write_text("-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n")
        server.process.send_signal(signal.SIGHUP)
        assert server.process.stdout is not None
        lines = [json.loads(server.process.stdout.readline()) for _ in range(2)]
        assert [line["event"] for line in lines] == ["certificate_reloaded", "certificate_not_reloaded"]
        assert serial_now() == new and is_answered(living)


def test_a_certificate_that_vanishes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_certificate(tmp_path)
    certificate = Certificate(tmp_path / "cert.pem", tmp_path / "key.pem")

    def read_and_vanish(path: Path) -> bytes:
        path.unlink()
        return b""

    monkeypatch.setattr(Path, "read_bytes", read_and_vanish)
    with pytest.raises(ConfigError, match="can't be read"):
        certificate.reload()


def test_a_certificate_changed_during_startup_is_presented(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    dead = subprocess.Popen(["true"])
    dead.wait()
    with open(tmp_path / "lock", "w") as lock:
        lock.write(str(dead.pid))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        flags = "--data-dir", str(tmp_path), "--port", "0"
        starting = subprocess.Popen(
            command(*flags, *tls_flags(tmp_path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        until(lambda: str(tmp_path / "lock") in open_files_of(starting.pid), within_s=START_S_MAX)
        new = make_certificate(tmp_path)
        starting.send_signal(signal.SIGHUP)
    try:
        server = Served(starting, lines_until_serving(starting))
        with connected(int(server.endpoint.rpartition(":")[2])) as connection:
            assert serial_of(connection) == new
        assert server.stop()[0] == 0
    finally:
        starting.kill()
        starting.communicate()


def open_files_of(pid: int) -> set[str]:
    """Paths that a process has open; none when it has ended."""
    files: set[str] = set()
    for file in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            files.add(os.readlink(file))
    return files


def test_clients_that_do_not_speak_tls_are_disconnected(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        plain.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not plain.recv(1_000).startswith(b"HTTP")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as silent:
        assert silent.recv(1_000) == b""


def test_connections_count_before_they_say_hello(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    flags = "--in-memory", "--connections-per-address-max", "3", "--header-timeout", "10m"
    with serving(*flags, *tls_flags(tmp_path)) as server:
        port = int(server.endpoint.rpartition(":")[2])
        silent = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(3)]
        with socket.create_connection(("127.0.0.1", port), timeout=60) as one_too_many:
            assert one_too_many.recv(100) == b""
        assert select.select(silent, [], [], 0)[0] == []
        for one in silent:
            one.close()
        until(lambda: is_served(port))
        assert server.stop()[0] == 0


def is_served(port: int) -> bool:
    """Whether a new connection is let in."""
    with contextlib.suppress(OSError), connected(port) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.recv(1_000).startswith(b"HTTP/1.1 200 ")
    return False


def wire(server: Served, action: str, members: dict[str, object], more: str = "") -> bytes:
    body = json.dumps(members).encode()
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.{action}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("more", ["", "TE: trailers\r\n"], ids=LANES)
def test_message_is_not_given_to_a_poll_that_was_hung_up(tmp_path: Path, more: str) -> None:
    make_certificate(tmp_path)
    with serving("--in-memory", *tls_flags(tmp_path)) as server:
        sqs = client(server, verify=str(tmp_path / "cert.pem"))
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        with connected(int(server.endpoint.rpartition(":")[2])) as poll:
            account = url.split("/")[3]
            poll.sendall(wire(server, "ReceiveMessage", {"QueueUrl": f"/{account}/q", "WaitTimeSeconds": 20}, more))
            until_waiting(server.endpoint, 1, tmp_path / "cert.pem")
        sqs.send_message(QueueUrl=url, MessageBody="tea")
        (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, AttributeNames=["All"])["Messages"]
        code, rest = server.stop()

    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert (code, "Traceback" in rest) == (0, False), rest


def test_commands_trust_the_authority_that_is_named(server: Served, folder: Path) -> None:
    def ls(**env: str) -> subprocess.CompletedProcess[str]:
        key_id, secret = KEYS["alice"]
        keys = {"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": secret}
        command = [sys.executable, "-m", "cqs", "ls", "--endpoint", server.endpoint]
        return subprocess.run(command, env=os.environ | keys | env, capture_output=True, text=True, timeout=60)

    assert ls(AWS_CA_BUNDLE=str(folder / "cert.pem")).returncode == 0
    assert "AWS_CA_BUNDLE may name a file" in ls().stderr
    assert "no certificates that can be used" in ls(AWS_CA_BUNDLE=str(folder / "none.pem")).stderr
