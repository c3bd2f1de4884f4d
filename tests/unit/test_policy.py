"""Queue policies: a table of verdicts and refusals, and the laws that hold for all policies."""

from __future__ import annotations

import itertools
import json
import random
import re
import tomllib
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqs import limits
from cqs.errors import AccessDenied, InvalidAttributeValue, QueueDoesNotExist
from cqs.identity import Caller, Circumstances, Role
from cqs.queue import Queue, Settings
from cqs.service import permissions, policy_actions
from cqs.service.access import authorize_account, authorize_queue
from cqs.service.glob import Glob
from cqs.service.policy import Verdict
from cqs.service.policy_conditions import OPERATORS
from cqs.service.policy_keys import KEYS
from cqs.service.policy_reader import PATTERN_LENGTH_MAX, read, read_stored

OWNER = "111122223333"
QUEUE_ARN = f"arn:aws:sqs:us-east-1:{OWNER}:orders"


class Said(msgspec.Struct):
    """A policy and what it says in each case: caller, action, circumstances, verdict."""

    name: str
    text: str
    cases: list[tuple[str, str, str, str]]


class Refused(msgspec.Struct):
    name: str
    text: str
    reason: str


class Table(msgspec.Struct):
    policy: list[Said]
    refused: list[Refused]


TABLE = msgspec.convert(
    tomllib.loads((Path(__file__).parents[1] / "data/policy_cases.toml").read_text(encoding="utf-8")), Table
)
CASES = [(said, *case) for said in TABLE.policy for case in said.cases]


def caller_of(text: str, circumstances: str = "") -> Caller:
    """`user@account` or `account`, in circumstances like "tls ip=10.0.0.1 now=2026-11-27T12:00:00Z"."""
    user, _, account = text.rpartition("@")
    told = dict(word.partition("=")[::2] for word in circumstances.split())
    now = datetime.fromisoformat(told.get("now", "2026-11-27T12:00:00Z"))
    return Caller(
        account=account,
        user=user,
        circumstances=Circumstances(
            now_ms=int(now.timestamp() * 1_000) + 999,
            source_ip=told.get("ip"),
            is_secure="tls" in told,
            user_agent=told.get("ua"),
            referer=told.get("ref"),
            source_arn=told.get("arn"),
        ),
    )


@pytest.mark.parametrize(
    ("said", "caller", "action", "circumstances", "verdict"),
    CASES,
    ids=[f"{said.name}-{n}" for said in TABLE.policy for n, _ in enumerate(said.cases)],
)
def test_policy_says(said: Said, caller: str, action: str, circumstances: str, verdict: str) -> None:
    permission = policy_actions.permission_of(action)

    assert read(said.text).verdict(caller_of(caller, circumstances), permission, QUEUE_ARN) is Verdict(verdict)


@pytest.mark.parametrize("refused", TABLE.refused, ids=lambda refused: refused.name)
def test_policy_is_refused_with_the_reason(refused: Refused) -> None:
    with pytest.raises(InvalidAttributeValue, match=re.escape(refused.reason)) as error:
        read(refused.text)

    assert str(error.value).startswith("Invalid value for the parameter Policy. Reason: ")
    assert read_stored(refused.text) is None


def test_table_is_large_and_uses_every_operator_and_key() -> None:
    texts = " ".join(said.text for said in TABLE.policy)

    assert len(CASES) + len(TABLE.refused) >= 200
    assert [name for name in OPERATORS if not re.search(rf'[":]{name}(IfExists)?"', texts)] == []
    assert [key.name for key in KEYS.values() if f'"{key.name}"' not in texts] == ["aws:userid"]


def test_policy_of_8192_bytes_is_read_and_of_8193_refused() -> None:
    policy = '{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}}'
    padded = policy + " " * (limits.POLICY_SIZE_MAX - len(policy))

    assert read(padded).statements == read(policy).statements
    with pytest.raises(InvalidAttributeValue, match="longer than 8192 bytes"):
        read(padded + " ")


@pytest.mark.parametrize(
    "text", ["[" * 8_000, '{"Statement":' * 600, '{"Version":"\\ud800"}', '{"Version":' + "9" * 5_000 + "}"]
)
def test_hostile_policy_text_is_refused_and_nothing_worse(text: str) -> None:
    with pytest.raises(InvalidAttributeValue):
        read(text)


