"""Roles and policies combined: who has access to which queue, and who may know that it exists."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest

from cqs.errors import AccessDenied, QueueDoesNotExist
from cqs.identity import Caller, Circumstances, Role
from cqs.queue import Queue, Settings
from cqs.service import permissions, policy_actions
from cqs.service.access import authorize_account, authorize_queue
from cqs.service.policy import SPEAKING_MAX
from cqs.service.policy_conditions import KNOWN_LENGTH_MAX, KNOWN_MAX, condition
from cqs.service.policy_reader import read_stored
from tests.unit.policy_callers import OWNER, QUEUE_ARN, caller_of


def queue_with(*statements: dict[str, object], account: str = OWNER) -> Queue:
    policy = json.dumps({"Version": "2012-10-17", "Statement": list(statements)}) if statements else ""
    return Queue(
        account=account,
        name="orders",
        region="us-east-1",
        uid=1,
        created_ms=0,
        modified_ms=0,
        settings=Settings(policy=policy),
    )


def grant(
    effect: str = "Allow", principal: object = "*", action: object = "sqs:*", **more: object
) -> dict[str, object]:
    return {"Effect": effect, "Principal": principal, "Action": action, "Resource": "*", **more}


ALICE, BOB = caller_of(f"alice@{OWNER}"), caller_of("bob@222233334444")


def test_owner_may_everything_without_a_policy_and_others_do_not_see_the_queue() -> None:
    for action in sorted(policy_actions.ALL | policy_actions.PERMISSION_OF_BATCH.keys()):
        authorize_queue(ALICE, action, queue_with())
        with pytest.raises(QueueDoesNotExist, match=r"^The specified queue does not exist\.$"):
            authorize_queue(BOB, action, queue_with())


def test_policy_lets_another_account_in_for_what_it_names_only() -> None:
    queue = queue_with(grant(principal={"AWS": "222233334444"}, action="sqs:SendMessage"))

    authorize_queue(BOB, "SendMessage", queue)
    authorize_queue(BOB, "SendMessageBatch", queue)
    with pytest.raises(AccessDenied) as refused:
        authorize_queue(BOB, "ReceiveMessage", queue)
    assert str(refused.value) == (
        "User: arn:aws:iam::222233334444:user/bob is not authorized to perform: sqs:receivemessage on resource: "
        f"{QUEUE_ARN} because no resource-based policy allows the sqs:receivemessage action"
    )
    with pytest.raises(QueueDoesNotExist):
        authorize_queue(caller_of("eve@999988887777"), "SendMessage", queue)


@pytest.mark.parametrize("action", sorted(policy_actions.OWNER_ONLY))
def test_no_policy_gives_away_what_only_the_owner_may(action: str) -> None:
    with pytest.raises(AccessDenied):
        authorize_queue(BOB, action, queue_with(grant()))


@pytest.mark.parametrize("action", sorted(policy_actions.GRANTABLE))
def test_everything_else_can_be_given_away(action: str) -> None:
    authorize_queue(BOB, action, queue_with(grant()))


def test_explicit_deny_holds_for_the_owner_too() -> None:
    queue = queue_with(grant(), grant("Deny", action="sqs:PurgeQueue"))

    authorize_queue(ALICE, "SendMessage", queue)
    with pytest.raises(AccessDenied, match="with an explicit deny in a resource-based policy"):
        authorize_queue(ALICE, "PurgeQueue", queue)


def test_denied_stranger_is_not_told_that_the_queue_exists() -> None:
    with pytest.raises(QueueDoesNotExist):
        authorize_queue(BOB, "SendMessage", queue_with(grant("Deny")))


def test_read_only_user_changes_nothing_whatever_the_policy_says() -> None:
    probe = msgspec.structs.replace(ALICE, user="probe", role=Role.READ_ONLY)
    queue = queue_with(grant())
    may = set()
    for action in policy_actions.ALL:
        try:
            authorize_queue(probe, action, queue)
        except AccessDenied:
            continue
        may.add(action)

    assert may == {
        "GetMessage", "GetNodeStatistics", "GetQueueAttributes", "GetQueueUrl", "HealthCheck",
        "ListDeadLetterSourceQueues", "ListMessageMoveTasks", "ListQueueTags", "ListQueues", "PeekMessages",
    }  # fmt: skip
    authorize_account(probe, "ListQueues")
    authorize_account(ALICE, "CreateQueue")
    with pytest.raises(AccessDenied, match="the role read_only does not allow it"):
        authorize_account(probe, "CreateQueue")
    with pytest.raises(AccessDenied):
        authorize_queue(msgspec.structs.replace(BOB, role=Role.READ_ONLY), "SendMessage", queue)


def test_unreadable_stored_policy_gives_others_nothing_and_leaves_the_owner_to_mend_it() -> None:
    queue = msgspec.structs.replace(queue_with(), settings=Settings(policy='{"Version":"1999"}'))

    authorize_queue(ALICE, "SetQueueAttributes", queue)
    with pytest.raises(QueueDoesNotExist):
        authorize_queue(BOB, "SendMessage", queue)


def test_actions_that_add_permission_takes_are_those_that_policies_give_away() -> None:
    extensions = {"PeekMessages", "GetMessage", "ResendMessage", "HealthCheck", "GetNodeStatistics"}

    assert permissions.GRANTABLE - {"*"} == policy_actions.GRANTABLE - extensions


def test_every_pair_of_callers_and_accounts_is_kept_apart() -> None:
    accounts = ["111122223333", "222233334444"]
    for mine, other in itertools.permutations(accounts):
        caller = caller_of(f"user@{mine}")
        authorize_queue(caller, "ReceiveMessage", queue_with(account=mine))
        with pytest.raises(QueueDoesNotExist):
            authorize_queue(caller, "ReceiveMessage", queue_with(account=other))


def test_what_a_condition_remembers_is_bounded_and_never_wrong() -> None:
    agent = condition("StringLike", "aws:UserAgent", ["good*"])
    ask = [f"good {number}" for number in range(500)] + ["bad", "g" * 10_000, "good" + "x" * 10_000]

    for _ in range(2):
        answers = [agent.holds(Caller(account=OWNER, circumstances=Circumstances(user_agent=one))) for one in ask]
        assert answers == [one.startswith("good") for one in ask]
    assert len(agent._known) <= KNOWN_MAX
    assert max(len(text or "") for text in agent._known) <= KNOWN_LENGTH_MAX


def test_what_a_policy_remembers_of_one_call_is_not_said_to_another() -> None:
    queue = queue_with(
        {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::222233334444:user/bob"}, "Action": "sqs:SendMessage",
         "Resource": QUEUE_ARN}
    )  # fmt: skip
    bob, eve = (Caller(account="222233334444", user=user) for user in ("bob", "eve"))

    for _ in range(2):
        authorize_queue(bob, "SendMessage", queue)
        for caller, action in (
            (eve, "SendMessage"),
            (bob, "ReceiveMessage"),
            (Caller(account="222233334444"), "SendMessage"),
        ):
            with pytest.raises((AccessDenied, QueueDoesNotExist)):
                authorize_queue(caller, action, queue)
    policy = read_stored(queue.settings.policy)
    assert policy is not None
    for number in range(3 * SPEAKING_MAX):
        policy.verdict(Caller(account="222233334444", user=f"user{number}"), "SendMessage", QUEUE_ARN)
    assert len(policy._speaking) <= SPEAKING_MAX
