"""Addresses of Redis servers as operators write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cqs.cache.redis.connection import Address
from cqs.cache.redis.url import name_of, parse, shown
from cqs.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://localhost", Address(host="localhost")),
        ("redis://10.0.0.7:6380/3", Address(host="10.0.0.7", port=6380, database=3)),
        ("redis://[::1]:6380", Address(host="::1", port=6380)),
        ("redis://:secret@cache/", Address(host="cache", password="secret")),
        ("redis://cqs:s%40c%2Fret@cache:1/0", Address(host="cache", port=1, username="cqs", password="s@c/ret")),
        ("unix:///run/redis.sock", Address(path="/run/redis.sock")),
        ("unix:///run/my%20redis.sock?db=2", Address(path="/run/my redis.sock", database=2)),
        ("unix://:secret@/run/redis.sock", Address(path="/run/redis.sock", password="secret")),
    ],
)
def test_address_is_read(url: str, address: Address) -> None:
    assert parse(url) == address


def test_rediss_is_tls_that_checks_certificates() -> None:
    address = parse("rediss://cache:6390")

    assert (address.host, address.port) == ("cache", 6390)
    assert address.tls is not None and address.tls.check_hostname


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "is not the address"),
        ("localhost:6379", "is not the address"),
        ("http://cache", "is not the address"),
        ("redis://", "has no host"),
        ("redis:///0", "has no host"),
        ("redis://cache:99999", "port"),
        ("redis://cache:port", "port"),
        ("redis://cache/first", "database"),
        ("redis://cache/-1", "database"),
        ("redis://cache?db=1", "options"),
        ("redis://user@cache", "without a password"),
        ("unix://", "has no socket path"),
        ("unix://run/redis.sock", "has no socket path"),
        ("unix:///run/redis.sock?db=x", "database"),
    ],
)
def test_bad_address_is_told_in_words(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse(url)


def test_password_is_never_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        parse("redis://cqs:hunter2@cache:nonsense")

    assert "hunter2" not in str(caught.value)
    assert shown("redis://cqs:hunter2@cache/1") == "redis://cqs:***@cache/1"
    assert shown("redis://cache") == "redis://cache"


def test_file_of_authorities_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        parse("rediss://cache", ca_file=str(tmp_path / "missing.pem"))


@pytest.mark.parametrize(
    ("urls", "name"),
    [
        (("redis://h", "redis://h:6379", "rediss://h/0", "redis://:secret@h:6379", "redis://me:secret@h"), "h:6379"),
        (("redis://h:6380/2", "redis://:secret@h:6380/2"), "h:6380/2"),
        (("unix:///run/a/r.sock#main", "redis://127.0.0.1:7001#main", "redis://:secret@h/3#main"), "main"),
        (("unix:///run/r.sock", "unix://:secret@/run/r.sock?db=0"), "/run/r.sock"),
    ],
)
def test_server_has_one_name_however_it_is_written(urls: tuple[str, ...], name: str) -> None:
    assert {name_of(parse(url)) for url in urls} == {name}
