"""Whom trusted proxies say they ask for."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from cqs.proxies import HOPS_MAX, address_of, client_of

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "hops", "client"),
    [
        ("192.0.2.7", "203.0.113.9", "192.0.2.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", " ", "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("::ffff:10.0.0.1", "6.6.6.6,203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("fd00::1%eth0", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "6.6.6.6:1, 203.0.113.9:4711, 10.0.0.2:80", "203.0.113.9"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", " [2001:db8::7]:4711 , [fd00::2]", "2001:db8::7"),
        ("10.0.0.1", "2001:db8::7:4711", "2001:db8::7:4711"),
        ("10.0.0.1", "203.0.113.9:port", "None"),
        ("10.0.0.1", "[203.0.113.9", "None"),
        ("10.0.0.1", "[]:80", "None"),
        ("10.0.0.1", ":80", "None"),
        ("10.0.0.1", "203.0.113.9,", "None"),
        ("10.0.0.1", "203.0.113.9,nonsense,10.0.0.2", "None"),
        ("unix", "203.0.113.9", "None"),
        ("", "203.0.113.9", "None"),
    ],
)
def test_a_client_is_the_last_who_is_no_proxy(peer: str, hops: str, client: str) -> None:
    assert str(client_of(peer, hops, PROXIES)) == client


def test_no_more_hops_are_followed_than_a_real_way_has() -> None:
    hops = ",".join(["203.0.113.9", *["10.0.0.2"] * HOPS_MAX])

    assert client_of("10.0.0.1", hops, PROXIES) == address_of("10.0.0.2")
