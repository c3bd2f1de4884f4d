"""Texts that attack the page that shows them, and a parser that detects whether a page let one through."""

from __future__ import annotations

from html.parser import HTMLParser

TEXTS = (
    "<script>alert(1)</script>",
    "</pre></textarea></title></script><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "<svg onload=alert(5)>",
    "javascript:alert(6)",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    '=HYPERLINK("http://evil.example")',
    "\x1b[31mred\x1b[0m",
    "\u202egnp.exe",
    "<a href=//evil.example data-hx-get=//evil.example hx-get=//evil.example>x</a>",
    "]]>&amp;&lt;&#60;script&#62;",
    "\r\nSet-Cookie: a=b",
    "<iframe srcdoc='<script>alert(8)</script>'>",
    '{"a": "</script><script>alert(9)</script>", "error": "<b>bold</b>"}',
)
PLAIN_TEXTS = tuple(text for text in TEXTS if text.isprintable())
"""The texts that SQS accepts: no control characters."""

_RUNNING = {"script", "iframe", "object", "embed", "base", "style", "link"}
_FETCHING = (
    "src",
    "href",
    "action",
    "formaction",
    "hx-get",
    "hx-post",
    "data-hx-get",
    "data-hx-post",
    "srcdoc",
    "poster",
)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "link") and not str(values.get("src", values.get("href", ""))).startswith(
            "/ADMIN/static/"
        ):
            self.wrong.append(f"{tag} {attrs}")
        if tag in _RUNNING - {"script", "link"} and not (tag == "iframe" and "sandbox" in values):
            self.wrong.append(f"{tag} {attrs}")
        for name, value in attrs:
            if name.startswith(("on", "style", "data-hx-on", "hx-on")):
                self.wrong.append(f"{tag} {name}={value}")
            if name in _FETCHING and not is_ours(value or ""):
                self.wrong.append(f"{tag} {name}={value}")


def is_ours(address: str) -> bool:
    """Whether an address stays within the console or on its host."""
    return address.startswith(("/ADMIN", "#")) or address.startswith("http://127.0.0.1:")


def let_through(page: str) -> list[str]:
    """Returns all scripts, styles and links of the page that are not the console's own."""
    reader = _Reader()
    reader.feed(page)
    return reader.wrong
