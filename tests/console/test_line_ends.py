"""An edited message keeps what a browser's form does not preserve: carriage returns, and line ends in attributes."""

from __future__ import annotations

import pytest

from cqs.message import Attribute
from cqs.service.draft_rules import Draft
from cqs.service.send import send
from tests.console.desk import Desk
from tests.console.talk import ORDERS, there


@pytest.mark.parametrize(
    ("original", "typed", "sent"),
    [
        ("a\r\nb", "a\r\nb", "a\r\nb"),
        ("a\r\nb", "a\r\nb\r\nc", "a\r\nb\r\nc"),
        ("MSH|\rPID|\r", "MSH|\r\nPID|\r\n", "MSH|\rPID|\r"),
        ("MSH|\rPID|\r", "MSH|\r\nPID|x\r\n", "MSH|\rPID|x\r"),
        ("a\r\nb\nc\rd", "a\r\nb\r\nc\r\nd", "a\r\nb\nc\rd"),
        ("a\r\nb\nc", "a\r\nb", "a\nb"),
        ("a\nb", "a\r\nb\r\nc", "a\nb\nc"),
        ("a", "a\r\nb", "a\nb"),
    ],
)
async def test_lines_end_as_they_did(desk: Desk, original: str, typed: str, sent: str) -> None:
    """Browsers send every line end in a form as CRLF."""
    orders = await desk.bench.create("orders")
    message_id = (await send(desk.bench.engine, orders, Draft(original), "s")).message_id
    form = await desk.get(f"{ORDERS}/messages/{message_id}/edit")

    await desk.post(
        f"{ORDERS}/messages/{message_id}/edit", {"body": typed, "target": "orders", "is_original_deleted": "1"}
    )

    assert [one.message.body for one in await there(desk, orders)] == [sent]
    assert ("line endings are mixed" in form.words) == (original.startswith("a\r\nb\nc"))


async def test_attributes_keep_lines_that_their_fields_do_not_show(desk: Desk) -> None:
    orders = await desk.bench.create("orders")
    attributes = (Attribute("trace", "String", b"a\r\n  b\n"), Attribute("other", "String", b"a\nb"))
    message_id = (await send(desk.bench.engine, orders, Draft("x", attributes), "s")).message_id
    rows: dict[str, str | list[str]] = {
        "attribute_name": ["trace", "other"],
        "attribute_type": ["String", "String"],
        "attribute_value": ["a  b", "new"],
    }

    await desk.post(f"{ORDERS}/messages/{message_id}/edit", {"body": "x", "target": "orders", **rows})

    copy = (await there(desk, orders))[-1].message
    assert {one.name: one.value for one in copy.attributes} == {"trace": b"a\r\n  b\n", "other": b"new"}
