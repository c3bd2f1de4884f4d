"""Where a request came from, and which host the browser addressed, through listed proxies. X-Forwarded-* headers from
anyone else are ignored here.

A header may have several lines: HAProxy, for example, keeps what a client sent and appends a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from aiohttp import web

Network = IPv4Network | IPv6Network
HOPS_MAX = 32


def parsed(address: str) -> IPv4Address | IPv6Address | None:
    """The address; an IPv4-mapped IPv6 address as IPv4; None if the text is not an address."""
    try:
        found = ip_address(address.strip().partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def client_of(request: web.BaseRequest, proxies: Sequence[Network]) -> str:
    """The client's address: the last hop that is not a listed proxy; "" when it is unknown."""
    source = parsed(request.remote or "")
    if source is not None and _is_listed(source, proxies):
        hops = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")
        for hop in reversed(hops[-HOPS_MAX:]):
            source = parsed(hop) if hop.strip() else source
            if source is None or not _is_listed(source, proxies):
                break
    return str(source) if source is not None else ""


def hosts_of(request: web.BaseRequest, proxies: Sequence[Network], public_url: str) -> set[str]:
    """The hosts, with their ports, that serve this console's pages, in lower case."""
    hosts = {request.headers.get("Host", "").lower(), urlsplit(public_url).netloc.lower()}
    peer = parsed(request.remote or "")
    if peer is not None and _is_listed(peer, proxies):
        hosts.add(told(request, "X-Forwarded-Host"))
    return hosts - {""}


def is_secure(request: web.BaseRequest, proxies: Sequence[Network]) -> bool:
    """Whether the browser came over TLS, according to the connection or to a listed proxy."""
    peer = parsed(request.remote or "")
    if peer is None or not _is_listed(peer, proxies) or "X-Forwarded-Proto" not in request.headers:
        return request.secure
    return told(request, "X-Forwarded-Proto") == "https"


def told(request: web.BaseRequest, name: str) -> str:
    """What a header says about the client, in lower case: the first value of its last line."""
    return request.headers.getall(name, [""])[-1].partition(",")[0].strip().lower()


def _is_listed(address: IPv4Address | IPv6Address, proxies: Sequence[Network]) -> bool:
    return any(address in network for network in proxies)
