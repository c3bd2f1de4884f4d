"""Clients that do not read their responses are disconnected; those that do are not, however much is buffered. Time is
passed in, not waited for."""

from __future__ import annotations

from cqs.api.http.unread import READ_MIN, STALLED_S_MIN, Unread

SIZE = 10_000_000


class Client:
    """A client that reads when the test says so."""

    def __init__(self) -> None:
        self.left = SIZE
        self.is_cut_off = False

    def unread(self) -> int:
        return self.left

    def cut_off(self) -> None:
        self.is_cut_off = True
        self.left = 0

    def read(self, size: int) -> None:
        self.left -= size


def watched(unread: Unread, count: int) -> list[Client]:
    """Returns clients that got one response each, 10 ms apart."""
    clients = [Client() for _ in range(count)]
    for number, client in enumerate(clients):
        unread.enter(client, number / 100)
    return clients


def test_clients_that_do_not_read_are_cut_off_the_longest_first_until_the_rest_has_room() -> None:
    unread = Unread(bytes_max=3 * SIZE, stalled_s_max=60)
    clients = watched(unread, 5)

    unread.sweep(STALLED_S_MIN + 1)

    assert [client.is_cut_off for client in clients] == [True, True, False, False, False]
    assert (unread.held, unread.count_cut_off) == (3 * SIZE, 2)


def test_nobody_is_cut_off_before_there_was_time_to_read() -> None:
    unread = Unread(bytes_max=0, stalled_s_max=60)
    clients = watched(unread, 5)

    unread.sweep(STALLED_S_MIN / 2)

    assert [client.is_cut_off for client in clients] == [False] * 5


def test_clients_that_read_are_not_cut_off_however_much_lies_there() -> None:
    unread = Unread(bytes_max=0, stalled_s_max=60)
    reading, dripping = watched(unread, 2)

    for second in range(1, 100):
        reading.read(READ_MIN)
        if not dripping.is_cut_off:
            dripping.read(READ_MIN // 100)
        unread.sweep(float(second))

    assert (reading.is_cut_off, dripping.is_cut_off) == (False, True)


def test_client_that_stops_reading_is_cut_off_though_there_is_room() -> None:
    unread = Unread(bytes_max=100 * SIZE, stalled_s_max=60)
    reading, stopped = watched(unread, 2)

    for second in range(0, 90, 10):
        reading.read(READ_MIN)
        unread.sweep(float(second))

    assert (reading.is_cut_off, stopped.is_cut_off) == (False, True)


def test_client_that_has_read_all_is_forgotten() -> None:
    unread = Unread(bytes_max=0, stalled_s_max=60)
    (client,) = watched(unread, 1)

    unread.leave(client)
    unread.leave(client)
    unread.sweep(1_000)

    assert (client.is_cut_off, unread.held) == (False, 0)
