"""Which requests are refused because of their head, before any byte of the body is read. Pure, so that both lanes
follow the same rules. The parser refuses most requests that two servers could interpret differently; this refuses the
rest."""

from __future__ import annotations

from cqs.api.http.bounds import Bounds
from cqs.api.request import Headers
from cqs.api.wire_errors import (
    BadRequest,
    HttpError,
    MethodNotAllowed,
    RequestEntityTooLarge,
    RequestHeaderFieldsTooLarge,
    UnsupportedContentEncoding,
)

METHODS = frozenset({b"GET", b"POST", b"OPTIONS"})
_ONCE = frozenset(
    {b"host", b"content-length", b"transfer-encoding", b"content-type", b"x-amz-target", b"authorization"}
)
_LENGTH_DIGITS_MAX = 18


def refusal(
    method: bytes,
    target: bytes,
    is_http_11: bool,
    headers: Headers,
    bounds: Bounds,
    methods: frozenset[bytes] | None = METHODS,
) -> HttpError | None:
    """Why the request is refused; None when it is not. `methods` None = any."""
    size = len(target) + sum(len(name) + len(value) + 4 for name, value in headers)
    if len(headers) > bounds.headers_max or size > bounds.header_bytes_max:
        return RequestHeaderFieldsTooLarge()
    if methods is not None and method not in methods:
        return MethodNotAllowed()
    head: dict[bytes, bytes] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in head and lower in _ONCE:
            return BadRequest(f"The header field {lower.decode('latin-1')} is given more than once.")
        head[lower] = value
    return _of_head(head, is_http_11, bounds)


def _of_head(head: dict[bytes, bytes], is_http_11: bool, bounds: Bounds) -> HttpError | None:
    if is_http_11 and b"host" not in head:
        return BadRequest("The header field host is missing.")
    if b"upgrade" in head:
        return BadRequest("Only HTTP/1.1 is spoken here; there is nothing to upgrade to.")
    coding = head.get(b"transfer-encoding")
    if coding is not None and (not is_http_11 or coding.strip().lower() != b"chunked" or b"content-length" in head):
        return BadRequest("The length of the body is not clear.")
    if head.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        return UnsupportedContentEncoding()
    length = head.get(b"content-length")
    if length is not None and not (length.isdigit() and len(length) <= _LENGTH_DIGITS_MAX):
        return BadRequest("Content-Length is not a number.")
    if length is not None and int(length) > bounds.body_bytes_max:
        return RequestEntityTooLarge(bounds.body_bytes_max)
    return None
