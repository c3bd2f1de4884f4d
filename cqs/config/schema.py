"""Declarations of settings. All names of a setting follow from its field in a section:

    field of a section      flag               environment         TOML key
    port                    --port             CQS_PORT            port
    is_in_memory            --in-memory        CQS_IN_MEMORY       in_memory
    header_timeout_ms       --header-timeout   CQS_HEADER_TIMEOUT  header_timeout

`is_` and `_ms` appear only in the code; users type neither. Names are unique across sections, so the TOML file needs no
tables and a setting has the same name everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Protocol, cast

from cqs.config.values import Kind


class Schema(Protocol):
    """Any dataclass whose fields are sections."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting: `section` and `field` say where its value goes, `name` is its name for users."""

    name: str
    section: str
    field: str
    kind: Kind
    default: object
    help: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "CQS_" + self.name.upper()


def setting(default: Any, kind: Kind, help_text: str) -> Any:
    """Declares a field that is a setting, with its default."""
    return field(default=default, metadata={"kind": kind, "help": help_text})


def sections(schema: type[Schema]) -> Iterator[tuple[str, type[Schema]]]:
    """Name and class of each section of a schema, in order."""
    for part in fields(schema):
        assert part.default_factory is not MISSING, f"section {part.name} has no default"
        yield part.name, cast("type[Schema]", part.default_factory)


def settings_of(schema: type[Schema]) -> Iterator[Setting]:
    """All settings that a schema declares, in order."""
    for section, section_class in sections(schema):
        for part in fields(section_class):
            kind, text = part.metadata["kind"], part.metadata["help"]
            yield Setting(_user_name(part.name), section, part.name, kind, part.default, text)


def _user_name(field_name: str) -> str:
    return field_name.removeprefix("is_").removesuffix("_ms")
