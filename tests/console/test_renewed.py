"""A job of the workshop that continues after the response stops once its user loses the permission."""

from __future__ import annotations

from typing import Any

import pytest

from admin.actions import redrive
from admin.jobs import JobStatus
from cqs.identity import Role
from cqs.queue import Redrive
from cqs.service.resend import resend
from tests.console.desk import Desk
from tests.console.talk import there
from tests.engine import ACCOUNT, until


@pytest.mark.parametrize("role", [None, Role.READ_ONLY])
async def test_a_job_stops_when_its_user_is_disabled_or_may_only_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, role: Role | None
) -> None:
    dead = await desk.bench.create("dead")
    orders = await desk.bench.create("orders", redrive=Redrive(dead.arn, 1))
    await desk.bench.send(orders, "one", "two", "three")
    for _ in range(2):
        await desk.bench.receive(orders, visibility_ms=0)
    await desk.add_user("root", Role.ADMINISTRATOR)
    await desk.add_user("bob", Role.OPERATOR)
    await desk.log_in("bob")

    async def resend_the_last(*args: Any, **more: Any) -> Any:
        done = await resend(*args, **more)
        if role is None:
            await desk.accounts.set_user_enabled("bob", False)
        else:
            await desk.accounts.set_role("bob", role)
        return done

    monkeypatch.setattr(redrive, "resend", resend_the_last)
    monkeypatch.setattr(redrive, "AT_A_TIME", 1)
    await desk.post(f"/q/{ACCOUNT}/dead/redrive", which="matching")
    job = desk.console.jobs.of(ACCOUNT)[0]
    await until(lambda: not job.is_running)

    assert (job.status, job.done) == (JobStatus.FAILED, 1)
    assert len(await there(desk, dead)) == 2
