"""Every action of the table, with input that no form of the console sends: it is rejected or done, but never fails."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admin.route import Action
from admin.routes import ROUTES
from cqs.queue import Redrive
from tests.console.desk import Desk, make_desk
from tests.console.hostile import TEXTS, let_through
from tests.console.test_every_page import concrete
from tests.engine import ACCOUNT

ACTIONS = [route for route in ROUTES if isinstance(route, Action)]
NAMES = (
    "account",
    "accounts", "action", "actions", "again", "allowed_sources", "attribute_name", "attribute_type", "attribute_value",
    "back", "body", "caller", "chosen", "dead_letter", "dedup_id",
    "dedup_scope", "delay", "delay_ms", "do", "effect", "enabled",
    "encryption", "for",
    "from", "group", "handle", "is_content_dedup", "is_fifo", "is_original_deleted", "key",
    "kms_key_id",
    "kms_reuse_s", "label",
    "lines", "name", "next", "password", "policy", "principals", "rate", "receive_count_max", "redrive_allow",
    "retention_ms", "role", "shape", "source", "source_ip", "tags", "target",
    "text",
    "throughput_limit", "trace_header", "typed", "user",
    "version", "visibility_ms", "which",
)  # fmt: skip
VALUES = (
    *TEXTS, "", " ", "0", "-1", "1e9", "9" * 40, "\u0661", "\x00", "\ud800".encode("utf-8", "replace").decode(),
    "../../etc/passwd", "{", "[[[[", "[" * 5_000, '{"Statement": ' * 500, "null", "x" * 70_000, "\n" * 3_000, "=" * 50,
    "orders", "purge", "delete", "all", ACCOUNT, f"arn:aws:sqs:us-east-1:{ACCOUNT}:dead", "arn:aws:sqs:::", "alice",
)  # fmt: skip


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Desk]:
    """`orders`, its dead-letter queue, and no passwords."""
    desk = await make_desk(folder=tmp_path)
    dead = await desk.bench.create("dead")
    await desk.bench.send(await desk.bench.create("orders", redrive=Redrive(dead.arn, 3)), "one", "two")
    await desk.get("/")
    yield desk
    await desk.client.close()


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.path)
async def test_no_form_breaks_an_action(world: Desk, action: Action) -> None:
    rng = random.Random(action.path)
    if action.path == "/log-out-everywhere":
        return
    for _ in range(20):
        fields: dict[str, str | list[str]] = {name: rng.choice(VALUES) for name in NAMES if rng.random() < 0.7}
        fields |= {"chosen": [rng.choice(VALUES) for _ in range(rng.randrange(4))]}
        path = concrete(action.path, rng.choice(("x", "6887e835-a400-8000-8000-417ff82c5523")))
        page = await world.post(path, fields)
        assert page.status != 500, f"{path} {fields}: {page.words[:300]}"
        assert not let_through(page.text), f"{path} {fields}"


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.path)
async def test_no_body_breaks_an_action(world: Desk, action: Action) -> None:
    rng = random.Random(action.path)
    headers = {"Origin": world.origin, "Content-Type": "application/x-www-form-urlencoded"}
    for _ in range(6):
        body = f"csrf={world.token}&".encode() + rng.randbytes(rng.randrange(2_000))
        answer = await world.client.post("/ADMIN" + concrete(action.path, "x"), data=body, headers=headers)
        await answer.read()
        assert answer.status != 500
