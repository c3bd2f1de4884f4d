"""The sockets that a server listens on, opened before everything else.

Without authentication, anybody who reaches the port could purge every queue. So such a server listens beyond loopback
only if told to explicitly (`--open-to-network`).
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from dataclasses import replace

from cqs.config.settings import Listening
from cqs.errors import CannotStart, ConfigError

BACKLOG = 1_024
_ANY = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class _NoSuchAddress(CannotStart):
    """The machine does not have this address."""


def open_sockets(listening: Listening, *, is_checked: bool = False) -> list[socket.socket]:
    """One socket for each address of the host; port 0 becomes a free port, the same for all. Early connections wait in
    the backlog, and no second server can take the port meanwhile. An address that this machine lacks is left out if it
    has another: in a container, `localhost` often has an IPv6 address although IPv6 is off. `is_checked`: requests are
    authenticated. Raises ConfigError for an unknown host, or one open to the network without permission; CannotStart
    if the port is in use, or if the machine has none of the addresses."""
    addresses = addresses_of(listening, is_checked=is_checked)
    sockets: list[socket.socket] = []
    absent: list[_NoSuchAddress] = []
    port = listening.port
    try:
        for family, address in addresses:
            try:
                sockets.append(_bind(family, address, port))
            except _NoSuchAddress as error:
                absent.append(error)
            else:
                port = port or sockets[0].getsockname()[1]
        if not sockets:
            raise absent[0]
    except CannotStart:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def addresses_of(listening: Listening, *, is_checked: bool) -> list[tuple[int, str]]:
    """Family and address of each. Raises ConfigError like `open_sockets`."""
    addresses = _addresses_of(listening.host)
    is_open_allowed = is_checked or listening.is_open_to_network
    if not is_open_allowed and not all(_is_loopback(address) for _, address in addresses):
        raise ConfigError(
            f"host: {listening.host} is reachable from the network and no credentials are checked, so anyone could "
            "read and purge every queue; use 127.0.0.1, or --auth signed, or pass --open-to-network "
            "(CQS_OPEN_TO_NETWORK=true)"
        )
    return addresses


def endpoint_of(listening: Listening, port: int | None = None) -> str:
    """The server's URL for clients on this machine; `port` is the actual port if 0 was configured."""
    host = listening.host
    reachable = _ANY.get(host) or (f"[{host}]" if ":" in host else host)
    return f"{'https' if listening.tls_cert else 'http'}://{reachable}:{port or listening.port}"


def url_elsewhere(listening: Listening) -> str:
    """The server's URL for other machines, as far as this one can tell; "" if the port is not known yet."""
    if not listening.port:
        return ""
    is_any = listening.host in _ANY
    return endpoint_of(replace(listening, host=socket.gethostname()) if is_any else listening)


def _addresses_of(host: str) -> list[tuple[int, str]]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"host: {host!r} is neither an address of this machine nor a name that resolves") from error
    return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in found))


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _bind(family: int, address: str, port: int) -> socket.socket:
    try:
        opened = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _reason(error, address, port) from error
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((address, port))
        opened.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        opened.close()
        raise _reason(error, address, port) from error
    opened.setblocking(False)
    return opened


def _reason(error: OSError | OverflowError, address: str, port: int) -> CannotStart:
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.EADDRINUSE:
        return CannotStart(
            f"port {port} on {address} is in use; stop what uses it, or choose another (--port, CQS_PORT)"
        )
    if code == errno.EACCES:
        return CannotStart(f"port {port} on {address} needs privileges; choose one above 1023 (--port, CQS_PORT)")
    kind = _NoSuchAddress if code in _ABSENT else CannotStart
    return kind(f"can't listen on {address} port {port}: {os.strerror(code) if code else error}")
