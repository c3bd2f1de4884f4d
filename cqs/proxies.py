"""Where a request came from: directly, or through trusted proxies, each of which appends the address that called it.

    X-Forwarded-For: 6.6.6.6, 192.0.2.7, 10.0.0.2      peer 10.0.0.1      trusted: 10.0.0.0/8
                     forged   the client ◄── proxy ◄───────── proxy

What was said by an address that is not trusted, or that is missing, proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
HOPS_MAX = 32
_WITH_PORT = re.compile(r"\s*(?:\[([^][]*)\](?::[0-9]+)?|([^][:]*):[0-9]+)\s*")
"""As some load balancers append: 192.0.2.7:4711, [2001:db8::7]:4711, [2001:db8::7]."""


def address_of(text: str) -> Address | None:
    """The address, without its zone; an IPv4-mapped IPv6 address as IPv4. None if the text is not an address."""
    try:
        found = ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def is_listed(address: Address | None, proxies: Sequence[Network]) -> bool:
    """Whether it is a trusted proxy's."""
    return address is not None and any(address in network for network in proxies)


def client_of(peer: str, hops: str, proxies: Sequence[Network]) -> Address | None:
    """The last address that is not a trusted proxy's, or the first of HOPS_MAX; None when it is unknown. `hops`: all
    lines of X-Forwarded-For, joined by commas; "" = there are none."""
    source = address_of(peer)
    for hop in reversed(hops.split(",")[-HOPS_MAX:] if hops.strip() else []):
        if not is_listed(source, proxies):
            break
        source = _address_of_hop(hop)
    return source


def _address_of_hop(text: str) -> Address | None:
    found = _WITH_PORT.fullmatch(text)
    return address_of((found[1] or found[2] or "") if found else text)
