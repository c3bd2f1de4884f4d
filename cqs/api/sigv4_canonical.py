"""The canonical form of a request; AWS Signature Version 4 signs its hash.

    POST                                  method
    /111122223333/orders                  path: dots and double slashes resolved, then each segment encoded once more
    Action=ReceiveMessage&b=%20           query: decoded, encoded by RFC 3986, sorted by encoded name, then value
    host:localhost:9324                   signed headers: trimmed, inner spaces collapsed, repeats joined by a comma
    x-amz-date:20261127T120000Z
                                          (an empty line)
    host;x-amz-date                       their names
    e3b0c442…                             SHA-256 of the body

All of it is built from the raw bytes. A "+" in a query means a space, both here and where the query is parsed: two
requests with the same signature must also have the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from urllib.parse import quote, unquote_to_bytes

from cqs.api.request import Head
from cqs.errors import IncompleteSignature, SignatureDoesNotMatch

Headers = Sequence[tuple[bytes, bytes]]
QUERY_MEMBERS_MAX = 1_000
AMZ = b"x-amz-"
"""Prefix of header names that must be signed if they are sent."""

_PLAIN_PATH = re.compile(rb"(?:/(?!\.\.?(?:/|\Z))[A-Za-z0-9._~-]+)+/?")


def by_name(headers: Headers) -> Head:
    """Values by lower-case name; the values of a repeated name are trimmed and joined by commas."""
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        name = name.lower()
        if name in values:
            values[name] = values[name].strip() + b"," + value.strip()
        else:
            values[name] = value
    return values


def query_pairs(query: bytes) -> list[tuple[bytes, bytes]]:
    """Decoded names and values, in the order sent. Raises IncompleteSignature for more than QUERY_MEMBERS_MAX."""
    if query.count(b"&") >= QUERY_MEMBERS_MAX:
        raise IncompleteSignature(f"The query has more than {QUERY_MEMBERS_MAX} members.")
    pairs = []
    for member in query.replace(b"+", b" ").split(b"&"):
        if member:
            name, _, value = member.partition(b"=")
            pairs.append((unquote_to_bytes(name), unquote_to_bytes(value)))
    return pairs


def canonical_query(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Re-encoded by RFC 3986, then sorted by name, then value."""
    encoded = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in pairs)
    return "&".join([f"{name}={value}" for name, value in encoded]).encode()


def canonical_path(path: bytes) -> bytes:
    """Dots and double slashes are resolved; then each segment, already encoded by the client, is encoded once more."""
    if path == b"/" or _PLAIN_PATH.fullmatch(path):
        return path
    kept: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            del kept[-1:]
        elif segment not in (b"", b"."):
            kept.append(segment)
    plain = b"/" + b"/".join(kept)
    return quote(plain + b"/" if kept and path.endswith(b"/") else plain, safe="/~").encode()


class SignedHeaders:
    """The names of the headers that a client signs, and a precompiled template for its canonical requests. Cached,
    because clients keep signing the same headers."""

    __slots__ = ("_amz_count", "_pick", "_template", "names", "text")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        self.names = names
        self.text = b";".join(names)
        self._pick = itemgetter(*names) if len(names) > 1 else lambda values: (values[names[0]],)
        lines = b"".join([name.replace(b"%", b"%%") + b":%b\n" for name in names])
        self._template = b"%b\n%b\n%b\n" + lines + b"\n" + self.text.replace(b"%", b"%%") + b"\n%b"
        self._amz_count = self.text.count(AMZ)

    def canonical(self, target_lines: tuple[bytes, bytes, bytes], values: Head, payload: bytes) -> bytes:
        """The canonical request. `target_lines`: method, path and query, already canonical; `payload`: the hash of the
        body. Raises SignatureDoesNotMatch when a signed header is missing, or when the host or an x-amz-* header that
        was sent is not signed."""
        if b"host" not in self.names:
            raise SignatureDoesNotMatch("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
        try:
            signed = self._pick(values)
        except KeyError as error:
            raise SignatureDoesNotMatch(f"The header '{error.args[0].decode()}' is signed but was not sent.") from None
        if b"\n".join(values).count(AMZ) != self._amz_count:
            self._find_unsigned(values)
        return self._made(target_lines, signed, payload)

    def canonical_of_known(self, method: bytes, path: bytes, query: bytes, values: Head, payload: bytes) -> bytes:
        """Like `canonical`, for header names that were already checked."""
        signed = self._pick(values)
        canonical: bytes = self._template % (method, path, query, *signed, payload)
        if b" " in canonical or b"\t" in canonical:
            return self._made((method, path, query), signed, payload)
        return canonical

    def _made(self, target_lines: tuple[bytes, bytes, bytes], signed: tuple[bytes, ...], payload: bytes) -> bytes:
        canonical: bytes = self._template % (*target_lines, *signed, payload)
        if b" " in canonical or b"\t" in canonical:
            trimmed = [b" ".join(value.split()) for value in signed]
            canonical = self._template % (*target_lines, *trimmed, payload)
        return canonical

    def _find_unsigned(self, values: Head) -> None:
        for name in values:
            if name.startswith(AMZ) and name not in self.names:
                raise SignatureDoesNotMatch(
                    f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
                )
