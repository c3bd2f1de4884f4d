"""Builds the journal, metrics and traces from the settings."""

from __future__ import annotations

import platform
import random
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from cqs import __version__
from cqs.backends import folder_of, store_name
from cqs.clock import Clock
from cqs.config import Config
from cqs.config.values import with_home
from cqs.errors import CannotStart, ConfigError
from cqs.journal import recorder
from cqs.journal.journal import Journal
from cqs.journal.rules import JournalRules
from cqs.metrics.declarations import STORE_SIZE
from cqs.metrics.node import Build, NodeMetrics
from cqs.store.interface import Store
from cqs.store.sqlite.schema import FILE_NAME as DATABASE
from cqs.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from cqs.tracing import Tracing


_log = structlog.get_logger("cqs.journal")


def journal_folder(config: Config) -> Path | None:
    """The journal's folder; None if it is off."""
    return None if config.journaling.journal == "off" else _rules_of(config).folder


def journal_of(config: Config, clock: Clock) -> Journal | None:
    """The journal, not opened yet; None if it is off. Raises ConfigError."""
    if config.journaling.journal == "off":
        return None
    if config.storage.is_in_memory and not config.journaling.journal_dir:
        raise ConfigError("journal: a server in memory has no data directory to keep it in; give journal_dir")
    return Journal(_rules_of(config), clock)


async def begin(journal: Journal | None, config: Config, clock: Clock, rng: random.Random) -> None:
    """Opens the journal. If it is off, marks an existing journal in the folder as unended for its readers; not if this
    server is in memory, since the folder is then another server's. Raises CannotStart."""
    if journal is not None:
        await journal.open()
        return
    if config.storage.is_in_memory:
        return
    rules = _rules_of(config)
    try:
        recorder.leave_unended(rules, clock, rng)
    except OSError as error:
        _log.warning("journal_not_marked", folder=str(rules.folder), reason=error.strerror or str(error))


def _rules_of(config: Config) -> JournalRules:
    wanted = config.journaling
    folder = with_home(wanted.journal_dir).absolute() if wanted.journal_dir else folder_of(config.storage) / "journal"
    return JournalRules(
        folder=folder,
        node=wanted.journal_node or socket.gethostname(),
        sample_every=wanted.journal_sample if wanted.journal == "sampled" else 1,
        file_bytes_max=wanted.journal_file_max,
        file_age_ms=wanted.journal_file_age_ms,
        disk_bytes_max=wanted.journal_max,
    )


def metrics_of(config: Config, clock: Clock, store: Store) -> NodeMetrics:
    """The node's metrics, all zero; with an open SQLite store they include its commits and size."""
    wanted = config.monitoring
    metrics = NodeMetrics(
        places=wanted.queue_series,
        patterns=wanted.queue_series_patterns,
        build=Build(
            version=__version__,
            python=platform.python_version(),
            store=store_name(config),
            cache="redis" if config.backends.redis else "memory",
        ),
        started_ms=clock.now_ms(),
    )
    if isinstance(store, SqliteStore):
        store.hands.commits.observers.append(metrics.commit_done)
        folder = folder_of(config.storage)
        metrics.watch(STORE_SIZE, lambda: _size_of(folder))
    return metrics


def tracing_of(config: Config) -> Tracing | None:
    """Tracing, exported as the environment says; None if it is off. Raises CannotStart if OpenTelemetry is not
    installed."""
    if config.monitoring.traces == "off":
        return None
    check_tracing(config)
    from cqs.tracing import Tracing
    from cqs.tracing.provider import provider_of

    try:
        return Tracing(provider_of())
    except ValueError as error:
        raise ConfigError(f"traces: a variable OTEL_* of the environment can't be used: {error}") from error


def check_tracing(config: Config) -> None:
    """Raises CannotStart if tracing is on and OpenTelemetry is not installed."""
    if config.monitoring.traces != "off":
        try:
            import cqs.tracing
            import cqs.tracing.provider  # noqa: F401
        except ImportError as error:
            raise CannotStart("OpenTelemetry is not installed: pip install 'cqs-server[otel]'") from error


def _size_of(folder: Path) -> int:
    """Total size of the database's files, in bytes. One may vanish meanwhile, as the log does when the writer ends."""
    sizes = []
    for path in folder.glob(f"{DATABASE}*"):
        with suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sum(sizes)
