"""The conditions of a policy statement: `{"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "192.0.2.1"]}}`.

A statement applies only if all its conditions hold. A condition holds if any of its values matches; with a negated
operator, if none does. When the request lacks the key:

    operator           plain   negated (…Not…)   …IfExists   ForAllValues:   ForAnyValue:   Null
    holds              no      yes               yes         yes             no             tests just this

A value that can't be compared with its key is refused when the policy is set: a condition that can never hold is a
mistake, and in a Deny a dangerous one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from cqs.identity import Caller
from cqs.service.glob import Glob
from cqs.service.policy_keys import KEYS, Key, Kind

KNOWN_MAX, KNOWN_LENGTH_MAX = 64, 256
Value = str | bool | int | Decimal | Glob | IPv4Address | IPv6Address | IPv4Network | IPv6Network | tuple[Glob, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """How a condition compares: parses both sides, then tests them."""

    name: str
    kind: Kind
    read_policy: Callable[[str], Value]
    read_request: Callable[[str], Value]
    test: Callable[[Value, Value], bool]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator on one key, ready to evaluate. `operator` None means Null, whose values say whether the key must be
    absent."""

    key: Key
    operator: Operator | None
    values: tuple[Value, ...]
    holds_without: bool
    _known: dict[str | None, bool] = field(default_factory=dict, compare=False, repr=False)
    """Results for values in requests: clients send the same values again, as do requests within one second."""

    def holds(self, caller: Caller) -> bool:
        text = self.key.value_of(caller)
        found = self._known.get(text)
        if found is None:
            found = self._holds(text)
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            if len(text or "") <= KNOWN_LENGTH_MAX:
                self._known[text] = found
        return found

    def _holds(self, text: str | None) -> bool:
        if self.operator is None:
            return (text is None) in self.values
        if text is None:
            return self.holds_without
        try:
            asked = self.operator.read_request(text)
        except ValueError:
            return self.holds_without
        is_met = any(self.operator.test(asked, value) for value in self.values)
        return is_met is not self.operator.is_negated


def condition(operator_text: str, key_text: str, values: list[str]) -> Condition:
    """Raises ValueError, with the reason, if it can't be parsed or could never hold."""
    key = KEYS.get(key_text.lower())
    if key is None:
        raise ValueError(
            f"unknown condition key {key_text!r}; known are {', '.join(one.name for one in KEYS.values())}"
        )
    if not values:
        raise ValueError(f"{operator_text} on {key.name} has no value")
    quantifier, name, is_if_exists = _parts_of(operator_text)
    if name == "Null":
        return Condition(key, None, tuple([_read_bool(value) for value in values]), holds_without=False)
    operator = OPERATORS.get(name)
    if operator is None:
        raise ValueError(f"unknown condition operator {operator_text!r}; known are {', '.join(OPERATORS)}, Null")
    if operator.kind not in key.kinds:
        raise ValueError(f"{key.name} can't be compared by {name}")
    holds_without = is_if_exists or quantifier == "ForAllValues" or (operator.is_negated and not quantifier)
    read = tuple([_checked(operator, value) for value in values])
    return Condition(key, operator, read, holds_without)


def _parts_of(text: str) -> tuple[str, str, bool]:
    quantifier, colon, name = text.rpartition(":")
    if colon and quantifier not in ("ForAllValues", "ForAnyValue"):
        raise ValueError(f"unknown condition operator {text!r}: the only prefixes are ForAllValues: and ForAnyValue:")
    plain = name.removesuffix("IfExists")
    if plain == "Null" and (colon or plain != name):
        raise ValueError(f"{text!r}: Null takes no prefix or suffix")
    return quantifier, plain, plain != name


