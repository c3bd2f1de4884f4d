"""Queue URLs contain the host that the client used, and a queue is found whatever host its URL contains."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from tests.sdk.behaviour.talk import ACCOUNT, bodies, receive, refused, send
from tests.sdk.server_process import ServerProcess

NewQueue = Callable[..., str]


def post_json(server: ServerProcess, path: str, action: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    request = Request(
        server.url + path,
        json.dumps(body).encode(),
        {
            "X-Amz-Target": f"AmazonSQS.{action}",
            "Content-Type": "application/x-amz-json-1.0",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )
    with urlopen(request, timeout=10) as answer:
        return dict(json.loads(answer.read() or b"{}"))


def get(server: ServerProcess, path: str) -> str:
    with urlopen(server.url + path, timeout=10) as answer:
        return str(answer.read().decode())


def test_url_reflects_the_endpoint_that_the_client_used(sqs: Any, new_queue: NewQueue, server: ServerProcess) -> None:
    assert new_queue().startswith(f"{server.url}/{ACCOUNT}/")


def test_client_of_another_host_name_gets_that_name(connect: Callable[..., Any], server: ServerProcess) -> None:
    other = connect(endpoint=f"http://localhost:{server.port}")
    url = other.create_queue(QueueName="by-other-name")["QueueUrl"]
    assert url == f"http://localhost:{server.port}/{ACCOUNT}/by-other-name"


def test_forwarded_headers_of_a_proxy_rule(server: ServerProcess) -> None:
    answer = post_json(
        server,
        "/",
        "CreateQueue",
        {"QueueName": "behind-proxy"},
        X_Forwarded_Host="queues.example.com",
        X_Forwarded_Proto="https",
    )
    assert answer["QueueUrl"] == f"https://queues.example.com/{ACCOUNT}/behind-proxy"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:9324/{path}",
        "https://sqs.us-east-1.amazonaws.com/{path}",
        "http://user:password@queues.example.com:81/{path}",
    ],
)
def test_queue_is_found_whatever_host_its_url_names(sqs: Any, new_queue: NewQueue, url: str) -> None:
    path = urlsplit(new_queue()).path.lstrip("/")
    foreign = url.format(path=path)
    send(sqs, foreign, "found")
    assert bodies(receive(sqs, foreign)) == ["found"]


def test_bare_name_is_the_callers_own_queue(connect: Callable[..., Any], unique: Callable[[str], str]) -> None:
    name = unique("named")
    for account in ("111122223333", "444455556666"):
        sqs = connect(access_key=account)
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        send(sqs, name, account)
        assert bodies(receive(sqs, url)) == [account]
        sqs.delete_queue(QueueUrl=name)
        with refused("AWS.SimpleQueueService.NonExistentQueue"):
            send(sqs, name)


@pytest.mark.parametrize("url", ["http://localhost:9324/", "http://localhost:9324/000000000000/", "queue", "", "%%"])
def test_url_that_names_no_queue_is_refused(sqs: Any, url: str) -> None:
    with refused("AWS.SimpleQueueService.NonExistentQueue", shape="QueueDoesNotExist"):
        sqs.send_message(QueueUrl=url, MessageBody="x")


def test_queue_is_reached_by_path_with_the_query_protocol(sqs: Any, new_queue: NewQueue, server: ServerProcess) -> None:
    url = new_queue()
    path = urlsplit(url).path
    answer = get(server, f"{path}?Action=SendMessage&MessageBody=by%20path&Version=2012-11-05")
    assert "<SendMessageResponse" in answer
    assert bodies(receive(sqs, url)) == ["by path"]


def test_queue_is_reached_by_path_with_the_json_protocol(sqs: Any, new_queue: NewQueue, server: ServerProcess) -> None:
    url = new_queue()
    post_json(server, urlsplit(url).path, "SendMessage", {"QueueUrl": url, "MessageBody": "by path"})
    assert bodies(receive(sqs, url)) == ["by path"]


def test_url_in_the_body_wins_over_the_path(sqs: Any, new_queue: NewQueue, server: ServerProcess) -> None:
    url, other = new_queue(), new_queue()
    post_json(server, urlsplit(other).path, "SendMessage", {"QueueUrl": url, "MessageBody": "x"})
    assert len(receive(sqs, url)) == 1
    assert receive(sqs, other) == []


def test_queue_of_another_account_is_reached_by_its_url_in_open_mode(connect: Callable[..., Any], sqs: Any) -> None:
    other = connect(access_key="111122223333")
    url = other.create_queue(QueueName="shared")["QueueUrl"]
    send(sqs, url, "hello")
    assert bodies(receive(other, url)) == ["hello"]
    other.delete_queue(QueueUrl=url)
