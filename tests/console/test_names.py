"""The name of a message's sender is shown only to those who may see that user."""

from __future__ import annotations

import pytest

from cqs.identity import DEFAULT_ACCOUNT, Role
from cqs.service.draft_rules import Draft
from cqs.service.send import send
from tests.console.desk import Desk
from tests.console.talk import ORDERS

OTHER = "111122223333"


@pytest.mark.parametrize("viewer", ["administrator", "operator"])
@pytest.mark.parametrize(("sender", "account"), [("colleague", DEFAULT_ACCOUNT), ("stranger", OTHER)])
async def test_a_user_of_another_account_is_an_id(desk: Desk, viewer: str, sender: str, account: str) -> None:
    for role in (Role.ADMINISTRATOR, Role.OPERATOR):
        await desk.add_user(role.value, role)
    await desk.add_user(sender, Role.OPERATOR, account)
    user_id = next(user.user_id for user in (await desk.accounts.identities()).users if user.name == sender)
    sent = await send(desk.bench.engine, await desk.bench.create("orders"), Draft("x"), user_id)
    await desk.log_in(viewer)

    page = await desk.get(f"{ORDERS}/messages/{sent.message_id}")

    is_known = account == DEFAULT_ACCOUNT or viewer == "administrator"
    assert page.words.partition("Sender ")[2].split()[0] == (sender if is_known else user_id)
