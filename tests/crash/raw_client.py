"""A minimal SQS client: one keep-alive connection, the JSON protocol, and a distinct error for unknown outcomes."""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Any, Self


class ConnectionLost(Exception):
    """No response came: the call may or may not have taken effect."""


class Refused(Exception):
    """The server responded with an error. A 4xx means that nothing was done."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        super().__init__(f"{status} {answer}")
        self.status = status


class RawClient:
    """Not safe for concurrent calls: use one client per task."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def call(self, action: str, **members: Any) -> dict[str, Any]:
        """Returns the response. Raises Refused or ConnectionLost."""
        try:
            status, body = await self._exchange(action, json.dumps(members).encode())
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            self.close()
            raise ConnectionLost(action) from error
        answer = dict(json.loads(body or b"{}"))
        if status != 200:
            raise Refused(status, answer)
        return answer

    async def _exchange(self, action: str, body: bytes) -> tuple[int, bytes]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nX-Amz-Target: AmazonSQS.{action}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        return int(head[0].split()[1]), await self._reader.readexactly(int(headers["content-length"]))
