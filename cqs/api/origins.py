"""Which web pages may call the API. Open mode accepts any credentials, so a page in a developer's browser could purge
every queue on localhost. Therefore requests that a browser sends for a page that is not listed are refused before
anything happens.

    what the browser sends                        meaning                                       answer
    Origin: listed                                a page that may                               served, CORS headers
    Origin: another, or null                      a page that may not                           403
    no Origin, Sec-Fetch-Site: none               typed into the address bar                    served
    no Origin, Sec-Fetch-Site: anything else      an image, a link, DNS rebinding               403
    neither, GET, Host may be a public name       perhaps DNS rebinding over plain http         403, open on loopback
    neither, GET, Host is 0.0.0.0 or the like     perhaps an image, unmarked by browsers        403, open
    neither                                       no browser: an SDK, curl                      served
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from ipaddress import ip_address

from cqs.api.request import Head, Headers
from cqs.api.wire_errors import OriginRefused

LOCAL = ("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*")
_PORT = re.compile(rb":[0-9]*\Z")
_ANY_PORT = ":*"
_PREFLIGHT_SECONDS = b"600"
_EXPOSED = b"x-amzn-RequestId, x-amzn-query-error"


class Unsigned(Enum):
    """From where requests without a signature are accepted: a web page could forge those."""

    NOWHERE = "nowhere"
    LOOPBACK = "loopback"
    """The server listens only there, so no client has a reason to use a public name for it."""
    ANYWHERE = "anywhere"


class Origins:
    """The listed origins: `scheme://host[:port]`, `:*` for any port, `*` for all."""

    def __init__(self, allowed: Sequence[str] = LOCAL, unsigned: Unsigned = Unsigned.NOWHERE) -> None:
        self._unsigned = unsigned
        patterns = [
            re.escape(origin.removesuffix(_ANY_PORT)) + (r"(?::[0-9]{1,5})?" if origin.endswith(_ANY_PORT) else "")
            for origin in allowed
            if origin != "*"
        ]
        if "*" in allowed:
            patterns.append(".*")
        self._allowed = re.compile("|".join(patterns).encode(), re.IGNORECASE) if patterns else None

    def check(self, head: Head, method: bytes) -> None:
        """Raises OriginRefused."""
        origin = head.get(b"origin")
        if origin is not None:
            if not self._is_allowed(origin):
                raise OriginRefused(origin.decode("latin-1")[:200])
        elif head.get(b"sec-fetch-site", b"none") != b"none":
            raise OriginRefused("")
        elif self._unsigned is not Unsigned.NOWHERE and method == b"GET":
            self._check_host(head.get(b"host", b"").lower())

    def _check_host(self, host: bytes) -> None:
        """Browsers send Origin with every POST, but over plain http send nothing that identifies a page's GET to its
        own host."""
        is_listed = self._is_allowed(b"http://" + host) or self._is_allowed(b"https://" + host)
        if not (is_listed or self._is_fine(_PORT.sub(b"", host))):
            raise OriginRefused(host.decode("latin-1")[:200])

    def _is_fine(self, name: bytes) -> bool:
        """Whether a host is acceptable. Names are; on a loopback-only server only those of this machine or of a
        container, which nobody can point to loopback in the DNS. Addresses are, except two kinds that reach loopback
        although browsers do not treat them as loopback, and so send a page's requests there unmarked: the unspecified
        address, and IPv4 addresses written as IPv6."""
        try:
            address = ip_address(name.strip(b"[]").decode("latin-1"))
        except ValueError:
            bare = name.removesuffix(b".")
            return self._unsigned is not Unsigned.LOOPBACK or b"." not in bare or bare.endswith(b".localhost")
        return not address.is_unspecified and getattr(address, "ipv4_mapped", None) is None

    def cors_headers(self, head: Head) -> Headers:
        """The headers that let the page read the answer; none for callers that are not pages, or not listed."""
        origin = head.get(b"origin")
        if origin is None or not self._is_allowed(origin):
            return []
        return [
            (b"Access-Control-Allow-Origin", origin),
            (b"Access-Control-Expose-Headers", _EXPOSED),
            (b"Vary", b"Origin"),
        ]

    def preflight_headers(self, head: Head) -> Headers:
        """The headers that answer OPTIONS with what a listed page may send; sent in addition to `cors_headers`."""
        asked = head.get(b"access-control-request-headers", b"*")
        return [
            (b"Access-Control-Allow-Methods", b"GET, POST, OPTIONS"),
            (b"Access-Control-Allow-Headers", asked),
            (b"Access-Control-Max-Age", _PREFLIGHT_SECONDS),
        ]

    def _is_allowed(self, origin: bytes) -> bool:
        return self._allowed is not None and self._allowed.fullmatch(origin) is not None
