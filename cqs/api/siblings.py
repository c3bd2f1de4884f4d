"""How the workers of one server query each other: over Unix sockets in a shared folder.

    any worker ─► asks all others ─► adds up             request: one line, the question and its argument
                     <number>.sock                       response: the text, as a frame

A worker that does not answer in time, or dies in the middle of its response, is left out of the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cqs.frames import framed, take_frames
from cqs.service.fellows import Handler

ANSWER_S_MAX = 3.0
_SUFFIX = ".sock"


class Siblings:
    """Worker `number` and all others whose sockets are in `folder`: a worker's implementation of `Fellows`."""

    def __init__(self, folder: Path, number: int) -> None:
        self.name = str(number)
        self._folder = folder
        self._server: asyncio.Server | None = None
        self._handlers: dict[str, Handler] = {}

    def count(self) -> int:
        return len(self._paths())

    def answer(self, question: str, handler: Handler) -> None:
        self._handlers[question] = handler

    async def start(self) -> None:
        """Starts answering."""
        path = self._folder / f"{self.name}{_SUFFIX}"
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._hear, path)

    async def ask(self, question: str, about: str = "") -> Mapping[str, bytes]:
        paths = [path for path in self._paths() if path.stem != self.name]
        answers = await asyncio.gather(*(_ask(path, f"{question} {about}") for path in paths))
        return {path.stem: answer for path, answer in zip(paths, answers, strict=True) if answer}

    def close(self) -> None:
        """Idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob(f"*{_SUFFIX}"))

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(ANSWER_S_MAX):
                line = (await reader.readline()).decode(errors="replace").strip()
                question, _, about = line.partition(" ")
                handler = self._handlers.get(question)
                if handler is not None:
                    writer.write(framed(await handler(about)))
                    await writer.drain()
        writer.close()


async def _ask(path: Path, line: str) -> bytes:
    """b"" if there is no answer, or only part of one because the worker died in the meantime."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(ANSWER_S_MAX):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(line.replace("\n", " ").encode() + b"\n")
                answers = take_frames(bytearray(await reader.read()))
                return answers[0] if answers else b""
            finally:
                writer.close()
    return b""
