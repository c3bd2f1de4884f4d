"""What the inputs and outputs of actions have in common.

A shape is one typed struct for both wires. Attributes are snake_case; the names of the JSON wire follow by rule (or by
`msgspec.field(name=...)` where AWS broke the rule), those of the Query wire stand in `QUERY_NAMES`, wire name → element
name, for the members whose elements are called otherwise:

    attribute   attributes            JSON   {"Attributes": {"DelaySeconds": "5"}}
    wire name   Attributes            Query  Attribute.1.Name=DelaySeconds & Attribute.1.Value=5
    query name  Attribute             XML    <Attribute><Name>DelaySeconds</Name><Value>5</Value></Attribute>

A member without a default is a required one, and nothing else is. `tests/unit/test_shapes_match_aws.py` compares all
this with AWS's published model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
"""AWS's integer: a number beyond it is a wrong type, not a wrong value."""


MAP_KEYS: Mapping[str, str] = {"Tag": "Key"}
"""What the Query protocol calls the keys of a map of this element name; Name in all others."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="pascal"):
    """Any structure on the wire."""

    QUERY_NAMES: ClassVar[Mapping[str, str]] = {}


class Output(Shape, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An answer, or a part of one: members at their default are left out, as SQS does."""
