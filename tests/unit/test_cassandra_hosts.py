"""How many of the data centre's hosts are down."""

from __future__ import annotations

from cqs.store.cassandra import Options
from cqs.store.cassandra.link import Link
from cqs.store.report import StoreHost


class _Known(Link):
    """Knows these hosts, without a connection to them."""

    datacenter = "dc1"

    def __init__(self, hosts: list[StoreHost]) -> None:
        super().__init__(Options())
        self._known = tuple(hosts)

    def hosts(self) -> tuple[StoreHost, ...]:
        return self._known


def test_half_of_the_hosts_of_this_data_centre_are_down_or_not() -> None:
    link = Link(Options(datacenter="dc1"))
    assert not link.is_half_down

    for states, is_half_down in (
        ([True], False),
        ([False], True),
        ([None, None, False], False),
        ([True, False], True),
        ([True, True, False], False),
        ([True, False, False], True),
    ):
        hosts = [StoreHost(address=str(number), datacenter="dc1", is_up=is_up) for number, is_up in enumerate(states)]
        link = _Known(
            [*hosts, *[StoreHost(address=f"far-{number}", datacenter="dc2", is_up=False) for number in "abc"]]
        )
        assert link.is_half_down is is_half_down, states
