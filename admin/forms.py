"""Reads forms within bounds: UTF-8, a maximum number of bytes and of fields. Forms are untrusted input.

An invalid value raises `BadInput`, which names the field by its label on the page; the page shows the error beside the
form, which keeps everything that was entered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol
from urllib.parse import parse_qsl

from aiohttp import web

from cqs.errors import CqsError

FIELDS_MAX = 2_500
SMALL_BYTES_MAX = 256_000
_DIGITS_MAX = 15


class BadInput(CqsError):
    """A form's value is invalid. The text says which and why."""


class TooLarge(CqsError):
    """The form has more bytes or fields than this page accepts."""

    @classmethod
    def than(cls, bytes_max: int) -> TooLarge:
        return cls(f"This form takes at most {bytes_max:,} bytes.")


class Form:
    """Fields of a form, in order; a name may occur several times."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._last = dict(pairs)

    def text(self, name: str, default: str = "") -> str:
        """As entered, with line ends as "\\n" only (browsers send both characters)."""
        return self._last.get(name, default).replace("\r\n", "\n")

    def word(self, name: str, default: str = "") -> str:
        """Without surrounding spaces."""
        return self.text(name, default).strip()

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def has(self, name: str) -> bool:
        return name in self._last

    def is_on(self, name: str) -> bool:
        """Whether a checkbox is ticked."""
        return self._last.get(name, "") not in ("", "0", "false", "off")

    def number(self, name: str, label: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number in a range. Raises BadInput."""
        text = self.word(name)
        if not text and default is not None:
            return default
        digits = text.replace(",", "").replace(" ", "")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX and low <= int(digits) <= high):
            raise BadInput(f"{label}: a whole number from {low:,} to {high:,} is needed.")
        return int(digits)

    def chosen(self, name: str, label: str, choices: tuple[str, ...], default: str = "") -> str:
        """One of the choices. Raises BadInput."""
        text = self.word(name, default)
        if text not in choices:
            raise BadInput(f"{label}: it must be one of {', '.join(choices)}.")
        return text


class Upload(Protocol):
    """The body of a form being received. It occupies a place in the server's room for requests until `leave`."""

    async def read(self) -> bytes:
        """All of it; call it once. Raises TooLarge, BadInput for a body that is cut off or sent too slowly, and
        ServiceUnavailable when there is no room for it."""

    def leave(self) -> None:
        """Idempotent."""


Receive = Callable[[web.BaseRequest, int], Upload]
"""Returns the body of a request, of at most the given number of bytes."""


async def read_form(request: web.BaseRequest, upload: Upload, bytes_max: int) -> Form:
    """The parsed form. Raises TooLarge, BadInput, ServiceUnavailable."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise BadInput("A form is needed.")
    if (request.content_length or 0) > bytes_max:
        raise TooLarge.than(bytes_max)
    return parse_form(await upload.read())


def parse_form(body: bytes) -> Form:
    """Raises TooLarge for too many fields, BadInput for invalid UTF-8."""
    if body.count(b"&") >= FIELDS_MAX:
        raise TooLarge(f"A form has at most {FIELDS_MAX:,} fields.")
    try:
        return Form(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict"))
    except (UnicodeDecodeError, ValueError) as error:
        raise BadInput("The form is not in UTF-8.") from error
