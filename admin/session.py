"""Sessions: a sealed cookie that any node of a cluster can read, since its key comes from the cluster's secret.

    nobody ──login──► begin(user): a new id, so that a cookie planted before is worth nothing
    each visit       idle too long, too old, user changed, logged out ──► nobody
    a visit by hand  older than TOUCH_MS ──► the same id, seen now   (a page that refreshes itself does not count)

The cookie holds no right by itself: the user is looked up at each visit, and must have the version that logged in. So a
changed password or role, a disabled user, or "log out everywhere" (which only raises the version) ends all sessions of
the user on every node at once. Logging out ends one session on the node that hears of it, and takes its cookie away.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from typing import TypeVar

import msgspec

from cqs.clock import Clock
from cqs.identity import User
from cqs.service.seal import CanNotOpen, Sealer

T = TypeVar("T")
COOKIE, FLASH_COOKIE = "cqs_console", "cqs_flash"
IDLE_MS_MAX = 30 * 60_000
AGE_MS_MAX = 12 * 3_600_000
TOUCH_MS = 60_000
ENDED_MAX = 10_000
COOKIE_LENGTH_MAX = 4_096


class Session(msgspec.Struct, frozen=True):
    """What a cookie says. `user` "" = nobody has logged in."""

    sid: str
    issued_ms: int
    seen_ms: int
    user: str = ""
    user_version: int = 0


class Flash(msgspec.Struct, frozen=True):
    """A message that the next page shows once. It travels in a sealed cookie, so it may hold a secret."""

    text: str
    is_error: bool = False
    key_id: str = ""
    secret: str = ""
    """Of a new access key: shown with the message, and never again."""


class Sessions:
    """Makes, reads and ends sessions. Belongs to one event loop."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._clock = clock
        self._sealer = Sealer([_derived(secret, b"cookies")])
        self._csrf_key = _derived(secret, b"csrf")
        self._ended: OrderedDict[str, int] = OrderedDict()

    def begin(self, user: User | None = None) -> Session:
        """A new session, of the user or of nobody yet."""
        now_ms = self._clock.now_ms()
        name, version = (user.name, user.version) if user is not None else ("", 0)
        return Session(secrets.token_urlsafe(18), now_ms, now_ms, name, version)

    def write(self, session: Session) -> str:
        """The cookie's value."""
        return _sealed(self._sealer, session, COOKIE)

    def read(self, cookie: str) -> Session | None:
        """The living session of a cookie; None for one that is damaged, too old, idle too long or ended."""
        session = _opened(self._sealer, cookie, COOKIE, Session)
        if session is None or session.sid in self._ended:
            return None
        now_ms = self._clock.now_ms()
        is_alive = now_ms - session.issued_ms < AGE_MS_MAX and now_ms - session.seen_ms < IDLE_MS_MAX
        return session if is_alive else None

    def touched(self, session: Session) -> Session:
        """The session, seen now if it was last written a while ago."""
        now_ms = self._clock.now_ms()
        if now_ms - session.seen_ms < TOUCH_MS:
            return session
        return msgspec.structs.replace(session, seen_ms=now_ms)

    def end(self, session: Session) -> None:
        """The session is dead on this node, whoever kept its cookie."""
        now_ms = self._clock.now_ms()
        self._ended[session.sid] = now_ms + AGE_MS_MAX
        while self._ended and (len(self._ended) > ENDED_MAX or next(iter(self._ended.values())) <= now_ms):
            self._ended.popitem(last=False)

    def token(self, session: Session) -> str:
        """What every form of the session carries, and no other site can know."""
        return hmac.new(self._csrf_key, session.sid.encode(), hashlib.sha256).hexdigest()

    def is_token_of(self, session: Session, token: str) -> bool:
        return hmac.compare_digest(self.token(session).encode(), token.encode("utf-8", "replace"))

    def write_flash(self, flash: Flash) -> str:
        return _sealed(self._sealer, flash, FLASH_COOKIE)

    def read_flash(self, cookie: str) -> Flash | None:
        return _opened(self._sealer, cookie, FLASH_COOKIE, Flash)


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(b"console: " + purpose, key=secret, digest_size=32).digest()


def _sealed(sealer: Sealer, value: Session | Flash, owner: str) -> str:
    return urlsafe_b64encode(sealer.seal(msgspec.json.encode(value), owner)).decode()


def _opened(sealer: Sealer, cookie: str, owner: str, kind: type[T]) -> T | None:
    if not cookie or len(cookie) > COOKIE_LENGTH_MAX:
        return None
    try:
        return msgspec.json.decode(sealer.open(urlsafe_b64decode(cookie.encode()), owner), type=kind)
    except (CanNotOpen, binascii.Error, ValueError):
        return None
