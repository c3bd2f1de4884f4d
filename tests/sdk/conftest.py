"""One server for the session, and its clients in both protocols.

CQS_QUERY_PYTHON names the interpreter of an environment with botocore 1.31.80 (`make` builds one)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.sdk.interpreters import query_python
from tests.sdk.query_client import QueryBridge, QueryClient
from tests.sdk.server_process import ServerProcess

ACCOUNT = "000000000000"
_serial = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path_factory.mktemp("sdk") / "data")
    server.start()
    yield server
    status = server.stop()
    assert status == 0, server.log
    assert "Traceback" not in server.log, server.log


@pytest.fixture(scope="session")
def query_bridge() -> Iterator[QueryBridge]:
    bridge = QueryBridge(query_python())
    yield bridge
    bridge.close()


@pytest.fixture(scope="session")
def json_client(server: ServerProcess) -> Callable[..., Any]:
    """Makes boto3 clients: `json_client(access_key=…, endpoint=…)`."""

    def connect(access_key: str = "test", endpoint: str = server.url) -> Any:
        return boto3.client(
            "sqs",
            region_name="us-east-1",
            endpoint_url=endpoint,
            aws_access_key_id=access_key,
            aws_secret_access_key="secret",
            config=Config(retries={"max_attempts": 0}, read_timeout=40, max_pool_connections=32),
        )

    return connect


@pytest.fixture(scope="session", params=["json", "query"])
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def connect(
    protocol: str, json_client: Callable[..., Any], server: ServerProcess, request: pytest.FixtureRequest
) -> Callable[..., Any]:
    """Makes clients in the protocol under test: `connect(access_key=…, endpoint=…)`."""
    if protocol == "json":
        return json_client
    bridge: QueryBridge = request.getfixturevalue("query_bridge")
    exceptions = json_client().exceptions

    def connect_query(access_key: str = "test", endpoint: str = server.url) -> QueryClient:
        return QueryClient(bridge, endpoint, access_key, exceptions)

    return connect_query


@pytest.fixture(scope="session")
def sqs(connect: Callable[..., Any]) -> Any:
    """The client under test, in account 000000000000."""
    return connect()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes names that no other test uses: `unique("orders")`, with `.fifo` kept at the end."""

    def name(base: str) -> str:
        stem, dot, suffix = base.partition(".")
        return f"{stem}-{next(_serial)}{dot}{suffix}"

    return name


@pytest.fixture
def new_queue(sqs: Any, unique: Callable[[str], str]) -> Callable[..., str]:
    """Creates a standard queue with the given attributes and returns its URL."""

    def create(name: str = "queue", **attributes: object) -> str:
        texts = {key: str(value) for key, value in attributes.items()}
        return str(sqs.create_queue(QueueName=unique(name), Attributes=texts)["QueueUrl"])

    return create


@pytest.fixture
def new_fifo(new_queue: Callable[..., str]) -> Callable[..., str]:
    """Creates a FIFO queue with the given attributes and returns its URL."""
    return partial(new_queue, "queue.fifo", FifoQueue="true")
