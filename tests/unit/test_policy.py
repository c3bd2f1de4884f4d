"""Queue policies: a table of verdicts and refusals, and the laws that hold for all policies."""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cqs import limits
from cqs.errors import InvalidAttributeValue
from cqs.identity import Caller
from cqs.service import policy_actions
from cqs.service.glob import Glob
from cqs.service.policy import Verdict
from cqs.service.policy_conditions import OPERATORS
from cqs.service.policy_keys import KEYS
from cqs.service.policy_reader import PATTERN_LENGTH_MAX, read, read_stored
from tests.unit.policy_callers import OWNER, QUEUE_ARN, caller_of


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
@example("ab*ba", "aba")
@example("a*a", "a")
def test_glob_means_what_the_plain_regular_expression_means(pattern: str, text: str) -> None:
    plain = "".join({"*": ".*", "?": "."}.get(one, re.escape(one)) for one in pattern)

    assert Glob(pattern).matches(text) is (re.fullmatch(plain, text, re.DOTALL) is not None)


def test_glob_never_tries_a_piece_twice() -> None:
    pattern, text = "*a" * 500 + "*b", "a" * 16_000

    assert not Glob(pattern).matches(text)  # with backtracking this line would never end
