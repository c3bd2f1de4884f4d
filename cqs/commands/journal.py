"""`cqs journal`: lists the journal's files, shows its latest events and frees disk space, with or without a running
server."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
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


def _placed(inner: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say where the journal is."""
    config = click.option("--config", "config_path", metavar="FILE", help="TOML file with settings; also CQS_CONFIG.")
    folder = click.option(
        "--dir", "folder", metavar="FOLDER", help="Directory of the journal. [default: from the settings]"
    )
    return folder(config(inner))


def _in_folder(inner: Callable[..., None]) -> Callable[..., None]:
    """A command on the journal's folder, whose options may be given before the command's name, too."""

    @_placed
    @wraps(inner)
    def run(folder: str | None, config_path: str | None, **options: object) -> None:
        before: dict[str, str | None] = click.get_current_context().obj
        inner(_folder_of(folder or before["folder"], config_path or before["config_path"]), **options)

    return run


def _folder_of(folder: str | None, config_path: str | None) -> Path:
    if folder is None:
        config = loaded_settings({"config_path": config_path}).config
        folder = config.journaling.journal_dir or str(Path(config.storage.data_dir) / "journal")
    try:
        return values.with_home(folder)
    except ValueError as error:
        raise click.UsageError(f"{folder}: {error}") from error


@click.group()
@_placed
@click.pass_context
def command(ctx: click.Context, /, **place: str | None) -> None:
    """List, follow and prune the event journal, which `cqs serve --journal full` writes."""
    ctx.obj = place


@command.command("list")
@_in_folder
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
@click.option("-f", "--follow", is_flag=True, help="Print new events of all workers as they are written, until Ctrl-C.")
@_in_folder
def tail(folder: Path, count: int, follow: bool) -> None:
    """Print the last events of the newest file in order, one JSON object per line."""
    (_refuse_parent if follow else _refuse_missing)(folder)
    found = sorted(files_of(folder), key=_is_open)
    read = 0
    if found:
        shown, read = _shown(_text_of_file(found[-1], 0), count)
        for text in shown:
            click.echo(text)
    if follow:
        for text in _followed(folder, _ends_of(found, read)):
            click.echo(text)


@command.command()
@click.option(
    "--keep",
    required=True,
    metavar="SIZE",
    help='Total size of closed files to keep, such as "1GB"; 0 deletes them all.',
)
@_in_folder
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


def _is_open(file: JournalFile) -> bool:
    """A file that is being written is newer than finished ones, whatever the clock was when those began."""
    return not file.is_finished


def _refuse_missing(folder: Path) -> None:
    if not folder.is_dir():
        raise CannotStart(
            f"There is no journal in {folder}: `cqs serve --journal full` writes one; "
            "`cqs journal --dir FOLDER list` looks elsewhere."
        )
    _refuse_parent(folder)


def _refuse_parent(folder: Path) -> None:
    """A data directory is not the journal that is in it."""
    inside = folder / "journal"
    if inside.is_dir() and not files_of(folder):
        raise CannotStart(f"{folder} has no journal files: name {inside}, which is in it.")


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


def _ends_of(found: list[JournalFile], read: int) -> dict[Path, int | None]:
    """By name, where each file ends that was found: `read` is the offset in the latest one. None: it is finished."""
    ends = {_name_of(file): None if file.is_finished else _shown(_text_of_file(file, 0), 0)[1] for file in found[:-1]}
    return ends | {_name_of(file): None if file.is_finished else read for file in found[-1:]}


def _followed(folder: Path, ends: dict[Path, int | None]) -> Iterator[str]:
    """Yields events as they are written to any file of the folder, by any worker, behind these ends."""
    while True:
        for file in files_of(folder):
            name = _name_of(file)
            end = ends.get(name, 0)
            if end is not None:
                shown, read = _shown(_text_of_file(file, end), _ALL)
                yield from shown
                ends[name] = None if file.is_finished else end + read
        time.sleep(_POLL_S)


def _name_of(file: JournalFile) -> Path:
    """The same before and after it is finished."""
    return file.path.with_suffix("")


def _text_of_file(file: JournalFile, offset: int) -> bytes:
    """The text from `offset` on of a file, which may have been compressed since it was listed; empty if it is gone."""
    if not file.is_finished:
        with suppress(FileNotFoundError), file.path.open("rb") as source:
            source.seek(offset)
            return source.read()
    with suppress(FileNotFoundError):
        return _unpacked(file.path.with_suffix(".gz"))[offset:]
    return b""


def _unpacked(path: Path) -> bytes:
    """The text of a finished file."""
    try:
        return gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CannotStart(f"{path} is damaged: {error}.") from error
