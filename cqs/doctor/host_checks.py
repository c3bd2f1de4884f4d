"""Checks this machine: the open-file limit, the data folder and its disk, the certificate."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from cqs.backends import folder_of
from cqs.config import Config
from cqs.config.values import show_size, with_home
from cqs.doctor.finding import Finding, error, ok, warning
from cqs.errors import ConfigError
from cqs.observers import journal_folder
from cqs.open_files import BESIDE, is_too_low
from cqs.people import MASTER_KEY_FILE, key_problem
from cqs.plural import counted
from cqs.store.sqlite import probe
from cqs.store.sqlite.files import wal_fault
from cqs.store.sqlite.folder import LOCK_NAME
from cqs.store.sqlite.identity import copied
from cqs.store.sqlite.schema import FILE_NAME
from cqs.tls import certificate_of, days_left

FREE_BYTES_MIN = 100_000_000
FREE_BYTES_WISHED = 1_000_000_000
DAYS_LEFT_MIN = 14


def check_host(config: Config) -> Iterator[Finding]:
    """All checks that need no other machine."""
    yield _files(config.bounds.connections_max)
    if not config.storage.is_in_memory:
        folder = folder_of(config.storage)
        yield from _folder("data folder", folder, "data_dir")
        if not config.backends.cassandra and os.access(folder, os.R_OK | os.X_OK):
            yield from _database(folder)
            yield from _access_keys(config, folder / FILE_NAME)
    yield from _certificate(config)
    if journal := journal_folder(config):
        yield from _folder("journal folder", journal, "journal_dir")
    if config.backends.cassandra and config.security.auth != "open" and not config.security.master_key:
        yield error("master_key", "not given; with Cassandra every node needs the same one", "openssl rand -base64 32")


def _files(connections_max: int) -> Finding:
    """The server raises the soft limit to the hard one by itself."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < connections_max + BESIDE:
        say = error if is_too_low(hard) else warning
        return say(
            "open files",
            f"{hard} may be open, and connections_max is {connections_max}",
            f"ulimit -Hn {connections_max + BESIDE} (LimitNOFILE= in systemd), or lower connections_max",
        )
    return ok("open files", f"{'any number' if hard == resource.RLIM_INFINITY else hard} may be open")


def _folder(what: str, folder: Path, setting: str) -> Iterator[Finding]:
    part = f"{what} {folder}"
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    if not os.path.isdir(there):
        told = "is a dangling link" if os.path.islink(there) else "is a file"
        yield error(part, f"{there} {told}", f"name a folder ({setting})")
        return
    if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        yield error(part, f"{there} can't be used by this user", f"chown it, or name another folder ({setting})")
        return
    free = shutil.disk_usage(there).free
    if free < FREE_BYTES_WISHED:
        say = error if free < FREE_BYTES_MIN else warning
        yield say(part, f"its disk has {free / 1e6:.0f} MB left", "free space there, or name a folder elsewhere")
    else:
        yield ok(part, f"{'exists' if folder == there else 'will be created'}, {show_size(free // 10**9 * 10**9)} free")


def _database(folder: Path) -> Iterator[Finding]:
    for path in (folder / name for name in (LOCK_NAME, FILE_NAME, MASTER_KEY_FILE)):
        if os.path.lexists(path) and not os.access(path, os.R_OK | os.W_OK):
            yield error(f"file {path}", "it can't be used by this user", "chown it to the user of the server")
            return
    if fault := wal_fault(folder / FILE_NAME):
        yield error(f"database {folder / FILE_NAME}", *fault)
        return
    found = probe.look(folder)
    if found is None:
        return
    part = f"database {found.path}"
    if not found.size_bytes:
        yield error(part, found.problem or "it is empty", "restore a copy; or delete it, if nothing was ever in it")
    elif found.problem:
        yield error(part, found.problem, f"restore a copy, or `sqlite3 {found.path} .recover` into a new file")
    else:
        yield ok(part, f"{found.size_bytes / 1e6:.1f} MB, sound")


def _access_keys(config: Config, file: Path) -> Iterator[Finding]:
    """Problems only."""
    try:
        problem = key_problem(config, copied(file))
    except ConfigError as wrong:
        problem = str(wrong)
    if problem:
        say = warning if config.security.auth == "open" else error
        yield say("access keys", problem, "restore the master key, which a backup of messages.db does not contain")


def _certificate(config: Config) -> Iterator[Finding]:
    listening = config.listening
    try:
        certificate = certificate_of(listening)
        if certificate is None:
            return
        part = f"certificate {listening.tls_cert}"
        days = days_left(with_home(listening.tls_cert), with_home(listening.tls_key))
    except ConfigError as wrong:
        yield error("certificate", str(wrong), "correct tls_cert and tls_key")
        return
    if days < DAYS_LEFT_MIN:
        say = error if days < 0 else warning
        told = "it has expired" if days < 0 else f"it expires in {counted(round(days), 'day')}"
        yield say(part, told, "renew it, and send SIGHUP to the server")
    else:
        yield ok(part, f"valid for {counted(round(days), 'day')}")
