"""Where a request came from, and which host the browser addressed, through listed proxies. X-Forwarded-* headers from
anyone else are ignored here.

A header may have several lines: HAProxy, for example, keeps what a client sent and appends a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from aiohttp import web

from cqs.proxies import Network, address_of, client_of, is_listed


def client_address(request: web.BaseRequest, proxies: Sequence[Network]) -> str:
    """The client's address, "" when it is unknown."""
    source = client_of(request.remote or "", ",".join(request.headers.getall("X-Forwarded-For", [])), proxies)
    return str(source) if source is not None else ""


def hosts_of(request: web.BaseRequest, proxies: Sequence[Network], public_url: str) -> set[str]:
    """The hosts, with their ports, that serve this console's pages, in lower case."""
    hosts = {request.headers.get("Host", "").lower(), urlsplit(public_url).netloc.lower()}
    if _is_through_proxy(request, proxies):
        hosts.add(told(request, "X-Forwarded-Host"))
    return hosts - {""}


def is_secure(request: web.BaseRequest, proxies: Sequence[Network]) -> bool:
    """Whether the browser came over TLS, according to the connection or to a listed proxy."""
    if not _is_through_proxy(request, proxies) or "X-Forwarded-Proto" not in request.headers:
        return request.secure
    return told(request, "X-Forwarded-Proto") == "https"


def told(request: web.BaseRequest, name: str) -> str:
    """What a header says about the client, in lower case: the first value of its last line."""
    return request.headers.getall(name, [""])[-1].partition(",")[0].strip().lower()


def _is_through_proxy(request: web.BaseRequest, proxies: Sequence[Network]) -> bool:
    return is_listed(address_of(request.remote or ""), proxies)
