"""Access keys in memory: lookups never block, and no key is trusted on knowledge older than the limit.

    store     version 7 ──────── key disabled: version 8
    node A    checks each second ─────┴─► reads all again: the key stops working here
    node B    can't reach the store ──────────── STALE_MS_MAX ──► refuses everybody (503) until it can

So a disabled key stops working on every node within STALE_MS_MAX, even on one that is cut off. A node that makes a
change itself refreshes at once. After a pause of the whole process (a laptop's sleep) the keys are outdated, too,
though the store answers: then the first requests wait for the next look instead of being refused (`catch_up`).
"""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from cqs.clock import Clock
from cqs.errors import CqsError, ServiceUnavailable
from cqs.identity import AccessKey, Caller, Credential, Identities, User
from cqs.service.seal import CanNotOpen, Sealer
from cqs.store.identity import IdentityStore

LOOK_MS = 1_000
STALE_MS_MAX = 5_000
CATCH_UP_S_MAX = 2.0

_log = structlog.get_logger("cqs.credentials")


def usable(everybody: Identities) -> dict[str, tuple[AccessKey, User]]:
    """The keys that are enabled and belong to an enabled user, by id."""
    users = {user.name: user for user in everybody.users if user.is_enabled}
    return {key.key_id: (key, users[key.user]) for key in everybody.keys if key.is_enabled and key.user in users}


def unopened(everybody: Identities, sealer: Sealer) -> list[str]:
    """Ids of usable keys whose secret no configured master key decrypts. Reported at startup rather than at the first
    call."""
    wrong = []
    for key_id, (key, _) in usable(everybody).items():
        try:
            sealer.open(key.sealed, key_id)
        except CanNotOpen:
            wrong.append(key_id)
    return wrong


class KeysOutdated(ServiceUnavailable):
    """The access keys were last read too long ago to trust them."""

    def __init__(self) -> None:
        super().__init__("Access keys can't be checked now: the store does not answer. Try again.")


class Credentials:
    """All access keys, as of the last refresh. Belongs to one event loop."""

    def __init__(self, store: IdentityStore, sealer: Sealer, clock: Clock, *, stale_ms_max: int = STALE_MS_MAX) -> None:
        self._store = store
        self._sealer = sealer
        self._clock = clock
        self._stale_ms_max = stale_ms_max
        self._looking = asyncio.Lock()
        self._version = -1
        self._known_ms: int | None = None
        self._asked_ms = 0
        self._is_away = False
        """The last look failed."""
        self._keys: dict[str, tuple[AccessKey, User]] = {}
        self._opened: dict[str, Credential] = {}

    def find(self, key_id: str) -> Credential | None:
        """The key, or None if it is unknown, disabled or belongs to a disabled user. Raises KeysOutdated if the last
        refresh is too old, ServiceUnavailable if the key's secret can't be decrypted."""
        if self._is_outdated():
            raise KeysOutdated
        found = self._opened.get(key_id)
        if found is not None:
            return found
        known = self._keys.get(key_id)
        if known is None:
            return None
        found = self._opened[key_id] = self._open(*known)
        return found

    async def refresh(self) -> None:
        """Checks for changes, and reads everything again if there are any. Raises what the store raises."""
        async with self._looking:
            await self._look()

    async def catch_up(self) -> None:
        """For a call that found the keys outdated: returns when they have been read again, but within CATCH_UP_S_MAX,
        and at once if the store was asked for longer than LOOK_MS or has failed. Raises nothing."""
        is_hanging = self._looking.locked() and self._clock.now_ms() - self._asked_ms > LOOK_MS
        if not (self._is_away or is_hanging):
            with contextlib.suppress(CqsError, TimeoutError):
                await asyncio.wait_for(self._look_if_outdated(), CATCH_UP_S_MAX)

    async def run(self) -> None:
        """Refreshes every LOOK_MS, for ever. Store errors are logged once per outage."""
        while True:
            await asyncio.sleep(LOOK_MS / 1_000)
            was_away = self._is_away
            try:
                await self.refresh()
            except CqsError as error:
                if not was_away:
                    _log.error("access_keys_unknown", reason=str(error))

    def _is_outdated(self) -> bool:
        return self._known_ms is None or abs(self._clock.now_ms() - self._known_ms) > self._stale_ms_max

    async def _look_if_outdated(self) -> None:
        async with self._looking:
            if self._is_outdated() and not self._is_away:
                await self._look()

    async def _look(self) -> None:
        """Call it with the lock held."""
        asked_ms = self._asked_ms = self._clock.now_ms()
        try:
            if await self._store.identities_version() != self._version:
                asked_ms = self._clock.now_ms()
                self._take(await self._store.identities())
        except CqsError:
            self._is_away = True
            raise
        self._known_ms, self._is_away = asked_ms, False

    def _take(self, everybody: Identities) -> None:
        keys = usable(everybody)
        self._opened = {key_id: one for key_id, one in self._opened.items() if keys.get(key_id) == self._keys[key_id]}
        self._keys = keys
        self._version = everybody.version

    def _open(self, key: AccessKey, user: User) -> Credential:
        try:
            secret = self._sealer.open(key.sealed, key.key_id)
        except CanNotOpen as error:
            _log.error("access_key_sealed", key_id=key.key_id, reason=str(error))
            raise ServiceUnavailable("This access key can't be checked by this server.") from error
        caller = Caller(account=user.account, user=user.name, user_id=user.user_id, role=user.role, key_id=key.key_id)
        return Credential(key_id=key.key_id, secret=secret, caller=caller)
