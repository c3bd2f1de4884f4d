"""The interface between dispatch and a protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from cqs.api.error_table import WireError
from cqs.api.operations import Operation
from cqs.api.request import Head, Reply, Request
from cqs.api.shapes.shape import Shape

REQUEST_ID = b"x-amzn-RequestId"
Undelivered = Callable[[], Awaitable[None]] | None


class Codec(Protocol):
    """Reads requests and writes replies. Stateless."""

    async def read(self, request: Request, head: Head) -> tuple[Operation, Shape]:
        """The action and its input. Raises SqsError."""

    def action_of(self, request: Request, head: Head) -> str:
        """The action that the request names, found without decoding the request; "" = none, or an unknown one."""

    def answer(self, operation: Operation, output: Shape | None, request_id: str, undelivered: Undelivered) -> Reply:
        """A success; `output` None = the action has no output."""

    def refuse(self, entry: WireError, text: str, request_id: str) -> Reply:
        """An error."""
