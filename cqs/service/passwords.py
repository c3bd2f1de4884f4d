"""Console passwords: argon2id, from the argon2 library.

A hash takes 64 MiB and tens of milliseconds on purpose. So it runs in a thread, HASHING_MAX at a time. An unknown name
costs the same as a wrong password, so that response times reveal nothing.
"""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError

from cqs.errors import IdentityError

PASSWORD_LENGTH_MIN, PASSWORD_LENGTH_MAX = 8, 256
HASHING_MAX = 2
HASH_MEMORY_KIB_MAX, HASH_ROUNDS_MAX = 1_048_576, 16


class Passwords:
    """Creates and verifies hashes. Belongs to one event loop."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turn = asyncio.Semaphore(HASHING_MAX)
        self._nobodys = ""

    async def hash(self, password: str) -> str:
        """The hash to store. Raises IdentityError if the password is too short, too long, or not valid Unicode."""
        if not is_unicode(password):
            raise IdentityError("A password must be valid UTF-8.")
        if not PASSWORD_LENGTH_MIN <= len(password) <= PASSWORD_LENGTH_MAX:
            raise IdentityError(f"A password must have {PASSWORD_LENGTH_MIN} to {PASSWORD_LENGTH_MAX} characters.")
        async with self._turn:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def is_right(self, kept: str, password: str) -> bool:
        """Whether `kept` is a hash of this password. With `kept` "" (no such user) it does the same work and returns
        False."""
        if len(password) > PASSWORD_LENGTH_MAX or not is_unicode(password):
            return False
        async with self._turn:
            if not self._nobodys:
                self._nobodys = await asyncio.to_thread(self._hasher.hash, "nobody's password")
            is_right = await asyncio.to_thread(self._verify, kept or self._nobodys, password)
        return is_right and bool(kept)

    def is_outdated(self, kept: str) -> bool:
        """Whether it was made with cost parameters other than today's."""
        return self._hasher.check_needs_rehash(kept)

    def _verify(self, kept: str, password: str) -> bool:
        try:
            return self._hasher.verify(kept, password)
        except (VerificationError, InvalidHashError):
            return False


def is_unicode(text: str) -> bool:
    """Whether it can be encoded; not if it was read from bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_hash(text: str) -> str:
    """Returns the text if it is an argon2id hash that costs at most HASH_MEMORY_KIB_MAX and HASH_ROUNDS_MAX to verify;
    else raises IdentityError."""
    try:
        costs = extract_parameters(text)
    except InvalidHashError as error:
        raise IdentityError("A password hash must be argon2id's: $argon2id$v=19$m=…,t=…,p=…$salt$hash.") from error
    if costs.type is not Type.ID or costs.memory_cost > HASH_MEMORY_KIB_MAX or costs.time_cost > HASH_ROUNDS_MAX:
        raise IdentityError(
            f"A password hash must be argon2id's, with m ≤ {HASH_MEMORY_KIB_MAX}, t ≤ {HASH_ROUNDS_MAX}."
        )
    return text
