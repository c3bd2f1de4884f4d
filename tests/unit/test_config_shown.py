"""`cqs config` shows everything but secrets."""

from __future__ import annotations

import pytest

from cqs.config import load, report
from cqs.config.settings import settings
from cqs.config.values import MASK


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis://127.0.0.1:6379/2#main", "redis://127.0.0.1:6379/2#main"),
        ("rediss://[::1]", "rediss://[::1]"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock?db=1"),
        ("spawn", "spawn"),
        ("redis://:sesame@host:1/2", f"redis://{MASK}@host:1/2"),
        ("redis://user:sesame@user:sesame@host", f"redis://{MASK}@host"),
        ("unix://:sesame@/run/redis.sock", f"unix://{MASK}@/run/redis.sock"),
        ("redis://:sesame", f"redis://{MASK}"),
        ("redis://user:sesame#x", f"redis://{MASK}"),
        ("redis://host?password=sesame", f"redis://{MASK}"),
        ("redis://host/0?db=sesame", f"redis://{MASK}"),
    ],
)
def test_address_of_redis_is_shown_without_what_may_be_a_password(url: str, told: str) -> None:
    loaded = load({"redis": f"{url},redis://b"}, {})

    assert report.rows(loaded)[[one.name for one in settings()].index("redis")][1] == f"{told},redis://b"
    assert "sesame" not in report.as_text(loaded) + report.as_json(loaded)
