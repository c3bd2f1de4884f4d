"""What the workers of one server ask each other: the text of their metrics, over unix sockets in a folder they share.

    scrape ─► any worker ─► its own text + theirs ─► one page        asked: an Accept header on a line
                              <number>.sock                          answered: the text, then the end

A worker that does not answer in time is left out of that page; its series go on in the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

ANSWER_S_MAX = 3.0
_SUFFIX = ".sock"


class Siblings:
    """Worker `number` and all others whose sockets lie in `folder`."""

    def __init__(self, folder: Path, number: int) -> None:
        self.name = str(number)
        self._folder = folder
        self._server: asyncio.Server | None = None

    async def start(self, text_of: Callable[[str], Awaitable[bytes]]) -> None:
        """Answers from now on; `text_of` makes this worker's text for an Accept header."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(ANSWER_S_MAX):
                    accept = (await reader.readline()).decode(errors="replace").strip()
                    writer.write(await text_of(accept))
                    await writer.drain()
            writer.close()

        path = self._folder / f"{self.name}{_SUFFIX}"
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(answer, path)

    async def texts(self, accept: str) -> dict[str, bytes]:
        """The others' texts, by their numbers."""
        paths = [path for path in sorted(self._folder.glob(f"*{_SUFFIX}")) if path.stem != self.name]
        answers = await asyncio.gather(*(_ask(path, accept) for path in paths))
        return {path.stem: answer for path, answer in zip(paths, answers, strict=True) if answer}

    def close(self) -> None:
        """Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None


async def _ask(path: Path, accept: str) -> bytes:
    """b"" when there is no answer."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(ANSWER_S_MAX):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(accept.replace("\n", " ").encode() + b"\n")
                return await reader.read()
            finally:
                writer.close()
    return b""
