"""Downloads: tables as CSV, queues as TOML that `cqs serve` can read (`[[queue]]`).

A spreadsheet evaluates a cell that starts like a formula, and message bodies are untrusted: a quote is put before what
starts one. It may stand in the middle of a text, too: where lists are separated by semicolons or tabs, a spreadsheet
ignores our commas and quotes, and starts a cell after each of its own separators and each line break. Files are sent as
attachments, never displayed.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from aiohttp import web

from admin.wire_attributes import attributes_of
from cqs.queue import Queue, name_of_arn

_BLANK = ("\t", "\r", "\n", "\0")
_CELL_START = re.compile(r'((?:\A|[;\t\r\n])[\s\0";]*+)(?=([=+\-@\uff1d\uff0b\uff0d\uff20])?)')
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_PLAIN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def attachment(content: bytes, name: str, content_type: str) -> web.Response:
    """The bytes as a download with this name."""
    plain = _PLAIN_NAME.sub("_", name)[:120] or "file"
    response = web.Response(body=content)
    response.headers["Content-Type"] = content_type
    response.headers["Content-Disposition"] = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name[:200])}"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


async def table(name: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> web.Response:
    """The rows as a CSV download, written in a thread: they may be megabytes, and the event loop must not block."""
    content = await asyncio.to_thread(as_csv, head, rows)
    return attachment(content, name, "text/csv; charset=utf-8")


def as_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A table for spreadsheets, in UTF-8 with a byte order mark."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace")


def as_toml(queues: Iterable[Queue], home: str) -> bytes:
    """The queues as the configuration file declares them; defaults are omitted."""
    return "\n".join(_declared(queue, home) for queue in queues).encode()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    if _NUMBER.fullmatch(text):
        return text
    harmless = _CELL_START.sub(lambda start: start[1] + ("'" if start[2] else ""), text)
    return "'" + harmless if harmless.startswith(_BLANK) else harmless


def _declared(queue: Queue, home: str) -> str:
    settings = queue.settings
    lines = ["[[queue]]", f"name = {_string(queue.name)}"]
    if queue.account != home:
        lines.append(f"account = {_string(queue.account)}")
    redrive = settings.redrive
    target = name_of_arn(redrive.target_arn) if redrive is not None else None
    if redrive is not None and target is not None:
        lines.append(f"dead_letter = {_string(target.name)}")
        lines.append(f"max_receive_count = {redrive.receive_count_max}")
    attributes = {name: text for name, text in attributes_of(settings).items() if name != "RedrivePolicy"}
    if attributes:
        lines.append(f"attributes = {_table(attributes)}")
    if queue.tags:
        lines.append(f"tags = {_table(queue.tags)}")
    return "\n".join(lines) + "\n"


def _table(texts: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{_string(name)} = {_string(text)}" for name, text in texts.items()) + " }"


def _string(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
