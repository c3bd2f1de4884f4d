"""Queue URLs: accepted with any host, generated with the host that the client used.

http://anything:1/a/123456789012/orders    accepted: the last two segments of the path count; host, port, query and the
                                           path of a public URL, which a proxy may strip from requests, are ignored
orders                                     accepted by `cqs.api.context`: the caller's own queue of that name
<scheme>://<host>[:<port>]/<account>/<name>      generated: a configured public URL, else X-Forwarded-*, else Host
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from cqs.api.request import Head
from cqs.queue import Queue, QueueName

NAMES_KEPT_MAX = 4_096
URL_LENGTH_MAX = 2_048
"""A longer URL names no queue and is not cached: a request may contain megabytes."""
_QUEUE_PATH = re.compile(r"(?:/[^?#]*)?/([0-9]{12})/([^/?#]{1,240})/?(?:[?#].*)?", re.DOTALL)
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*(?=/)")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?")
_PORT = re.compile(r"[0-9]{1,5}")
_USUAL_PORTS = {"http": "80", "https": "443"}
_FALLBACK_HOST = "localhost"


def name_of_url(url: str) -> QueueName | None:
    """Which queue a queue URL, or just its path, names; None when it names none."""
    return _name_of_url(url) if len(url) <= URL_LENGTH_MAX else None


@lru_cache(maxsize=NAMES_KEPT_MAX)
def _name_of_url(url: str) -> QueueName | None:
    path = url if url.startswith("/") and not url.startswith("//") else url[_url_end(url) :]
    match = _QUEUE_PATH.fullmatch(path)
    if match is None:
        return None
    return QueueName(match[1], unquote(match[2]) if "%" in match[2] else match[2])


def path_of(target: bytes) -> str:
    """The path of a request target, which may also be a whole URL; without the query."""
    text = target.partition(b"?")[0].decode("latin-1")
    return text if text.startswith("/") else text[_url_end(text) :]


def _url_end(url: str) -> int:
    """Where the path starts."""
    match = _URL.match(url)
    return 0 if match is None else match.end()


def url_of(base: str, queue: Queue) -> str:
    return f"{base}/{queue.account}/{queue.name}"


class BaseUrls:
    """The base of generated queue URLs. `public_url` "" = the host that the client used."""

    def __init__(self, public_url: str = "", *, is_forwarded_trusted: bool = True, scheme: str = "http") -> None:
        self._public_url = public_url.rstrip("/")
        self._is_forwarded_trusted = is_forwarded_trusted
        self._scheme = scheme

    def of(self, head: Head) -> str:
        if self._public_url:
            return self._public_url
        host = _valid_host(head.get(b"host", b""))
        scheme = self._scheme
        if self._is_forwarded_trusted and (b"x-forwarded-host" in head or b"x-forwarded-proto" in head):
            scheme = "https" if _first(head.get(b"x-forwarded-proto", b"")).lower() == "https" else "http"
            host = _valid_host(_first(head.get(b"x-forwarded-host", b"")).encode()) or host
            port = _first(head.get(b"x-forwarded-port", b""))
            if _PORT.fullmatch(port) and port != _USUAL_PORTS[scheme] and not re.search(r":[0-9]+\Z", host):
                host = f"{host}:{port}"
        return f"{scheme}://{host or _FALLBACK_HOST}"


def _valid_host(value: bytes) -> str:
    """The host as text, "" when it is not a valid one: it is sent back in URLs."""
    text = value.decode("latin-1").strip()
    return text if _HOST.fullmatch(text) else ""


def _first(value: bytes) -> str:
    """The first element of a comma-separated list: the one added by the proxy closest to the client."""
    return value.decode("latin-1").partition(",")[0].strip()
