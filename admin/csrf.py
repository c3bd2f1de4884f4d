"""Prevents cross-site request forgery: a change must have been requested on a page of this console.

Three independent barriers: the session cookie is SameSite=Strict; every unsafe request must come from this same host,
according to Origin (else Sec-Fetch-Site, else Referer); and it must carry the session's token, in the form or, for the
page's scripts, in a header. While there is no password, the Host header must name this machine, so that DNS rebinding
of a foreign name to 127.0.0.1 does not get in.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from aiohttp import web

from cqs.errors import AccessDenied
from cqs.proxies import address_of

FIELD, HEADER = "csrf", "X-CSRF-Token"
_USUAL_PORTS = {"http": 80, "https": 443}
_FORWARDED = ("forwarded", "x-real-ip", "via")


def check_origin(request: web.BaseRequest, hosts: set[str]) -> None:
    """Raises AccessDenied unless a page of one of these hosts made the request."""
    origin = request.headers.get("Origin")
    site = request.headers.get("Sec-Fetch-Site")
    if origin is not None:
        is_ours = not hosts.isdisjoint(_hosts_of(origin))
    elif site is not None:
        is_ours = site == "same-origin"
    else:
        is_ours = not hosts.isdisjoint(_hosts_of(request.headers.get("Referer", "")))
    if not is_ours or (site is not None and site not in ("same-origin", "none")):
        raise AccessDenied(
            "This request was not made by a page of this console. If it was, the proxy before it hides the address "
            "that your browser uses: let the proxy pass Host on, or set public_url."
        )


def is_from_this_machine(request: web.BaseRequest) -> bool:
    """Whether it came over loopback, through no proxy that identifies itself, and to a name of this machine."""
    names = [name.lower() for name in request.headers]
    if any(name in _FORWARDED or name.startswith("x-forwarded-") for name in names):
        return False
    return _is_loopback(request.remote or "") and _is_local_name(request.headers.get("Host", ""))


def _hosts_of(url: str) -> set[str]:
    """The host and port of an http or https URL, with and without the scheme's default port; empty for anything else,
    including "null". Browsers omit that port, and some proxies write it into Host."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return set()
    if parts.scheme not in _USUAL_PORTS or not parts.netloc:
        return set()
    host, usual = parts.netloc.lower(), _USUAL_PORTS[parts.scheme]
    if port is None:
        return {host, f"{host}:{usual}"}
    return {host, host.removesuffix(f":{usual}")} if port == usual else {host}


def _is_loopback(address: str) -> bool:
    found = address_of(address)
    return found is not None and found.is_loopback


def _is_local_name(host: str) -> bool:
    name = host.lower().rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.lower().partition(":")[0]
    return name == "localhost" or name.endswith(".localhost") or _is_loopback(name)
