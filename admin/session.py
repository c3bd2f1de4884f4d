"""Sessions: an encrypted cookie that any node of a cluster can read, because its key is derived from the cluster's
secret.

    nobody ──login──► begin(user): a new ID, so that a cookie planted before the login is worthless
    each visit       idle too long, too old, user changed, logged out ──► nobody
    a visit by hand  older than TOUCH_MS ──► the same ID, seen now   (a page that refreshes itself does not count)

The cookie itself grants nothing: the user is looked up in the store at each visit. The session must have begun under
the user's current session counter, which is raised by a changed password or role, by disabling the user and by "log out
everywhere". It must belong to that very user, by ID: a new user with the name of a deleted one is somebody else. And it
must not be among the logged-out sessions, which the user's record lists for as long as their cookies would last. So a
session that has ended has ended on every node at once, and stays ended after a restart.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TypeVar

import msgspec

from cqs.clock import Clock
from cqs.identity import User
from cqs.service.seal import CanNotOpen, Sealer

T = TypeVar("T")
COOKIE, FLASH_COOKIE = "cqs_console", "cqs_flash"
IDLE_MS_MAX = 30 * 60_000
AGE_MS_MAX = 12 * 3_600_000
TOUCH_MS = FLASH_MS_MAX = 60_000
COOKIE_LENGTH_MAX = 3_800
"""Browsers drop a cookie of more than 4,096 bytes, including its name and attributes."""


class Session(msgspec.Struct, frozen=True):
    """The content of a cookie. `user` "" = nobody has logged in."""

    sid: str
    issued_ms: int
    seen_ms: int
    user: str = ""
    user_id: str = ""
    user_sessions: int = 0
    """The user's session counter at the login."""

    @property
    def end_ms(self) -> int:
        """When its cookie expires in any case."""
        return self.issued_ms + AGE_MS_MAX

    def is_of(self, user: User) -> bool:
        """Whether the user, as it is now, is still logged in with this session."""
        began = self.user, self.user_id, self.user_sessions
        return began == (user.name, user.user_id, user.sessions) and all(one.sid != self.sid for one in user.ended)


class Flash(msgspec.Struct, frozen=True):
    """A message that the next page shows once. It travels in an encrypted cookie, so it may contain a secret."""

    text: str
    is_error: bool = False
    key_id: str = ""
    secret: str = ""
    """The secret of a new access key: shown with the message, and never again."""
    at_ms: int = 0
    sid: str = ""
    """When it was created, and in which session."""


class Sessions:
    """Creates and reads sessions. Belongs to one event loop."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._clock = clock
        self._sealer = Sealer([_derived(secret, b"cookies")])
        self._csrf_key = _derived(secret, b"csrf")

    def begin(self, user: User | None = None) -> Session:
        """A new session, of the user or not logged in yet."""
        now_ms = self._clock.now_ms()
        whose = (user.name, user.user_id, user.sessions) if user is not None else ()
        return Session(secrets.token_urlsafe(18), now_ms, now_ms, *whose)

    def write(self, session: Session) -> str:
        """The cookie's value."""
        return _sealed(self._sealer, session, COOKIE)

    def read(self, cookie: str) -> Session | None:
        """The session of a cookie; None if the cookie is invalid, too old, or idle too long. `Session.is_of` tells
        whether its user was logged out."""
        session = _opened(self._sealer, cookie, COOKIE, Session)
        if session is None:
            return None
        now_ms = self._clock.now_ms()
        is_alive = now_ms < session.end_ms and now_ms - session.seen_ms < IDLE_MS_MAX
        return session if is_alive else None

    def touched(self, session: Session) -> Session:
        """The session, marked as seen now if it was last written a while ago."""
        now_ms = self._clock.now_ms()
        if now_ms - session.seen_ms < TOUCH_MS:
            return session
        return msgspec.structs.replace(session, seen_ms=now_ms)

    def token(self, session: Session) -> str:
        """The CSRF token of the session's forms, which no other site can know."""
        return hmac.new(self._csrf_key, session.sid.encode(), hashlib.sha256).hexdigest()

    def is_token_of(self, session: Session, token: str) -> bool:
        return hmac.compare_digest(self.token(session).encode(), token.encode("utf-8", "replace"))

    def write_flash(self, flash: Flash, session: Session) -> str:
        """The cookie's value, for the session's next page; a text too long for a cookie is truncated."""
        flash = msgspec.structs.replace(flash, at_ms=self._clock.now_ms(), sid=session.sid)
        cookie = _sealed(self._sealer, flash, FLASH_COOKIE)
        while len(cookie) > COOKIE_LENGTH_MAX:
            flash = msgspec.structs.replace(flash, text=flash.text[: len(flash.text) // 2] + "…")
            cookie = _sealed(self._sealer, flash, FLASH_COOKIE)
        return cookie

    def read_flash(self, cookie: str, session: Session) -> Flash | None:
        """The message in the cookie; None if it is invalid or too old, or holds a secret that another session created.
        Its age is checked here because a browser drops the cookie in time, but somebody who copied it does not."""
        flash = _opened(self._sealer, cookie, FLASH_COOKIE, Flash)
        if flash is None or self._clock.now_ms() - flash.at_ms >= FLASH_MS_MAX:
            return None
        return None if flash.secret and flash.sid != session.sid else flash


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
