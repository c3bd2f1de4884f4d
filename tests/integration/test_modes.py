"""What SDKs get from real servers that check signatures: right, wrong, unknown, expired and missing ones."""

from __future__ import annotations

import datetime
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore.auth
import pytest
from botocore import UNSIGNED
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.integration.process import Served, refused, serving, until
from tests.integration.signed import KEYS, LANES, client, disable_by_another_means, headers_of, said, signed_server


@pytest.fixture(scope="module", params=["signed", "enforced"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with signed_server(tmp_path_factory.mktemp("modes"), request.param) as running:
        yield running
        code, rest = running.stop()
    assert (code, "Traceback" in rest) == (0, False), rest


@pytest.fixture(params=LANES)
def lane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_mode_is_told_to_people_and_to_operators(server: Served) -> None:
    auth = server.lines[-1]["auth"]

    assert auth in ("signed", "enforced")
    assert json.loads(server.get("/health")[1]) == {"status": "ok", "auth": auth}
    assert "YOUR_KEY_ID" in server.lines[-1]["aws_cli"]


def test_right_key_works(server: Served, lane: str) -> None:
    sqs = client(server, lane=lane)
    url = sqs.create_queue(QueueName=f"tea-{lane}")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="ümläut & + %", MessageAttributes={
        "a": {"DataType": "String", "StringValue": "  two  spaces "}})  # fmt: skip
    (message,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    assert url.split("/")[3] == "111122223333"
    assert message["Body"] == "ümläut & + %"


WRONG: dict[str, tuple[dict[str, Any], tuple[int, str]]] = {
    "wrong secret": ({"aws_secret_access_key": "not hers"}, (403, "SignatureDoesNotMatch")),
    "unknown key": ({"aws_access_key_id": "AKIAUNKNOWN"}, (403, "InvalidClientTokenId")),
    "account as key": ({"aws_access_key_id": "111122223333"}, (403, "InvalidClientTokenId")),
    "session token": ({"aws_session_token": "temporary"}, (403, "InvalidClientTokenId")),
    "no credentials": ({"config": Config(signature_version=UNSIGNED)}, (403, "MissingAuthenticationToken")),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_credentials_are_told_apart(server: Served, lane: str, case: str) -> None:
    changes, answer = WRONG[case]
    sqs = client(server, lane=lane, **changes)

    assert said(sqs.list_queues) == answer


def clock_off_by(off_s: int) -> Callable[..., datetime.datetime]:
    """A client's clock, for `botocore.auth`."""

    def shifted(remove_tzinfo: bool = True) -> datetime.datetime:
        now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=off_s)
        return now.replace(tzinfo=None) if remove_tzinfo else now

    return shifted


@pytest.mark.parametrize(("off_s", "is_fine"), [(-890, True), (890, True), (-910, False), (910, False)])
def test_clock_of_a_client_may_be_off_by_a_quarter_of_an_hour(
    server: Served, lane: str, monkeypatch: pytest.MonkeyPatch, off_s: int, is_fine: bool
) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", clock_off_by(off_s))

    assert said(client(server, lane=lane).list_queues) == ((200, "") if is_fine else (403, "SignatureDoesNotMatch"))


def sent(server: Served, request: AWSRequest, body: bytes, lane: str) -> tuple[int, bytes]:
    """Sends the signed bytes, unchanged or tampered with."""
    at = urlsplit(str(request.url))
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=60)
    more = {"Connection": "close"} if lane == "reference" else {}
    target = at.path + (f"?{at.query}" if at.query else "")
    connection.request(str(request.method), target, body, dict(request.headers.items()) | more)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


def signed_send(server: Served, name: str, lane: str) -> tuple[AWSRequest, bytes]:
    url = client(server, lane=lane).create_queue(QueueName=name)["QueueUrl"]
    body = json.dumps({"QueueUrl": url, "MessageBody": "one tea"}).encode()
    headers = {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"}
    request = AWSRequest("POST", server.endpoint + "/", data=body, headers=headers)
    SigV4Auth(Credentials(*KEYS["alice"]), "sqs", "us-east-1").add_auth(request)
    return request, body


def test_captured_request_can_be_sent_again_but_not_changed(server: Served, lane: str) -> None:
    """As docs/security.md says about replays."""
    request, body = signed_send(server, f"captured-{lane}", lane)

    assert [sent(server, request, body, lane)[0] for _ in range(2)] == [200, 200]
    assert sent(server, request, body.replace(b"one", b"ten"), lane)[0] == 400
    request.headers.replace_header("X-Amz-Target", "AmazonSQS.PurgeQueue")
    status, text = sent(server, request, body, lane)
    assert (status, b"SignatureDoesNotMatch" in text) == (400, True)


def presigned(server: Served, query: str, expires_s: int, key: str = "alice") -> str:
    request = AWSRequest("GET", f"{server.endpoint}/?{query}&Version=2012-11-05")
    SigV4QueryAuth(Credentials(*KEYS[key]), "sqs", "us-east-1", expires=expires_s).add_auth(request)
    return str(request.url).removeprefix(server.endpoint)


def test_presigned_url_works_by_itself_until_it_expires(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    path = presigned(server, "Action=CreateQueue&QueueName=by-url", 60)

    status, text = server.get(path)
    assert (status, "/111122223333/by-url</QueueUrl>" in text) == (200, True)
    assert "SignatureDoesNotMatch" in server.get(path.replace("by-url", "by-urn"))[1]
    assert "InvalidClientTokenId" in server.get(presigned(server, "Action=ListQueues", 60, "mallory"))[1]
    monkeypatch.setattr(botocore.auth, "get_current_datetime", clock_off_by(-100))
    assert server.get(presigned(server, "Action=ListQueues", 600))[0] == 200
    status, text = server.get(presigned(server, "Action=ListQueues", 99))
    assert (status, "RequestExpired" in text) == (403, True)


def test_read_only_user_looks_and_changes_nothing(server: Served, lane: str) -> None:
    url = client(server, lane=lane).create_queue(QueueName=f"seen-{lane}")["QueueUrl"]
    probe = client(server, "probe", lane)

    assert url in probe.list_queues(QueueNamePrefix="seen")["QueueUrls"]
    assert said(probe.get_queue_attributes, QueueUrl=url, AttributeNames=["All"]) == (200, "")
    assert said(probe.send_message, QueueUrl=url, MessageBody="x") == (403, "AccessDenied")
    assert said(probe.receive_message, QueueUrl=url) == (403, "AccessDenied")
    assert said(probe.create_queue, QueueName="mine") == (403, "AccessDenied")


def test_disabled_key_dies_while_the_server_runs(tmp_path: Path, lane: str) -> None:
    with signed_server(tmp_path, "signed") as server:
        sqs = client(server, lane=lane)
        assert said(sqs.list_queues) == (200, "")

        disable_by_another_means(tmp_path, KEYS["alice"][0])
        until(lambda: said(sqs.list_queues) == (403, "InvalidClientTokenId"))

        assert said(client(server, "probe", lane).list_queues) == (200, "")


def test_key_that_calls_too_often_is_throttled_and_an_sdk_gets_through_in_time(tmp_path: Path, lane: str) -> None:
    with signed_server(tmp_path, "signed", "--request-rate", "1") as server:
        sqs = client(server, lane=lane)
        with pytest.raises(ClientError) as throttled:
            for _ in range(30):
                sqs.list_queues()
        patient = client(server, lane=lane, config=Config(retries={"mode": "standard", "total_max_attempts": 6}))
        for _ in range(3):
            patient.list_queues()

        assert throttled.value.response["Error"]["Code"] == "RequestThrottled"
        assert headers_of(throttled.value)["retry-after"] == "1"
        assert said(client(server, "bob", lane).list_queues) == (200, "")


def test_checked_server_may_listen_beyond_loopback_and_open_may_not(tmp_path: Path) -> None:
    code, error = refused("--host", "0.0.0.0", "--port", "0", "--in-memory")
    assert (code, "--open-to-network" in error) == (2, True)

    with serving("--host", "0.0.0.0", "--in-memory", "--auth", "signed") as server:
        assert said(client(server).list_queues) == (403, "InvalidClientTokenId")
        assert "no_access_keys" in {line["event"] for line in server.lines}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--auth", "signed", "--master-key", "short"], "master_key: that value (flag --master-key) can't be used"),
        (["--auth", "maybe"], "auth: 'maybe' (flag --auth) can't be used; expected one of open, signed, enforced"),
        (["--users-file", "/nowhere"], "users_file: /nowhere can't be read: No such file"),
        (["--tls-cert", "/nowhere"], "tls_key: not given; TLS needs both"),
        (["--tls-cert", "/nowhere", "--tls-key", "/nowhere"], "tls_cert: file /nowhere can't be read"),
        (["--trusted-proxies", "10.0.0.1/8"], "trusted_proxies: '10.0.0.1/8' (flag --trusted-proxies)"),
    ],
)
def test_mistake_is_refused_in_one_line(flags: list[str], words: str) -> None:
    code, error = refused("--in-memory", "--port", "0", *flags)

    assert (code, error.count("\n")) == (2, 1)
    assert words in error
