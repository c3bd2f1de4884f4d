"""Finds what would keep a server from starting even if the machine and the other servers are in order, by trying it in
memory."""

from __future__ import annotations

import http.client
import random
import ssl
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from cqs import backends, boot, listen, observers, parts, people
from cqs.api.attributes import changes_of
from cqs.api.http.plain_reply import SERVER
from cqs.clock import Clock
from cqs.config import Config, DeclaredQueue, Loaded
from cqs.config.backend_settings import Backends
from cqs.config.settings import Listening
from cqs.doctor.finding import Finding, error, ok
from cqs.errors import CannotStart, CqsError, SqsError
from cqs.queue import QueueName, Redrive, name_of_arn
from cqs.service import queues, residency
from cqs.service.engine import Engine
from cqs.store.memory import MemoryStore
from cqs.workers import check_workers

ANSWER_S_MAX = 5.0


async def check_start(loaded: Loaded[Config], clock: Clock) -> list[Finding]:
    """Problems, and a CQS server that has the port already: it may be the one with these settings."""
    config = loaded.config
    found = [
        _port(config.listening, is_checked=config.security.auth != "open"),
        _refusal(lambda: check_workers(config)),
        _refusal(lambda: backends.store_of(config, clock)),
        _refusal(lambda: observers.check_tracing(config)),
        _refusal(lambda: observers.journal_of(config, clock)),
        await _late_refusal(people.try_declared(config, clock)),
        await _late_refusal(_try_queues(config, loaded.queues, clock)),
    ]
    return [one for one in found if one is not None]


def _port(listening: Listening, *, is_checked: bool) -> Finding | None:
    """Listens there for a moment."""
    try:
        for opened in listen.open_sockets(listening, is_checked=is_checked):
            opened.close()
    except CqsError as refused:
        if isinstance(refused, CannotStart) and _is_cqs(listening):
            return ok(f"port {listening.port}", "a CQS server listens on it")
        return _told(refused)
    return None


def _is_cqs(listening: Listening) -> bool:
    """Whether a CQS server answers at the address."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting))
    try:
        with opener.open(listen.endpoint_of(listening) + "/health", timeout=ANSWER_S_MAX) as answer:
            return bool(answer.headers["Server"] == SERVER)
    except (OSError, http.client.HTTPException):
        return False


def _refusal(check: Callable[[], object]) -> Finding | None:
    try:
        check()
    except CqsError as refused:
        return _told(refused)
    return None


async def _late_refusal(check: Awaitable[None]) -> Finding | None:
    try:
        await check
    except CqsError as refused:
        return _told(refused)
    return None


def _told(refused: CqsError) -> Finding:
    return error("settings", str(refused), "correct it: a server with these settings does not start")


async def _try_queues(config: Config, declared: Sequence[DeclaredQueue], clock: Clock) -> None:
    """Creates the declared queues in memory. Raises ConfigError."""
    here = replace(config, storage=replace(config.storage, is_in_memory=True), backends=Backends())
    rng = random.Random()
    store, cache = MemoryStore(clock), backends.CacheServers(here, clock, rng)
    await store.open()
    engine = await parts.engine_of(here, store, cache, clock, rng, None)
    await residency.open_all(engine)
    await _make_absent(engine, config.behaviour.account, declared)
    await boot.declare(engine, declared)


async def _make_absent(engine: Engine, account: str, declared: Sequence[DeclaredQueue]) -> None:
    """Creates dead-letter queues that are not declared, since they may exist in the server's store."""
    known = {QueueName(queue.account or account, queue.name) for queue in declared}
    for name in {target for queue in declared for target in _targets(queue, account)} - known:
        await queues.create(engine, name, {"is_fifo": True} if name.name.endswith(".fifo") else {}, {})


def _targets(queue: DeclaredQueue, account: str) -> list[QueueName]:
    if queue.dead_letter:
        return [QueueName(queue.account or account, queue.dead_letter)]
    try:
        redrive = changes_of(queue.attributes).get("redrive")
    except SqsError:
        return []
    target = name_of_arn(redrive.target_arn) if isinstance(redrive, Redrive) else None
    return [] if target is None else [target]
