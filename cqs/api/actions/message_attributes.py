"""Message attributes: converts the wire's three value fields to one `cqs.message.Attribute` and back, filtered.

requested     All  *  .*     all attributes
              prefix.*       all names that start with `prefix`
              name           that one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cqs.api.shapes.messages import MessageAttributeValue
from cqs.errors import InvalidParameterValue
from cqs.message import Attribute

TRACE_HEADER = "AWSTraceHeader"
_ALL = frozenset({"All", "*", ".*"})


def attributes_of(values: Mapping[str, MessageAttributeValue] | None) -> tuple[Attribute, ...]:
    """Raises InvalidParameterValue when a value is not in the field of its type; the service checks all other rules."""
    if not values:
        return ()
    return tuple(Attribute(name, value.data_type, _bytes_of(name, value)) for name, value in values.items())


def trace_header_of(values: Mapping[str, MessageAttributeValue] | None) -> str | None:
    """AWSTraceHeader is the only system attribute that can be sent."""
    if not values:
        return None
    for name in values:
        if name != TRACE_HEADER:
            raise InvalidParameterValue.of(name, "MessageSystemAttributeName", f"Only {TRACE_HEADER} can be sent.")
    value = values[TRACE_HEADER]
    if value.data_type != "String" or not value.string_value:
        raise InvalidParameterValue(
            f"Message (system) attribute '{TRACE_HEADER}' must contain a non-empty value of type 'String'."
        )
    return value.string_value


class Wanted:
    """The message attributes that a receive requests."""

    __slots__ = ("_is_all", "_names", "_prefixes")

    def __init__(self, asked: Sequence[str]) -> None:
        self._is_all = not _ALL.isdisjoint(asked)
        self._names = frozenset(asked)
        self._prefixes = frozenset(name[:-2] for name in asked if name.endswith(".*"))

    def of(self, attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
        if self._is_all:
            return tuple(attributes)
        return tuple(
            attribute
            for attribute in attributes
            if attribute.name in self._names or self._has_prefix_of(attribute.name)
        )

    def _has_prefix_of(self, name: str) -> bool:
        """Costs the length of the name, not the number of prefixes: a request may contain a million of them."""
        return bool(self._prefixes) and any(name[:length] in self._prefixes for length in range(len(name) + 1))


def wire_attributes(attributes: Sequence[Attribute]) -> dict[str, MessageAttributeValue]:
    return {
        attribute.name: MessageAttributeValue(data_type=attribute.data_type, binary_value=attribute.value)
        if attribute.is_binary
        else MessageAttributeValue(data_type=attribute.data_type, string_value=attribute.value.decode())
        for attribute in attributes
    }


def _bytes_of(name: str, value: MessageAttributeValue) -> bytes:
    if value.string_list_values or value.binary_list_values:
        raise InvalidParameterValue(f"Message attribute list values are not supported: '{name}'.")
    kind = value.data_type.partition(".")[0]
    text, data = value.string_value, value.binary_value
    if text and data:
        raise InvalidParameterValue(f"Message (user) attribute '{name}' has multiple values.")
    if kind == "Binary":
        if text:
            raise _wrong_field(name, kind, "Binary")
        return data or b""
    if data:
        raise _wrong_field(name, kind, "String")
    return text.encode() if text else b""


def _wrong_field(name: str, kind: str, field: str) -> InvalidParameterValue:
    return InvalidParameterValue(f"The message attribute '{name}' with type '{kind}' must use field '{field}'.")
