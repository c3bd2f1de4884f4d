"""The kinds of values that settings have: how each is parsed, shown, and described.

Flags and environment variables supply text; a TOML file supplies text, numbers, booleans or lists. The same function
parses both. It raises ValueError for an invalid value, and `Kind.expects` then describes a valid one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

from cqs.proxies import Network

_SIZE = re.compile(r"([0-9]{1,18})\s*((?:[kmg]i?)?)b?", re.IGNORECASE)
_SIZE_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_SHOWN_UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("GiB", 1 << 30), ("MiB", 1 << 20))
_DURATION = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*(ms|s|m|h|)", re.IGNORECASE)
_DURATION_UNITS = {"ms": 1, "s": 1_000, "": 1_000, "m": 60_000, "h": 3_600_000}
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_NAME_PATTERN = re.compile(r"[A-Za-z0-9_.*?-]{1,80}")
MASK = "********"
_PLACE = re.compile(
    r"((\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?)?(/[A-Za-z0-9._/-]*)?(\?db=[0-9]+)?(#[A-Za-z0-9._-]+)?"
)
"""A server's address, as far as it surely holds no password."""
_ORIGIN = re.compile(r"https?://(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5}|:\*)?|null|\*")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value. `read` returns the value or raises ValueError; `show` formats it as a user would type it;
    `mask` formats a secret for everybody."""

    name: str
    expects: str
    read: Callable[[object], object]
    show: Callable[[object], str] = str
    is_switch: bool = False
    is_list: bool = False
    is_secret: bool = False
    mask: Callable[[object], str] = lambda value: MASK if value else ""

    def told(self, value: object) -> str:
        """As a user would type it, without what is secret."""
        return self.mask(value) if self.is_secret else self.show(value)


def text(name: str = "text", *, pattern: str = ".*", expects: str = "a string", is_secret: bool = False) -> Kind:
    """Text that matches `pattern` completely."""
    compiled = re.compile(pattern)

    def read(given: object) -> str:
        if not isinstance(given, str) or not compiled.fullmatch(given):
            raise ValueError
        return given

    return Kind(name, expects, read, is_secret=is_secret)


def path(name: str, expects: str, *, is_needed: bool = False) -> Kind:
    """The path of a file or folder, on one line; a leading `~` must resolve to a user's home. "" = none, unless it is
    required."""

    def read(given: object) -> str:
        if not isinstance(given, str) or not re.fullmatch(r"[^\n\0]*", given) or (is_needed and not given):
            raise ValueError
        with_home(given)
        return given

    return Kind(name, expects, read)


def with_home(given: str) -> Path:
    """The path with its `~` expanded. Raises ValueError if there is no such user."""
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def integer(low: int, high: int) -> Kind:
    """A whole number from `low` to `high`."""

    def read(given: object) -> int:
        number = int(given) if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,18}", given) else given
        if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
            raise ValueError
        return number

    return Kind("number", f"a whole number from {low} to {high}", read)


def switch() -> Kind:
    """True or false."""

    def read(given: object) -> bool:
        value = _WORDS.get(given.lower()) if isinstance(given, str) else given
        if not isinstance(value, bool):
            raise ValueError
        return value

    return Kind("switch", "true or false", read, lambda value: "true" if value else "false", is_switch=True)


def choice(*words: str) -> Kind:
    """One of the words."""

    def read(given: object) -> str:
        if not isinstance(given, str) or given.lower() not in words:
            raise ValueError
        return given.lower()

    return Kind("|".join(words), "one of " + ", ".join(words), read)


def size(low: int, high: int) -> Kind:
    """A size in bytes, with an optional unit (kB, MB, GB: powers of 1,000; KiB, MiB, GiB: powers of 1,024)."""

    def read(given: object) -> int:
        count = given
        if isinstance(given, str):
            match = _SIZE.fullmatch(given.strip())
            if match is None:
                raise ValueError
            count = int(match[1]) * _SIZE_UNITS[match[2].lower()]
        if not isinstance(count, int) or isinstance(count, bool) or not low <= count <= high:
            raise ValueError
        return count

    expects = f'a size from {show_size(low)} to {show_size(high)}, such as "256MB" or "256MiB"'
    return Kind("size", expects, read, show_size)


def duration(low_ms: int, high_ms: int) -> Kind:
    """A time in ms: seconds, or a number with a unit (ms, s, m, h)."""

    def read(given: object) -> int:
        match = _DURATION.fullmatch(str(given).strip()) if isinstance(given, str | int | float) else None
        if match is None or isinstance(given, bool):
            raise ValueError
        time_ms = round(float(match[1]) * _DURATION_UNITS[match[2].lower()])
        if not low_ms <= time_ms <= high_ms:
            raise ValueError
        return time_ms

    expects = f'a time from {show_duration(low_ms)} to {show_duration(high_ms)}, such as "10s" (s, ms, m, h)'
    return Kind("time", expects, read, show_duration)


def origins() -> Kind:
    """Web origins, as a TOML list or separated by commas."""
    return _list(_ORIGIN, 'web origins such as "http://localhost:3000"')


def name_patterns() -> Kind:
    """Queue names with `*` and `?`, as a TOML list or separated by commas."""
    return _list(_NAME_PATTERN, 'names of queues such as "orders-*"')


def networks() -> Kind:
    """Addresses and networks, as a TOML list or separated by commas."""
    texts = _list(re.compile(r"[0-9A-Fa-f:./]{2,60}"), 'addresses or networks such as "10.0.0.0/8"')

    def read(given: object) -> tuple[Network, ...]:
        chosen = texts.read(given)
        assert isinstance(chosen, tuple)
        return tuple(ip_network(text) for text in chosen)

    return replace(texts, read=read)


def listed(pattern: str, expects: str) -> Kind:
    """Texts that each match `pattern` completely, as a TOML list or separated by commas."""
    return _list(re.compile(pattern), expects)


def addresses(pattern: str, expects: str) -> Kind:
    """As `listed`, for URLs that may hold a password."""

    def mask(given: object) -> str:
        return ",".join(map(without_login, given)) if isinstance(given, tuple) else MASK

    return replace(listed(pattern, expects), is_secret=True, mask=mask)


def without_login(url: str) -> str:
    """The URL with its user and password masked; all but its scheme, where it is not of the usual form."""
    scheme, mark, rest = url.partition("://")
    _, at, place = rest.rpartition("@")
    if not _PLACE.fullmatch(place):
        return f"{scheme}{mark}{MASK}"
    return f"{scheme}{mark}{MASK if at else ''}{at}{place}"


def _list(pattern: re.Pattern[str], expects: str) -> Kind:
    def read(given: object) -> tuple[str, ...]:
        parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
        if not isinstance(parts, list):
            raise ValueError
        chosen = tuple(part for part in parts if part != "")
        if not all(isinstance(part, str) and pattern.fullmatch(part) for part in chosen):
            raise ValueError
        return chosen

    return Kind(
        "list", f"{expects}; several are separated by commas, or an array in TOML", read, _show_list, is_list=True
    )


def base_url() -> Kind:
    """An http(s) URL with scheme, host, port and an optional path; or "" for none."""

    def read(given: object) -> str:
        if not isinstance(given, str):
            raise ValueError
        parts = urlsplit(given)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        if (given and not is_usable) or re.search(r"[\s\x00-\x1f]", given):
            raise ValueError
        return given.rstrip("/")

    return Kind("URL", 'a URL such as "https://queues.example.org"', read)


def show_size(value: object) -> str:
    """The size in the largest unit that divides it."""
    if isinstance(value, int) and value:
        for unit, factor in _SHOWN_UNITS:
            if value % factor == 0:
                return f"{value // factor}{unit}"
    return str(value)


def show_duration(value: object) -> str:
    """The duration in seconds if that is exact, else in milliseconds."""
    if isinstance(value, int) and value % 1_000 == 0:
        return f"{value // 1_000}s"
    return f"{value}ms"


def _show_list(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
