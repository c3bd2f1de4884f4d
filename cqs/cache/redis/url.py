"""The address of a Redis server, as operators write it.

    redis://[user:password@]host[:port][/database]
    unix://[user:password@]/path/to/socket[?db=number]

`rediss://` is the first form over TLS. Nodes must agree on the servers, which they identify by address; if nodes reach
a server under different addresses, `#name` at the end identifies it.
"""

from __future__ import annotations

import ssl
from urllib.parse import parse_qs, unquote, urlsplit

from cqs.cache.redis.connection import Address
from cqs.errors import ConfigError

_FORMS = "redis://[user:password@]host[:port][/database], rediss://… or unix:///path"
_PORT = 6379


def parse(url: str, *, ca_file: str | None = None) -> Address:
    """Parses a URL. The certificate of a `rediss` server must be signed by the system's authorities, or by those in
    `ca_file`. Raises ConfigError, which never shows the password."""
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise ConfigError(f"{shown(url)!r} is not the address of a Redis server; write {_FORMS}")
    username, password = unquote(parts.username or ""), unquote(parts.password or "")
    if username and not password:
        raise ConfigError(f"{shown(url)!r} has a user without a password; write user:password@, or :password@")
    if parts.scheme == "unix":
        database = parse_qs(parts.query).get("db", ["0"])[0]
        if not parts.path.startswith("/") or parts.hostname:
            raise ConfigError(f"{shown(url)!r} has no socket path; write unix:///path/to/socket")
        return Address(
            path=unquote(parts.path),
            username=username,
            password=password,
            database=_number(url, database),
            name=unquote(parts.fragment),
        )
    if parts.query:
        raise ConfigError(f"{shown(url)!r} has query options, which are not supported; write {_FORMS}")
    return Address(
        host=_host(url, parts.hostname),
        port=_port(url),
        username=username,
        password=password,
        database=_number(url, parts.path.strip("/") or "0"),
        tls=_tls(url, ca_file) if parts.scheme == "rediss" else None,
        name=unquote(parts.fragment),
    )


def name_of(address: Address) -> str:
    """The server's name, which depends neither on the spelling of its address nor on the credentials."""
    if address.name:
        return address.name
    place = address.path or f"{address.host}:{address.port}"
    return f"{place}/{address.database}" if address.database else place


def shown(url: str) -> str:
    """The URL without its password, for logs and messages."""
    head, at, tail = url.rpartition("@")
    scheme, mark, login = head.partition("://")
    user, colon, _ = login.partition(":")
    return f"{scheme}{mark}{user}{colon}{'***' if colon else ''}{at}{tail}" if at else url


def _host(url: str, host: str | None) -> str:
    if not host:
        raise ConfigError(f"{shown(url)!r} has no host; write {_FORMS}")
    return host


def _port(url: str) -> int:
    try:
        port = urlsplit(url).port
    except ValueError as error:
        raise ConfigError(f"the port in {shown(url)!r} is not a number from 1 to 65535") from error
    return _PORT if port is None else port


def _number(url: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"the database in {shown(url)!r} is not a number; leave it out, or write 0 to 15")
    return int(text)


def _tls(url: str, ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ConfigError(f"the CA file {ca_file} for {shown(url)!r} can't be read: {error}") from error
