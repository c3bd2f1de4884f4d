"""Serializes replies, with the same header fields that aiohttp would write, in its order."""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus

from cqs.api.request import Reply

SERVER = "cqs"
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_SERVER_FIELD = f"Server: {SERVER}\r\nContent-Length: ".encode()


class ReplyWriter:
    """Writes for all lanes of a process; the Date header is recomputed once per second."""

    def __init__(self) -> None:
        self._date_s = -1.0
        self._end = b""

    def bytes_of(self, reply: Reply, now_s: float) -> bytes:
        """`now_s`: any monotonic clock."""
        if now_s - self._date_s >= 1 or self._date_s < 0:
            self._date_s = float(int(now_s))
            self._end = f"\r\nDate: {formatdate(usegmt=True)}\r\n\r\n".encode()
        fields = b"".join([b"%b: %b\r\n" % field for field in reply.headers])
        return b"%b%b%b%d%b%b" % (
            _STATUS_LINES[reply.status],
            fields,
            _SERVER_FIELD,
            len(reply.body),
            self._end,
            reply.body,
        )