def test_overlong_pattern_is_refused() -> None:
    statement = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "arn:" + "a" * PATTERN_LENGTH_MAX}

    with pytest.raises(InvalidAttributeValue, match="longer than 1024 characters"):
        read(json.dumps({"Statement": statement}))


STATEMENTS = st.fixed_dictionaries(
    {
        "Effect": st.sampled_from(["Allow", "Deny"]),
        "Principal": st.sampled_from(["*", {"AWS": "222233334444"}, {"AWS": ["arn:aws:iam::222233334444:user/bob"]}]),
        "Action": st.sampled_from(["*", "sqs:SendMessage", ["sqs:Get*", "sqs:*Message"], "SQS:PURGE*"]),
        "Resource": st.sampled_from(["*", QUEUE_ARN, "arn:aws:sqs:*:*:other"]),
    },
    optional={
        "Condition": st.sampled_from(
            [
                {"Bool": {"aws:SecureTransport": "true"}},
                {"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}},
                {"StringLike": {"aws:UserAgent": "b*"}},
                {"Null": {"aws:SourceIp": "true"}},
            ]
        )
    },
)
POLICIES = st.lists(STATEMENTS, min_size=1, max_size=5)
CALLERS = st.builds(
    caller_of,
    st.sampled_from(["bob@222233334444", "222233334444", "eve@999988887777", f"alice@{OWNER}"]),
    st.sampled_from(["", "tls", "ip=10.0.0.1", "ip=11.0.0.1 ua=boto", "tls ip=10.9.9.9 ua=curl"]),
)
ACTIONS = st.sampled_from(sorted(policy_actions.ALL))


def verdict(statements: list[dict[str, object]], caller: Caller, action: str) -> Verdict:
    return read(json.dumps({"Statement": statements})).verdict(caller, action, QUEUE_ARN)


@settings(max_examples=400, deadline=None)
@given(POLICIES, STATEMENTS, CALLERS, ACTIONS, st.integers(0, 5))
def test_adding_a_deny_never_grants(
    statements: list[dict[str, object]], added: dict[str, object], caller: Caller, action: str, at: int
) -> None:
    before = verdict(statements, caller, action)
    after = verdict([*statements[:at], {**added, "Effect": "Deny"}, *statements[at:]], caller, action)

    assert after in (before, Verdict.DENIED)


@settings(max_examples=400, deadline=None)
@given(POLICIES, STATEMENTS, CALLERS, ACTIONS)
def test_adding_an_allow_never_denies_and_never_lifts_a_deny(
    statements: list[dict[str, object]], added: dict[str, object], caller: Caller, action: str
) -> None:
    before = verdict(statements, caller, action)
    after = verdict([*statements, {**added, "Effect": "Allow"}], caller, action)

    assert after is before or (before, after) == (Verdict.SILENT, Verdict.ALLOWED)


@settings(max_examples=300, deadline=None)
@given(POLICIES, CALLERS, ACTIONS, st.randoms(use_true_random=False))
def test_order_of_statements_is_irrelevant(
    statements: list[dict[str, object]], caller: Caller, action: str, rng: random.Random
) -> None:
    shuffled = list(statements)
    rng.shuffle(shuffled)

    assert verdict(shuffled, caller, action) is verdict(statements, caller, action)


@settings(max_examples=500, deadline=None)
@given(st.text("ab*?.", max_size=8), st.text("ab.\n", max_size=10))
def test_glob_means_what_the_plain_regular_expression_means(pattern: str, text: str) -> None:
    plain = "".join({"*": ".*", "?": "."}.get(one, re.escape(one)) for one in pattern)

    assert Glob(pattern).matches(text) is (re.fullmatch(plain, text, re.DOTALL) is not None)


def test_glob_never_tries_a_piece_twice() -> None:
    pattern, text = "*a" * 500 + "*b", "a" * 16_000

    assert not Glob(pattern).matches(text)  # with backtracking this line would never end


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
    assert policy_actions.OWNER_ONLY - extensions == permissions.OWNER_ONLY


def test_every_pair_of_callers_and_accounts_is_kept_apart() -> None:
    accounts = ["111122223333", "222233334444"]
    for mine, other in itertools.permutations(accounts):
        caller = caller_of(f"user@{mine}")
        authorize_queue(caller, "ReceiveMessage", queue_with(account=mine))
        with pytest.raises(QueueDoesNotExist):
            authorize_queue(caller, "ReceiveMessage", queue_with(account=other))
