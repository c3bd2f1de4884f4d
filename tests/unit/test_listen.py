"""Sockets: only loopback by default, free ports, and the error if a port is not available."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cqs.config.settings import Listening
from cqs.errors import CannotStart, ConfigError
from cqs.listen import endpoint_of, open_sockets, url_elsewhere


@contextmanager
def opened(listening: Listening) -> Iterator[list[socket.socket]]:
    sockets = open_sockets(listening)
    try:
        yield sockets
    finally:
        for one in sockets:
            one.close()


def test_port_0_takes_a_free_one_on_loopback() -> None:
    with opened(Listening(port=0)) as (only,):
        host, port = only.getsockname()

    assert host == "127.0.0.1"
    assert port > 0


def test_all_addresses_of_a_name_get_the_same_port() -> None:
    with opened(Listening(host="localhost", port=0)) as sockets:
        assert len({one.getsockname()[1] for one in sockets}) == 1


def test_an_address_that_the_machine_lacks_is_left_out_if_it_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `localhost` in a container without IPv6."""
    found = [(socket.AF_INET6, 0, 0, "", ("2001:db8::1", 0, 0, 0)), (socket.AF_INET, 0, 0, "", ("127.0.0.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    with opened(Listening(host="two", port=0, is_open_to_network=True)) as (only,):
        assert only.getsockname()[0] == "127.0.0.1"


def test_a_family_that_the_machine_lacks_is_left_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = 99
    found = [(unknown, 0, 0, "", ("::1", 0, 0, 0)), (socket.AF_INET, 0, 0, "", ("127.0.0.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    with opened(Listening(host="two", port=0)) as (only,):
        assert only.getsockname()[0] == "127.0.0.1"

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found[:1])
    with pytest.raises(CannotStart, match=r"^can't listen on ::1 port 9324: Address family not supported"):
        open_sockets(Listening(host="two"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_network_is_refused_unless_named(host: str) -> None:
    with pytest.raises(ConfigError, match=rf"^host: {host} is reachable.*--open-to-network"):
        open_sockets(Listening(host=host, port=0))


def test_network_is_served_when_callers_prove_who_they_are() -> None:
    (only,) = open_sockets(Listening(host="0.0.0.0", port=0), is_checked=True)
    assert only.getsockname()[0] == "0.0.0.0"
    only.close()


def test_network_is_served_when_named() -> None:
    with opened(Listening(host="0.0.0.0", port=0, is_open_to_network=True)) as (only,):
        assert only.getsockname()[0] == "0.0.0.0"


def test_unknown_host_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^host: 'no.such.host.invalid' is neither an address"):
        open_sockets(Listening(host="no.such.host.invalid", port=0))


def test_taken_port_is_named() -> None:
    with opened(Listening(port=0)) as (only,):
        port = only.getsockname()[1]
        with pytest.raises(CannotStart, match=rf"^port {port} on 127\.0\.0\.1 is in use; .*CQS_PORT"):
            open_sockets(Listening(port=port))


def test_address_of_another_machine_is_named() -> None:
    with pytest.raises(CannotStart, match=r"^can't listen on 192\.0\.2\.1 port 9324"):
        open_sockets(Listening(host="192.0.2.1", is_open_to_network=True))


@pytest.mark.parametrize(
    ("listening", "endpoint"),
    [
        (Listening(), "http://127.0.0.1:9324"),
        (Listening(host="localhost"), "http://localhost:9324"),
        (Listening(host="0.0.0.0"), "http://127.0.0.1:9324"),
        (Listening(host="::"), "http://[::1]:9324"),
        (Listening(host="::1"), "http://[::1]:9324"),
        (Listening(tls_cert="a.pem", tls_key="b.pem"), "https://127.0.0.1:9324"),
    ],
)
def test_endpoint_is_what_a_local_client_can_reach(listening: Listening, endpoint: str) -> None:
    assert endpoint_of(listening) == endpoint
    assert endpoint_of(listening, 9325) == endpoint.replace("9324", "9325")


def test_a_node_that_listens_on_all_addresses_is_reached_by_its_machines_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "api-1")

    assert url_elsewhere(Listening(host="0.0.0.0", port=9324)) == "http://api-1:9324"
    assert url_elsewhere(Listening(host="::", port=9324, tls_cert="cert.pem")) == "https://api-1:9324"
    assert url_elsewhere(Listening(host="10.0.0.7", port=9324)) == "http://10.0.0.7:9324"
    assert url_elsewhere(Listening(host="0.0.0.0", port=0)) == ""
