"""What the inputs and outputs of all actions have in common.

A shape is one typed struct for both wire formats. Attributes are snake_case; their JSON names follow by rule (or by
`msgspec.field(name=...)` where AWS broke the rule). `QUERY_NAMES` maps wire name → element name for those members whose
elements have another name in the Query protocol:

    attribute   attributes            JSON   {"Attributes": {"DelaySeconds": "5"}}
    wire name   Attributes            Query  Attribute.1.Name=DelaySeconds & Attribute.1.Value=5
    query name  Attribute             XML    <Attribute><Name>DelaySeconds</Name><Value>5</Value></Attribute>

A member is required if and only if it has no default. `tests/unit/test_shapes_match_aws.py` compares all this with
AWS's published model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""AWS's integer: a number outside this range has the wrong type, not an invalid value."""


MAP_KEYS: Mapping[str, str] = {"Tag": "Key"}
"""The Query protocol's name for the keys of a map with this element name; Name for all others."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="pascal"):
    """Any structure on the wire."""

    QUERY_NAMES: ClassVar[Mapping[str, str]] = {}


class Output(Shape, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A response, or a part of one: members that equal their default are omitted, as in SQS."""
