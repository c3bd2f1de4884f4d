"""The nodes of a cluster, as commands take them."""

from __future__ import annotations

import pytest

from cqs.hosts import hosts_of, with_port


@pytest.mark.parametrize(
    ("text", "hosts", "port"),
    [
        ("a", ("a",), None),
        ("a.example:9142, 10.0.0.2:9142", ("a.example", "10.0.0.2"), 9142),
        ("::1", ("::1",), None),
        ("[::1]", ("::1",), None),
        ("[2001:db8::7]:9142,a:9142", ("2001:db8::7", "a"), 9142),
        ("fe80::1%eth0", ("fe80::1%eth0",), None),
    ],
)
def test_hosts_have_a_port_or_none(text: str, hosts: tuple[str, ...], port: int | None) -> None:
    assert hosts_of(text) == (hosts, port)


@pytest.mark.parametrize(
    "text", ["", "a,", "a:", ":9042", "a:x", "a:1:2", "[a]:9042", "[::1", "::1]:9042", "[]", "a b"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST\[:PORT\]"):
        hosts_of(text)


@pytest.mark.parametrize("text", ["a:1,b:2", "a:1,b"])
def test_nodes_with_different_ports_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the same port"):
        hosts_of(text)


@pytest.mark.parametrize("host", ["a", "10.0.0.2", "::1"])
def test_a_host_with_its_port_is_read_again(host: str) -> None:
    assert hosts_of(with_port(host, 9142)) == ((host,), 9142)
