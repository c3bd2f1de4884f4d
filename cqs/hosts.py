"""Nodes of a cluster as commands take them: HOST[:PORT], separated by commas. An IPv6 address with a port is in
brackets."""

from __future__ import annotations

import re
from ipaddress import IPv6Address

_NAME = re.compile(r"(?P<name>[^][:\s]+)(?::(?P<port>[0-9]+))?")
_BRACKETS = re.compile(r"\[(?P<name>[^][]+)\](?::(?P<port>[0-9]+))?")


def hosts_of(text: str) -> tuple[tuple[str, ...], int | None]:
    """The hosts, without brackets, and their port, None if none is given. Raises ValueError, whose text says what is
    wrong."""
    found = [_host_of(one.strip()) for one in text.split(",")]
    ports = {port for _, port in found}
    if len(ports) > 1:
        raise ValueError("all nodes of a cluster must use the same port")
    return tuple(host for host, _ in found), ports.pop()


def with_port(host: str, port: int) -> str:
    """What `hosts_of` reads."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _host_of(text: str) -> tuple[str, int | None]:
    if _is_ipv6(text):
        return text, None
    found = _NAME.fullmatch(text) or _BRACKETS.fullmatch(text)
    if found is None or (text.startswith("[") and not _is_ipv6(found["name"])):
        raise ValueError(f"{text!r} is not HOST[:PORT]")
    return found["name"], None if found["port"] is None else int(found["port"])


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True