def _checked(operator: Operator, value: str) -> Value:
    try:
        return operator.read_policy(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a valid value for {operator.name}") from None


def _read_lower(text: str) -> str:
    return text.lower()


def _read_bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def _read_number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(text) from error
    if not number.is_finite():
        raise ValueError(text)
    return number


_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_EPOCH = re.compile(r"[0-9]{1,11}")


def _read_date(text: str) -> int:
    """Seconds since the epoch, from such a number or an ISO 8601 date; without a zone it is UTC."""
    if _EPOCH.fullmatch(text):
        return int(text)
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    at = datetime.fromisoformat(text)
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def _read_network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


def _read_address(text: str) -> IPv4Address | IPv6Address:
    address = ip_address(text)
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _read_arn_pattern(text: str) -> tuple[Glob, ...]:
    """Each of an ARN's six parts is a separate pattern: a star does not match across a colon, except in the last
    part."""
    parts = text.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn":
        raise ValueError(text)
    return tuple([Glob(part) for part in parts])


def _is_within(asked: Value, value: Value) -> bool:
    return (
        isinstance(value, IPv4Network | IPv6Network) and isinstance(asked, IPv4Address | IPv6Address) and asked in value
    )


def _is_like(asked: Value, value: Value) -> bool:
    return isinstance(value, Glob) and isinstance(asked, str) and value.matches(asked)


def _is_arn_like(asked: Value, value: Value) -> bool:
    assert isinstance(asked, str) and isinstance(value, tuple)
    parts = asked.split(":", 5)
    return len(parts) == 6 and all(glob.matches(part) for glob, part in zip(value, parts, strict=True))


def _is_equal(asked: Value, value: Value) -> bool:
    return asked == value


def _ordered(compare: Callable[[Decimal, Decimal], bool]) -> Callable[[Value, Value], bool]:
    def test(asked: Value, value: Value) -> bool:
        assert isinstance(asked, int | Decimal) and isinstance(value, int | Decimal)
        return compare(Decimal(asked), Decimal(value))

    return test


def _comparisons(kind: Kind, read: Callable[[str], Value]) -> list[Operator]:
    tests: list[tuple[str, Callable[[Value, Value], bool], bool]] = [
        ("Equals", _is_equal, False),
        ("NotEquals", _is_equal, True),
        ("LessThan", _ordered(lambda asked, value: asked < value), False),
        ("LessThanEquals", _ordered(lambda asked, value: asked <= value), False),
        ("GreaterThan", _ordered(lambda asked, value: asked > value), False),
        ("GreaterThanEquals", _ordered(lambda asked, value: asked >= value), False),
    ]
    return [Operator(kind.value + name, kind, read, read, test, negated) for name, test, negated in tests]


OPERATORS = {
    operator.name: operator
    for operator in (
        Operator("StringEquals", Kind.STRING, str, str, _is_equal),
        Operator("StringNotEquals", Kind.STRING, str, str, _is_equal, True),
        Operator("StringEqualsIgnoreCase", Kind.STRING, _read_lower, _read_lower, _is_equal),
        Operator("StringNotEqualsIgnoreCase", Kind.STRING, _read_lower, _read_lower, _is_equal, True),
        Operator("StringLike", Kind.STRING, Glob, str, _is_like),
        Operator("StringNotLike", Kind.STRING, Glob, str, _is_like, True),
        *_comparisons(Kind.NUMERIC, _read_number),
        *_comparisons(Kind.DATE, _read_date),
        Operator("Bool", Kind.BOOL, _read_bool, _read_bool, _is_equal),
        Operator("IpAddress", Kind.IP, _read_network, _read_address, _is_within),
        Operator("NotIpAddress", Kind.IP, _read_network, _read_address, _is_within, True),
        Operator("ArnEquals", Kind.ARN, _read_arn_pattern, str, _is_arn_like),
        Operator("ArnNotEquals", Kind.ARN, _read_arn_pattern, str, _is_arn_like, True),
        Operator("ArnLike", Kind.ARN, _read_arn_pattern, str, _is_arn_like),
        Operator("ArnNotLike", Kind.ARN, _read_arn_pattern, str, _is_arn_like, True),
    )
}
"""Without Null, which only tests whether the key is present."""
