"""Makes the pictures of the docs: a console with the queues of a shop after an hour of traffic, on a manual clock.

    python -m tests.console.browser.pictures          writes docs/images/console-*.png

The same seed gives the same figures, so a picture changes when the console does.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import shutil
import time
from pathlib import Path

from playwright.async_api import async_playwright

from cqs.metrics.rings import SAMPLE_S
from cqs.queue import Queue, Redrive
from cqs.service import revisibility
from cqs.service.deliver import Delivery
from cqs.service.resend import discard
from cqs.service.statistics import Sampler
from tests.console.browser.conftest import ARGUMENTS
from tests.console.desk import Desk, make_desk
from tests.engine import ACCOUNT, Bench
from tests.protocol.measured import measured_bench

IMAGES = Path(__file__).parents[3] / "docs" / "images"
SIZE = {"width": 1280, "height": 840}
PAGES = {
    "overview": "/?range=1h",
    "queues": "/queues",
    "dead-letters": f"/q/{ACCOUNT}/orders-dead/dead-letters",
}
HOUR_S = 3_600
REASONS = ("PaymentDeclined", "AddressUnknown", "Timeout")


async def main() -> None:
    """Simulates the hour and takes the pictures."""
    bench = await measured_bench()
    bench.clock.set_ms(int(time.time()) * 1_000 - HOUR_S * 1_000)
    desk = await make_desk(bench=bench)
    await live(bench, random.Random(7))
    await take(desk)
    await desk.client.close()


async def live(bench: Bench, rng: random.Random) -> None:
    """Simulates an hour of a shop: some queues keep up, one falls behind, some orders become dead letters."""
    dead = await bench.create("orders-dead")
    orders = await bench.create("orders", redrive=Redrive(dead.arn, 1), visibility_ms=20_000)
    rest = [await bench.create(name) for name in ("invoices", "mail", "stock.fifo", "search-index", "thumbnails")]
    for number in range(12):
        await bench.create(f"tenant-{number:02}-events")
    sampler = Sampler(bench.engine)
    for step in range(HOUR_S // SAMPLE_S):
        wave = 1 + 0.6 * math.sin(step / 60) + rng.random() * 0.3
        for queue, rate in zip((orders, *rest), (9, 6, 7, 4, 3, 2), strict=True):
            sent = round(rate * wave)
            await bench.send(queue, *[_body(rng) for _ in range(sent)])
            is_behind = queue.name == "search-index" and step > 400
            await _work(bench, queue, sent // 2 if is_behind else sent + 1, rng)
        for metric_ns in (400_000, 700_000, 900_000, 3_000_000):
            bench.engine.metrics.calls.record("SendMessage", "", round(metric_ns * wave))
        bench.clock.advance_ms(SAMPLE_S * 1_000)
        while await revisibility.step(bench.engine):
            pass
        await bench.engine.background.drain()
        await sampler.sample()


async def _work(bench: Bench, queue: Queue, count: int, rng: random.Random) -> None:
    """Receives and deletes messages, except a few that fail."""
    while count > 0 and (deliveries := await bench.receive(queue, count_max=min(10, count))):
        count -= len(deliveries)
        for delivery in deliveries:
            await _finish(bench, queue, delivery, rng)


async def _finish(bench: Bench, queue: Queue, delivery: Delivery, rng: random.Random) -> None:
    if queue.name != "orders" or rng.random() > 0.01:
        await discard(bench.engine, queue, delivery.message.address)


def _body(rng: random.Random) -> str:
    order = {"order": rng.randrange(10_000, 99_999), "customer": {"name": rng.choice(("ada", "grace", "linus"))}}
    return json.dumps(order | {"error": rng.choice(REASONS), "total": round(rng.random() * 200, 2)})


async def take(desk: Desk) -> None:
    """Takes a picture of each page."""
    async with async_playwright() as running:
        browser = await running.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        page = await browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")  # type: ignore[arg-type]
        for name, path in PAGES.items():
            await page.goto(f"{desk.origin}/ADMIN{path}", wait_until="networkidle")
            await page.screenshot(path=IMAGES / f"console-{name}.png")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
