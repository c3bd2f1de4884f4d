"""`cqs journal`: lists the journal's files, shows its latest events and frees disk space, with or without a running
server."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from cqs.commands.options import loaded_settings
from cqs.config import values
from cqs.errors import CannotStart
from cqs.events import EventName, Line
from cqs.journal.blocks import lines_of
from cqs.journal.files import JournalFile, files_of, finish_leftovers
from cqs.journal.files import prune as prune_folder
from cqs.plural import counted

_POLL_S = 0.2
_ALL = 1 << 62
_KEPT = values.size(0, 1_000_000_000_000_000)


@click.group()
@click.option("--dir", "folder", metavar="FOLDER", help="Directory of the journal. [default: from the settings]")
@click.option("--config", "config_path", metavar="FILE", help="TOML file with settings; also CQS_CONFIG.")
@click.pass_context
def command(ctx: click.Context, folder: str | None, config_path: str | None) -> None:
    """List, follow and prune the event journal, which `cqs serve --journal full` writes."""
    if folder is None:
        config = loaded_settings({"config_path": config_path}).config
        folder = config.journaling.journal_dir or str(Path(config.storage.data_dir) / "journal")
    try:
        ctx.obj = values.with_home(folder)
    except ValueError as error:
        raise click.UsageError(f"{folder}: {error}") from error


@command.command("list")
@click.pass_obj
def list_files(folder: Path) -> None:
    """List the files, oldest first."""
    _refuse_missing(folder)
    found = files_of(folder)
    for file in found:
        state = "finished" if file.is_finished else "open"
        click.echo(f"{file.start}  {file.node}  {file.incarnation}  {file.file:6}  {file.size:12}  {state}")
    click.echo(f"{counted(len(found), 'file')}, {counted(sum(file.size for file in found), 'byte')} in {folder}")


@command.command()
@click.option(
    "-n", "--lines", "count", type=click.IntRange(0, 1_000_000), default=10, help="Number of events. [default: 10]"
)
@click.option("-f", "--follow", is_flag=True, help="Print new events as they are written, until Ctrl-C.")
@click.pass_obj
def tail(folder: Path, count: int, follow: bool) -> None:
    """Print the last events of the newest file in order, one JSON object per line."""
    if not follow:
        _refuse_missing(folder)
    found = files_of(folder)
    latest, read = found[-1] if found else None, 0
    if latest is not None:
        shown, read = _shown(_unpacked(latest.path) if latest.is_finished else _text_behind(latest.path, 0), count)
        for text in shown:
            click.echo(text)
    if follow:
        for text in _followed(folder, latest, read):
            click.echo(text)


@command.command()
@click.option(
    "--keep",
    required=True,
    metavar="SIZE",
    help='Total size of closed files to keep, such as "1GB"; 0 deletes them all.',
)
@click.pass_obj
def prune(folder: Path, keep: str) -> None:
    """Delete the oldest closed files, after closing those that dead processes left open. The time that deleted files
    cover can no longer be audited."""
    try:
        bytes_max = _KEPT.read(keep)
    except ValueError as error:
        raise click.BadParameter(f"{keep!r}; expected {_KEPT.expects}", param_hint="--keep") from error
    assert isinstance(bytes_max, int)
    _refuse_missing(folder)
    try:
        finish_leftovers(folder)
        count, freed = prune_folder(folder, bytes_max)
    except OSError as error:
        raise CannotStart(f"{folder} can't be pruned: {error.strerror}.") from error
    click.echo(f"deleted {counted(count, 'file')}, {counted(freed, 'byte')}")


def _refuse_missing(folder: Path) -> None:
    if not folder.is_dir():
        raise CannotStart(
            f"There is no journal in {folder}: `cqs serve --journal full` writes one; "
            "`cqs journal --dir FOLDER list` looks elsewhere."
        )


def _shown(raw: bytes, count: int) -> tuple[list[str], int]:
    """The last events, and the offset after the last complete line of text. Lines are in the order of their last
    events, so those before the first wanted event are not read."""
    found: list[Line] = []
    end = raw.rfind(b"\n") + 1
    for text in reversed(raw[:end].splitlines()):
        lines = _events_of(text)
        if lines and len(found) >= count and all(lines[-1].number < one.number for one in _last(found, count)[:1]):
            break
        found += lines
    return list(map(_text_of, _last(found, count))), end


def _last(lines: list[Line], count: int) -> list[Line]:
    return sorted(lines, key=_number_of)[max(0, len(lines) - count) :]


def _events_of(text: bytes) -> list[Line]:
    """The events of a line of text. None for an invalid one, such as a fragment left by a crash, and no keep-alive
    events."""
    try:
        return [line for line in lines_of(text) if line.event is not EventName.ALIVE]
    except msgspec.DecodeError:
        return []


def _number_of(line: Line) -> int:
    return line.number


def _text_of(line: Line) -> str:
    return msgspec.json.encode(line).decode()


def _followed(folder: Path, latest: JournalFile | None, offset: int) -> Iterator[str]:
    """Yields events as they are written, across file changes; those of the latest file from `offset` on."""
    path = latest.path if latest is not None and not latest.is_finished else None
    while True:
        opened = [file.path for file in files_of(folder) if not file.is_finished]
        newest = opened[-1] if opened else None
        if path is not None and path != newest:
            yield from _shown(_text_behind(path, offset), _ALL)[0]
            path = None
        if newest is not None:
            path, offset = newest, offset if path else 0
            shown, read = _shown(_text_behind(path, offset), _ALL)
            yield from shown
            offset += read
        time.sleep(_POLL_S)


def _text_behind(path: Path, offset: int) -> bytes:
    """The text from `offset` on of a file that is being written, or has been compressed since; empty if it is gone."""
    with suppress(FileNotFoundError), path.open("rb") as source:
        source.seek(offset)
        return source.read()
    with suppress(FileNotFoundError):
        return _unpacked(path.with_suffix(".gz"))[offset:]
    return b""


def _unpacked(path: Path) -> bytes:
    """The text of a finished file."""
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CannotStart(f"{path} is damaged: {error}.") from error
