"""The journal's schema as Spark has it, made from `cqs.events.Line`, so that writer and reader can't drift apart."""

from __future__ import annotations

import msgspec
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from cqs.events import COLUMNS, EventName, Line

CORRUPT = "_corrupt"
_TYPES: dict[object, DataType] = {
    str: StringType(),
    EventName: StringType(),
    int: LongType(),
    bool: BooleanType(),
    dict[str, int]: MapType(StringType(), LongType()),
}
DEFAULTS: dict[str, float | int | str | bool] = {
    field.name: field.default for field in msgspec.structs.fields(Line) if field.default is not msgspec.NODEFAULT
}
"""What a field that was left out means; `counts` has no such value."""

FIELDS = [field.name for field in msgspec.structs.fields(Line)]
REQUIRED = [field.name for field in msgspec.structs.fields(Line) if field.required]
EVENT_NAMES = [name.value for name in EventName]


def line_schema() -> StructType:
    """Every field of a line, which is one event, and CORRUPT."""
    return _schema(is_text=False)


def text_schema() -> StructType:
    """Every field of a line of text, which has columns, and CORRUPT for one that is none."""
    return _schema(is_text=True)


def _schema(*, is_text: bool) -> StructType:
    columns = [
        StructField(
            field.name, ArrayType(_TYPES[field.type]) if is_text and field.name in COLUMNS else _TYPES[field.type]
        )
        for field in msgspec.structs.fields(Line)
    ]
    return StructType([*columns, StructField(CORRUPT, StringType())])
