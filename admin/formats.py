"""Formats numbers, sizes, times and texts: the filters of the templates. Pure."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from math import isfinite

from cqs.plural import plural

_STEPS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_SIZES = ("B", "kB", "MB", "GB", "TB")
_BIG = ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k"))
NOTHING = "\u2013"
_INVISIBLE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def number(value: float | None) -> str:
    """12,345; with a fraction only below ten."""
    if value is None or not isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 10 else f"{value:,.1f}"


def counted(value: float, one: str, many: str = "") -> str:
    """12,345 messages; 1 message. `many`: for plurals that do not just add an s."""
    return f"{number(value)} {plural(value, one, many)}"


def times(count: int) -> str:
    """once; 12 times"""
    return "once" if count == 1 else counted(count, "time")


def short_number(value: float | None) -> str:
    """1.2M: at most five characters, for narrow columns; put the full number in a title attribute."""
    if value is None or not isfinite(value):
        return NOTHING
    for size, unit in _BIG:
        if abs(value) >= size:
            step = 1_000 if unit == "k" else size
            shown = value / step
            return f"{shown:.0f}{unit}" if shown >= 100 else f"{shown:.1f}{unit}"
    return number(value)


def rate(per_s: float | None) -> str:
    """Events per second."""
    if per_s is None or not isfinite(per_s):
        return NOTHING
    if per_s == 0:
        return "0"
    return f"{per_s:.2f}" if per_s < 1 else f"{per_s:.1f}" if per_s < 100 else short_number(round(per_s))


def duration(ms: float | None) -> str:
    """The two largest units: "2 h 5 min", "45 s", "300 ms"."""
    if ms is None:
        return NOTHING
    left = int(abs(ms))
    if left < 1_000:
        return f"{left} ms"
    parts: list[str] = []
    for size, unit in _STEPS:
        count, rest = divmod(left, size)
        if count or parts:
            if count:
                parts.append(f"{count} {unit}")
            left = rest
            if len(parts) == 2 or not count:
                break
    return " ".join(parts)


def seconds(value: float | None) -> str:
    """A short time: 250 µs, 2.5 ms, 1.2 s."""
    if value is None or not isfinite(value):
        return NOTHING
    for unit, step in (("s", 1.0), ("ms", 1e-3), ("\u00b5s", 1e-6)):
        if value >= step:
            return f"{value / step:.3g} {unit}"
    return "0 s"


def size(count: float | None) -> str:
    """Bytes, in steps of 1,024."""
    if count is None:
        return NOTHING
    shown, place = float(count), 0
    while shown >= 1_024 and place < len(_SIZES) - 1:
        shown, place = shown / 1_024, place + 1
    return f"{shown:.0f} {_SIZES[place]}" if place == 0 or shown >= 100 else f"{shown:.1f} {_SIZES[place]}"


def iso(ms: int | None) -> str:
    """2026-01-31T12:00:00.000Z; "" for none, or for a time outside the calendar."""
    if not ms:
        return ""
    try:
        moment = datetime.fromtimestamp(ms / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1_000:03}Z"


def clock(ms: int | None) -> str:
    """2026-01-31 12:00:00, in UTC."""
    return iso(ms)[:19].replace("T", " ") or NOTHING


def ago(ms: int | None, now_ms: int) -> str:
    """How long before or after now."""
    if not ms:
        return NOTHING
    difference = now_ms - ms
    if abs(difference) < 1_000:
        return "now"
    return f"{duration(difference)} ago" if difference > 0 else f"in {duration(difference)}"


def percent(share: float | None) -> str:
    """99.9 %"""
    if share is None or not isfinite(share):
        return NOTHING
    return f"{share * 100:.1f} %" if share not in (0.0, 1.0) else f"{share * 100:.0f} %"


def visible(text: str) -> str:
    """The text with invisible characters made visible, so that no text looks like another: control characters,
    directional marks, private-use and unpaired ones become ⟨U+202E⟩. Line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"⟨U+{ord(one):04X}⟩" if unicodedata.category(one) in _INVISIBLE and one not in "\n\r\t" else one
        for one in text
    )


def cut(text: str, length: int) -> str:
    """At most `length` characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def glimpse(text: str, length: int) -> str:
    """Like `visible`, but at most `length` characters; the rest is not processed."""
    return cut(visible(text[: length + 1]), length)


FILTERS = {
    "glimpse": glimpse,
    "number": number,
    "counted": counted,
    "plural": plural,
    "times": times,
    "short_number": short_number,
    "rate": rate,
    "duration": duration,
    "size": size,
    "seconds": seconds,
    "iso": iso,
    "clock": clock,
    "ago": ago,
    "percent": percent,
    "visible": visible,
    "cut": cut,
}
