"""The journal's schema in Spark, derived from `cqs.events.Line`, so that writer and reader can't diverge."""

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
"""The meaning of an omitted field; `counts` has no default."""

FIELDS = [field.name for field in msgspec.structs.fields(Line)]
REQUIRED = [field.name for field in msgspec.structs.fields(Line) if field.required]
EVENT_NAMES = [name.value for name in EventName]


def line_schema() -> StructType:
    """Every field of a line that holds one event, and CORRUPT."""
    return _schema(is_text=False)


def text_schema() -> StructType:
    """Every field of a line of text, in columns, and CORRUPT for an invalid line."""
    return _schema(is_text=True)


def _schema(*, is_text: bool) -> StructType:
    columns = [
        StructField(
            field.name, ArrayType(_TYPES[field.type]) if is_text and field.name in COLUMNS else _TYPES[field.type]
        )
        for field in msgspec.structs.fields(Line)
    ]
    return StructType([*columns, StructField(CORRUPT, StringType())])
