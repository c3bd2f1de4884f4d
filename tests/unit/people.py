"""Accounts, users and keys on an in-memory store, with cheap password hashes."""

from __future__ import annotations

from dataclasses import dataclass

from argon2 import PasswordHasher

from cqs.service.accounts import Accounts
from cqs.service.credentials import Credentials
from cqs.service.passwords import Passwords
from cqs.service.seal import Sealer
from cqs.store.identity import IdentityStore, MemoryIdentities
from cqs.testing.clock import ManualClock

MASTER_KEY = bytes(range(32))
OURS, THEIRS = "111122223333", "222233334444"


@dataclass(frozen=True)
class People:
    """One node's view of users and keys."""

    store: IdentityStore
    clock: ManualClock
    credentials: Credentials
    accounts: Accounts


def cheap_passwords() -> Passwords:
    return Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


def make_people(
    store: IdentityStore | None = None,
    clock: ManualClock | None = None,
    sealer: Sealer | None = None,
    passwords: Passwords | None = None,
) -> People:
    """Makes a node. Two nodes with the same store form a cluster."""
    store, clock, sealer = store or MemoryIdentities(), clock or ManualClock(), sealer or Sealer([MASTER_KEY])
    credentials = Credentials(store, sealer, clock)
    return People(
        store, clock, credentials, Accounts(store, sealer, passwords or cheap_passwords(), clock, credentials)
    )
