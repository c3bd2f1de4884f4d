"""Every page of the route table, with hostile texts everywhere: it is shown and refreshed, and escapes all of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from admin.console import About
from admin.route import Page
from admin.routes import ROUTES
from cqs.identity import Role
from cqs.message import Attribute
from cqs.queue import Queue, Redrive
from cqs.service import tags
from cqs.service.draft_rules import Draft
from cqs.service.send import send_batch
from tests.console.desk import Desk, make_desk
from tests.console.hostile import PLAIN_TEXTS, TEXTS, let_through
from tests.engine import ACCOUNT

PATHS = sorted({route.path for route in ROUTES if isinstance(route, Page)})


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Desk]:
    """Queues, dead letters, users and reports with hostile texts."""
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "audit.html").write_text("<script>alert(1)</script>" + "".join(TEXTS))
    (reports / "<img src=x onerror=alert(1)>.txt").write_text("".join(TEXTS))
    desk = await make_desk(about=About(version="1", data=str(tmp_path), reports=reports))
    bench = desk.bench
    dead = await bench.create("dead")
    orders = await bench.create("orders", redrive=Redrive(dead.arn, 1))
    await tags.tag(bench.engine, orders, {text[:100]: text for text in PLAIN_TEXTS})
    await bench.create("ledger.fifo", is_content_dedup=True)
    await _send_all(desk, orders)
    await bench.receive(orders, 10, visibility_ms=0)
    await bench.receive(orders, 5)
    await bench.engine.background.drain()
    await desk.add_user("alice", Role.ADMINISTRATOR)
    for text in TEXTS:
        await desk.log_in(text)
        desk.bench.clock.advance_ms(3_600_000)
    await desk.log_in("alice")
    await _send_all(desk, orders)
    yield desk
    await desk.client.close()


async def _send_all(desk: Desk, queue: Queue) -> None:
    for text in PLAIN_TEXTS:
        attributes = (Attribute("error", "String", text.encode()), Attribute("b", "Binary.x", text.encode()))
        group = "".join(one for one in text if "!" <= one <= "~")[:100]
        draft = Draft(text, attributes, group=group, trace_header=text)
        await send_batch(desk.bench.engine, queue, [draft], text)


def concrete(path: str, message_id: str) -> str:
    """Returns a path of the table with real names filled in."""
    values = {
        "{account}": ACCOUNT,
        "{queue}": "orders",
        "{message}": message_id,
        "{user}": "alice",
        "{job}": "1",
        "{number}": "1",
        "{name:.+}": "audit.html",
    }
    for name, value in values.items():
        path = path.replace(name, value)
    return path


def test_the_reader_of_pages_sees_what_runs() -> None:
    for text in ("<script>a</script>", "<img src=x>", "<b onclick=a>", "<p style=a>", "<a hx-get='//evil'>", "<base>"):
        assert let_through(text), text
    assert not let_through('<a href="/ADMIN/queues">&lt;script&gt;</a><script defer src="/ADMIN/static/a.js"></script>')


async def test_every_page_shows_hostile_texts_as_texts(world: Desk) -> None:
    found = await world.get(f"/q/{ACCOUNT}/orders/messages")
    message_id = found.text.partition('id="m-')[2][:36]
    for path in PATHS:
        for query in ("", "?view=text", f"?q={'%22%3E%3Csvg%20onload=alert(1)%3E'}&text=%3Cscript%3E&kind=rates"):
            for refresh in ("", "true"):
                page = await world.get(concrete(path, message_id) + query, HX_Request=refresh)
                if page.headers.get("Content-Disposition", "").startswith("attachment"):
                    continue
                assert page.status in (200, 400, 404), f"{path}{query}: {page.status} {page.words[:300]}"
                if "/reports/raw/" not in path and "json" not in page.headers["Content-Type"]:
                    assert not let_through(page.text), f"{path}{query}"


async def test_pages_that_must_be_there_are(world: Desk) -> None:
    missing = []
    found = await world.get(f"/q/{ACCOUNT}/orders/messages")
    message_id = found.text.partition('id="m-')[2][:36]
    for path in PATHS:
        page = await world.get(concrete(path, message_id) + "?kind=rates")
        if page.status != 200 and path not in ("/moves/task", "/moves/job/{job}"):
            missing.append(f"{path}: {page.status} {page.words[-200:]}")

    assert not missing, "\n".join(missing)


def percent(text: str, length: int) -> str:
    """Percent-encodes every byte."""
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogateescape"))[: length // 3 * 3]


@pytest.mark.parametrize(
    "text", [*TEXTS, "\x00", "%00", "a" * 3_000, "..", "%2e%2e%2f", "\udcff"], ids=lambda text: text[:20]
)
async def test_hostile_paths_and_queries_are_no_fault_of_ours(world: Desk, text: str) -> None:
    own = f"/q/{ACCOUNT}"
    for path in ("/q/{}/orders", own + "/{}", own + "/orders/messages/{}", "/users/{}", "/reports/{}"):
        page = await world.get(path.format(percent(text, 6_000)))
        assert page.status in (200, 400, 403, 404), f"{path}: {page.status}"
        assert not let_through(page.text)
    names = (
        "q",
        "page",
        "after",
        "seen",
        "sort",
        "since",
        "before",
        "state",
        "json",
        "tag",
        "account",
        "text",
        "range",
    )
    query = "&".join(f"{name}={percent(text, 600)}" for name in names)
    for path in ("/queues", own + "/orders/messages", own + "/orders", "/changes", "/"):
        page = await world.get(f"{path}?{query}")
        assert page.status == 200, f"{path}: {page.status}"
        assert not let_through(page.text)


async def test_a_failure_of_ours_shows_no_stack(world: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail of the inside")

    monkeypatch.setattr(world.bench.engine.registry, "page", broken)

    page = await world.get("/queues")

    assert page.status == 500
    assert "secret detail" not in page.text
    assert "The console had an internal error." in page.words


async def test_charts_are_json_and_nothing_else(world: Desk) -> None:
    page = await world.get(f"/q/{ACCOUNT}/orders/chart?kind=rates")

    assert page.headers["Content-Type"] == "application/json"
    assert [one["label"] for one in json.loads(page.text)["series"]] == ["sent", "received", "deleted"]
    assert (await world.get(f"/q/{ACCOUNT}/orders/chart?kind=__class__")).status == 404
