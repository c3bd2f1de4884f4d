"""The shapes against AWS's published model: if AWS adds an action, a member or an error, a test here names it.

The JSON wire comes from the installed botocore; the names of the Query wire from `tests/data/sqs_query_model.json`,
which `tests/data/extract_query_model.py` wrote.
"""

from __future__ import annotations

import json
import typing
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

import botocore.session
import msgspec
import pytest

from cqs.api import operations
from cqs.api.error_table import TABLE
from cqs.api.shapes.shape import MAP_KEYS, Shape

QUERY = json.loads((Path(__file__).parents[1] / "data" / "sqs_query_model.json").read_text())
MODEL = botocore.session.get_session().get_service_model("sqs")
NEVER_RAISED = {
    "InvalidAddress": "any address that leads to us is valid",
    "InvalidSecurity": "plain HTTP is served; TLS is a proxy's",
    "InvalidIdFormat": "replaced by ReceiptHandleIsInvalid",
    "KmsAccessDenied": "keys are kept and returned, not used",
    "KmsDisabled": "as above",
    "KmsInvalidKeyUsage": "as above",
    "KmsInvalidState": "as above",
    "KmsNotFound": "as above",
    "KmsOptInRequired": "as above",
    "KmsThrottled": "as above",
}
TYPES = {"string": str, "integer": int, "long": int, "boolean": bool, "blob": bytes}
SAME_SHAPE = {"MessageSystemAttributeValue": "MessageAttributeValue"}
"""AWS's twin shapes that are one of ours."""


def fields_of(shape: type[Shape]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(shape)}


def bare(kind: Any) -> Any:
    """The type without `| None` and annotations."""
    if typing.get_origin(kind) in (typing.Union, UnionType):
        kind = next(part for part in typing.get_args(kind) if part is not NoneType)
    return getattr(kind, "__origin__", kind) if hasattr(kind, "__metadata__") else kind


def differences(ours: type[Shape], theirs: Any, path: str) -> list[str]:
    """What is not the same in two structures, and in what they hold."""
    fields = fields_of(ours)
    found = [f"{path}.{name} is missing" for name in theirs.members.keys() - fields.keys()]
    found += [f"{path}.{name} is not AWS's" for name in fields.keys() - theirs.members.keys()]
    for name in theirs.members.keys() & fields.keys():
        found += type_differences(bare(fields[name].type), theirs.members[name], f"{path}.{name}")
    return found


def type_differences(kind: Any, theirs: Any, path: str) -> list[str]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if theirs.type_name == "list":
        return type_differences(bare(arguments[0]), theirs.member, path) if origin is list else [f"{path}: no list"]
    if theirs.type_name == "map":
        return type_differences(bare(arguments[1]), theirs.value, path) if origin is dict else [f"{path}: no map"]
    if theirs.type_name == "structure":
        is_named = kind.__name__ == SAME_SHAPE.get(theirs.name, theirs.name)
        return differences(kind, theirs, path) if is_named else [f"{path}: {kind.__name__}, not {theirs.name}"]
    return [] if kind is TYPES[theirs.type_name] else [f"{path}: {kind}, not {theirs.type_name}"]


def shapes_within(shape: type[Shape]) -> set[type[Shape]]:
    """The structure and all structures it holds."""
    found = {shape}
    for field in msgspec.structs.fields(shape):
        kind = bare(field.type)
        inner = bare(typing.get_args(kind)[-1]) if typing.get_origin(kind) else kind
        if isinstance(inner, type) and issubclass(inner, Shape):
            found |= shapes_within(inner)
    return found


ALL_SHAPES = sorted(
    {inner for one in operations.ALL for top in (one.input, one.output) if top for inner in shapes_within(top)},
    key=lambda shape: shape.__name__,
)


def test_actions_are_those_of_aws() -> None:
    assert {operation.name for operation in operations.ALL} == set(MODEL.operation_names)
    assert len(operations.ALL) == 23


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_shapes_of_action_are_those_of_aws(operation: operations.Operation) -> None:
    theirs = MODEL.operation_model(operation.name)

    assert operation.input.__name__ == theirs.input_shape.name
    assert (operation.output and operation.output.__name__) == (theirs.output_shape and theirs.output_shape.name)
    assert differences(operation.input, theirs.input_shape, operation.name) == []
    if operation.output is not None:
        assert differences(operation.output, theirs.output_shape, operation.name) == []


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.__name__)
def test_required_members_are_those_of_aws(shape: type[Shape]) -> None:
    required = {name for name, field in fields_of(shape).items() if field.required}
    theirs = set(MODEL.shape_for(shape.__name__).required_members)

    if shape.__name__.endswith(("Request", "RequestEntry")):
        assert required == theirs
    else:
        left_out = {"Successful", "Failed"} if shape.__name__.endswith("BatchResult") else set()
        assert theirs - left_out <= required, "an answer may promise more than AWS does, never less"


@pytest.mark.parametrize("operation", operations.ALL, ids=lambda operation: operation.name)
def test_modelled_errors_of_action_are_known_or_never_raised(operation: operations.Operation) -> None:
    known = {entry.json_type.partition("#")[2] for entry in TABLE.values()}
    theirs = {shape.name for shape in MODEL.operation_model(operation.name).error_shapes}

    assert theirs <= known | NEVER_RAISED.keys(), sorted(theirs - known - NEVER_RAISED.keys())


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.__name__)
def test_query_names_are_those_of_the_last_query_model(shape: type[Shape]) -> None:
    theirs: dict[str, list[str]] = QUERY["structures"][shape.__name__]
    ours = {name: element_names(field, shape.QUERY_NAMES.get(name, name)) for name, field in fields_of(shape).items()}
    younger = {"MessageSystemAttributeNames"}

    assert {name: names for name, names in ours.items() if name not in younger} == theirs


def element_names(field: msgspec.structs.FieldInfo, name: str) -> list[str]:
    is_map = typing.get_origin(bare(field.type)) is dict
    return [name, MAP_KEYS.get(name, "Name"), "Value"] if is_map else [name]


def test_query_codes_and_statuses_of_errors_are_those_of_the_last_query_model() -> None:
    ours = {entry.json_type.partition("#")[2]: entry for entry in TABLE.values()}
    wrong = [
        name
        for name, error in QUERY["errors"].items()
        if name in ours
        and (ours[name].query_code, ours[name].status) != (error.get("code", name), error.get("httpStatusCode", 400))
    ]

    assert wrong == []
