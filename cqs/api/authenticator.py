"""The modes that check who is calling.

    mode        who is it                   own account            another account's queues
    open        not checked                 everything             everything
    signed      Signature Version 4         what the role allows   do not exist
    enforced    Signature Version 4         … and no policy denies what a policy allows

Behind a proxy, the client signed the host that it called, but the connection comes from the proxy. X-Forwarded-*
headers are trusted only from listed proxies, because authorization depends on them: otherwise anyone could claim an
address that a policy allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from cqs.api.access import Access, OpenAccess
from cqs.api.request import Head, Request
from cqs.api.rulings import Rulings
from cqs.api.sigv4 import Credentials, Verifier
from cqs.clock import Clock
from cqs.errors import InvalidClientTokenId, QueueDoesNotExist
from cqs.identity import DEFAULT_ACCOUNT, Caller, Circumstances
from cqs.proxies import Network, address_of, client_of, is_listed
from cqs.queue import Queue
from cqs.service import access as rules

_WAY, _SCHEME = b"x-forwarded-for", b"x-forwarded-proto"


class Mode(StrEnum):
    """How much is checked."""

    OPEN = "open"
    SIGNED = "signed"
    ENFORCED = "enforced"


class Proxies:
    """The trusted proxies."""

    def __init__(self, networks: Sequence[Network] = ()) -> None:
        self._networks = tuple(networks)
        self.is_any = bool(networks)

    def host(self, request: Request, head: Head) -> bytes | None:
        """The host that the client called, if it differs from the Host header."""
        if not self._networks or not self._is_listed(request.peer):
            return None
        forwarded = head.get(b"x-forwarded-host", b"").partition(b",")[0].strip()
        return forwarded or None

    def source_ip(self, request: Request, head: Head) -> str | None:
        """The client's address, None when it is unknown."""
        way = _way_of(request, head) or b""
        source = client_of(request.peer, way.decode("latin-1"), self._networks)
        return None if source is None else str(source)

    def is_secure(self, request: Request, head: Head) -> bool | None:
        """Whether the client called over TLS; None when no listed proxy says so."""
        if not self._networks or not self._is_listed(request.peer):
            return None
        scheme = head.get(_SCHEME)
        return None if scheme is None else scheme.partition(b",")[0].strip().lower() == b"https"

    def _is_listed(self, peer: str) -> bool:
        return is_listed(address_of(peer), self._networks)


class SignedAccess:
    """Authenticates the user whose enabled key signed the request, and limits the user to their own account."""

    def __init__(self, verifier: Verifier, proxies: Proxies | None = None, home: str = DEFAULT_ACCOUNT) -> None:
        """`home`: the server's own account."""
        self._verifier = verifier
        self._proxies = proxies or Proxies()
        self._home = home

    def authenticate(self, request: Request, head: Head) -> Caller:
        """Raises what `Verifier.verify` raises, and ServiceUnavailable while access keys can't be checked."""
        host = self._proxies.host(request, head) if self._proxies.is_any else None
        return self._verifier.verify(
            request.method, request.target, request.headers, request.body, host, request.head
        ).caller

    def renewed(self, caller: Caller) -> Caller:
        present = self._verifier.present(caller.key_id).caller
        if present.user_id != caller.user_id:
            raise InvalidClientTokenId
        return caller if present.role is caller.role else msgspec.structs.replace(caller, role=present.role)

    def authorize_call(self, caller: Caller, action: str) -> None:
        rules.authorize_account(caller, action)
        rules.authorize_server(caller, action, self._home)

    def authorize(self, caller: Caller, action: str, queue: Queue) -> None:
        if caller.account != queue.account:
            raise QueueDoesNotExist
        rules.authorize_account(caller, action)


class EnforcedAccess(SignedAccess):
    """Like SignedAccess, and also applies queue policies, which depend on the circumstances of each request."""

    def __init__(
        self, verifier: Verifier, clock: Clock, proxies: Proxies | None = None, home: str = DEFAULT_ACCOUNT
    ) -> None:
        super().__init__(verifier, proxies, home)
        self._clock = clock
        self._rulings = Rulings()

    def authenticate(self, request: Request, head: Head) -> Caller:
        plain = super().authenticate(request, head)
        at_s = self._clock.now_ms() // 1_000
        self._rulings.turn(at_s)
        told = (_way_of(request, head), head.get(_SCHEME)) if self._proxies.is_any else ()
        way = plain.key_id, request.peer, request.is_secure, head.get(b"user-agent"), head.get(b"referer"), told
        caller = self._rulings.caller(plain, way)
        if caller is None:
            caller = msgspec.structs.replace(plain, circumstances=self._circumstances(request, head, at_s))
            self._rulings.keep_caller(plain, way, caller)
        return caller

    def renewed(self, caller: Caller) -> Caller:
        now = msgspec.structs.replace(caller.circumstances, now_ms=self._clock.now_ms() // 1_000 * 1_000)
        return msgspec.structs.replace(super().renewed(caller), circumstances=now)

    def authorize(self, caller: Caller, action: str, queue: Queue) -> None:
        if not self._rulings.is_allowed(caller, action, queue):
            rules.authorize_queue(caller, action, queue)
            self._rulings.keep_allowed(caller, action, queue)

    def _circumstances(self, request: Request, head: Head, at_s: int) -> Circumstances:
        is_secure = self._proxies.is_secure(request, head)
        return Circumstances(
            now_ms=at_s * 1_000,
            source_ip=self._proxies.source_ip(request, head),
            is_secure=request.is_secure if is_secure is None else is_secure,
            user_agent=_text(head.get(b"user-agent")),
            referer=_text(head.get(b"referer")),
        )


def access_of(
    mode: Mode,
    credentials: Credentials,
    clock: Clock,
    *,
    region: str | None = None,
    default_account: str = DEFAULT_ACCOUNT,
    proxies: Sequence[Network] = (),
    is_verbose: bool = False,
) -> Access:
    """The access control for a mode. `region` None = signatures for any region are accepted; `is_verbose`: a signature
    mismatch error contains what should have been signed."""
    if mode is Mode.OPEN:
        return OpenAccess(default_account)
    verifier = Verifier(credentials, clock, region=region, is_verbose=is_verbose)
    if mode is Mode.SIGNED:
        return SignedAccess(verifier, Proxies(proxies), default_account)
    return EnforcedAccess(verifier, clock, Proxies(proxies), default_account)


def _way_of(request: Request, head: Head) -> bytes | None:
    """The addresses in X-Forwarded-For, in order. Each proxy may append a header line of its own to those before."""
    lines = [value for name, value in request.headers if name.lower() == _WAY]
    return b",".join(lines) if lines else head.get(_WAY)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
