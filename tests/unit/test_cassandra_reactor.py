"""The driver's connections in our event loop, to a small fake node (`tests.unit.cassandra_node`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cassandra import AuthenticationFailed, ConsistencyLevel
from cassandra.connection import ConnectionException, ConnectionShutdown, DefaultEndPoint
from cassandra.protocol import QueryMessage

from cqs.store.cassandra.reactor import LoopConnection, connections_of
from tests.tls import certificate
from tests.unit.cassandra_node import FakeNode

_WAIT_S = 60


@pytest.fixture(params=["plain", "tls"])
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FakeNode]:
    node = FakeNode(certificate(str(tmp_path / "node")) if request.param == "tls" else None)
    await node.start()
    yield node
    await node.stop()


@pytest.fixture
async def connection(node: FakeNode) -> AsyncIterator[LoopConnection]:
    made = await _connected(node)
    yield made
    made.close()


async def _connected(node: FakeNode, reactor: type[LoopConnection] | None = None) -> LoopConnection:
    reactor = reactor or connections_of(asyncio.get_running_loop())
    client = node.tls and node.tls.client
    return await asyncio.to_thread(
        lambda: reactor.factory(
            DefaultEndPoint("127.0.0.1", node.port), _WAIT_S, protocol_version=4, compression=False, ssl_context=client
        )
    )


async def test_a_node_that_refuses_what_was_accepted_before_is_like_one_that_is_down_and_tried_again(
    node: FakeNode,
) -> None:
    reactor = connections_of(asyncio.get_running_loop())
    node.is_closed_to_strangers = True
    with pytest.raises(AuthenticationFailed):
        await _connected(node, reactor)
    node.is_closed_to_strangers = False
    (await _connected(node, reactor)).close()
    node.is_closed_to_strangers = True
    with pytest.raises(ConnectionException):
        await _connected(node, reactor)


def ask(connection: LoopConnection, text: str) -> asyncio.Future[Any]:
    """Returns the answer or the error. Can be called in any thread."""
    answered: asyncio.Future[Any] = connection.loop.create_future()

    def told(response: Any) -> None:
        assert connection.is_in_loop(), "answers are delivered in the loop"
        answered.set_result(response)

    with connection.lock:
        number = connection.get_request_id()
    connection.send_msg(QueryMessage(text, ConsistencyLevel.ONE), number, told)
    return answered


async def within(answered: asyncio.Future[Any]) -> Any:
    return await asyncio.wait_for(answered, _WAIT_S)


async def test_an_answer_longer_than_a_read_arrives_whole(connection: LoopConnection) -> None:
    answers = await asyncio.gather(*(within(ask(connection, f"{size} bytes")) for size in (0, 65_500, 65_535, 3)))

    assert [len(answer.new_keyspace) for answer in answers] == [0, 65_500, 65_535, 3]


async def test_what_is_asked_in_one_turn_is_read_in_its_order(connection: LoopConnection, node: FakeNode) -> None:
    asked = [f"{number} of many" for number in range(200)]

    await asyncio.gather(*(within(ask(connection, text)) for text in asked))

    assert node.queries == asked


async def test_more_than_the_socket_takes_waits_until_it_is_read(connection: LoopConnection, node: FakeNode) -> None:
    node.is_reading.clear()
    asked = [f"{number} " + "-" * 1_000_000 for number in range(20)]
    answers = [ask(connection, text) for text in asked]
    for _ in range(20):
        await asyncio.sleep(0)
    answers.append(ask(connection, "21 after all of them"))
    assert not any(answer.done() for answer in answers)

    node.is_reading.set()

    assert [len((await within(answer)).new_keyspace) for answer in answers] == [*range(20), 21]
    assert node.queries == [*asked, "21 after all of them"]


async def test_threads_and_loop_may_ask_at_once(connection: LoopConnection, node: FakeNode) -> None:
    def many() -> list[asyncio.Future[Any]]:
        return [ask(connection, "7 from a thread") for _ in range(200)]

    in_threads = [asyncio.to_thread(many) for _ in range(4)]
    answers = [ask(connection, "7 from the loop") for _ in range(200)]
    for asked in await asyncio.gather(*in_threads):
        answers += asked

    assert {len((await within(answer)).new_keyspace) for answer in answers} == {7}
    assert len(node.queries) == 1_000


async def test_a_driver_that_waits_in_its_thread_is_answered(connection: LoopConnection) -> None:
    query = QueryMessage("5 bytes", ConsistencyLevel.ONE)

    answer = await asyncio.to_thread(lambda: connection.wait_for_response(query, timeout=_WAIT_S))

    assert answer.new_keyspace == "xxxxx"


async def test_a_node_that_hangs_up_ends_all_that_wait(connection: LoopConnection, node: FakeNode) -> None:
    node.is_reading.clear()
    answers = [ask(connection, "1 never answered") for _ in range(3)]
    await asyncio.sleep(0)

    node.writers[0].transport.abort()

    assert {type(await within(answer)) for answer in answers} == {ConnectionShutdown}
    assert connection.is_closed
    with pytest.raises(ConnectionShutdown):
        ask(connection, "1 too late")


async def test_it_is_closed_from_any_thread_and_more_than_once(node: FakeNode) -> None:
    connection = await _connected(node)
    node.is_reading.clear()
    given_up: list[Any] = []
    with connection.lock:
        number = connection.get_request_id()
    connection.send_msg(QueryMessage("1 waits", ConsistencyLevel.ONE), number, given_up.append)

    await asyncio.to_thread(connection.close)
    connection.close()
    await asyncio.sleep(0)

    assert [type(one) for one in given_up] == [ConnectionShutdown]
    assert connection._socket.fileno() == -1


async def test_a_port_where_nobody_listens_is_an_error_and_no_connection() -> None:
    reactor = connections_of(asyncio.get_running_loop())
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    with pytest.raises(OSError, match="Tried connecting"):
        await asyncio.to_thread(reactor.factory, DefaultEndPoint("127.0.0.1", port), _WAIT_S)


async def test_a_loop_that_is_closed_serves_no_connection(node: FakeNode) -> None:
    other = asyncio.new_event_loop()
    reactor = connections_of(other)
    other.close()

    with pytest.raises(ConnectionShutdown, match="loop"):
        await asyncio.to_thread(reactor.factory, DefaultEndPoint("127.0.0.1", node.port), _WAIT_S)


async def test_a_socket_is_closed_though_its_loop_is_no_more(node: FakeNode) -> None:
    other = asyncio.new_event_loop()
    reactor = connections_of(other)
    connection = await asyncio.to_thread(
        lambda: reactor(DefaultEndPoint("127.0.0.1", node.port), protocol_version=4, compression=False)
    )
    other.close()

    connection.close()

    assert connection._socket.fileno() == -1


@pytest.mark.parametrize("is_made_in_loop", [True, False])
async def test_timers_ring_in_the_loop_unless_cancelled(is_made_in_loop: bool) -> None:
    reactor = connections_of(asyncio.get_running_loop())
    rung: list[str] = []
    is_over = asyncio.Event()

    def make() -> None:
        reactor.create_timer(0.0, lambda: rung.append("cancelled")).cancel()
        reactor.create_timer(0.0, lambda: rung.append(str(threading.get_ident() == reactor.thread)))
        reactor.create_timer(0.001, is_over.set)

    if is_made_in_loop:
        make()
    else:
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    await asyncio.wait_for(is_over.wait(), _WAIT_S)

    assert rung == ["True"]


async def test_a_timer_that_rang_may_be_cancelled_from_a_thread() -> None:
    reactor = connections_of(asyncio.get_running_loop())
    rung = asyncio.Event()
    timer = reactor.create_timer(0.0, rung.set)
    await asyncio.wait_for(rung.wait(), _WAIT_S)

    await asyncio.to_thread(timer.cancel)
    timer.cancel()
