"""Every setting, declared once. From a field follow all its names and texts:

    field of a section      flag               environment         TOML key
    port                    --port             CQS_PORT            port
    is_in_memory            --in-memory        CQS_IN_MEMORY       in_memory
    header_timeout_ms       --header-timeout   CQS_HEADER_TIMEOUT  header_timeout

`is_` and `_ms` are how the code reads them; a user types neither. Names are unique over all sections, so the TOML file
needs no tables and a setting has one word everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Protocol, cast

from cqs.config import values
from cqs.config.values import Kind

_LOCAL_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*")
_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


class Schema(Protocol):
    """Any dataclass whose fields are sections."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting: `section` and `field` say where its value goes, `name` what users call it."""

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


def _setting(default: Any, kind: Kind, help_text: str) -> Any:
    return field(default=default, metadata={"kind": kind, "help": help_text})


@dataclass(frozen=True, slots=True)
class Listening:
    """Where clients find the server"""

    host: str = _setting(
        "127.0.0.1", values.text("host", pattern=r"\S+", expects="a host name or an address"), "Address to listen on."
    )
    port: int = _setting(9324, values.integer(0, 65_535), "Port to listen on; 0 takes a free one and prints it.")
    is_open_to_network: bool = _setting(
        False, values.switch(), "Listen beyond loopback although anyone who reaches the port may do anything."
    )
    public_url: str = _setting(
        "", values.base_url(), "What queue URLs start with. Empty: the host that the client itself used."
    )
    is_forwarded_trusted: bool = _setting(
        True, values.switch(), "Believe X-Forwarded-Proto, -Host and -Port when writing queue URLs."
    )
    origins: tuple[str, ...] = _setting(
        _LOCAL_ORIGINS,
        values.origins(),
        "Web pages that may call the API (CORS); requests with any other Origin are refused. `:*` is any port.",
    )


@dataclass(frozen=True, slots=True)
class Storage:
    """Where messages lie"""

    data_dir: str = _setting(
        "~/.local/share/cqs",
        values.text("folder", pattern=".+", expects="the path of a folder"),
        "Folder of the SQLite database; made when missing.",
    )
    is_in_memory: bool = _setting(False, values.switch(), "Keep everything in memory: nothing survives a restart.")
    body_memory: int = _setting(
        256_000_000, values.size(0, 1_000_000_000_000), "Message bodies kept in memory; the rest is read when received."
    )


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How much like AWS"""

    region: str = _setting(
        "us-east-1",
        values.text(pattern=r"[a-z0-9-]{1,32}", expects='a region such as "us-east-1"'),
        "Region in the ARNs of queues.",
    )
    account: str = _setting(
        "000000000000",
        values.text(pattern=r"\d{12}", expects="twelve digits"),
        "Account of clients whose access key is not itself twelve digits.",
    )
    is_purge_wait: bool = _setting(True, values.switch(), "Refuse a second purge of a queue within 60 s, as AWS does.")
    is_recreate_wait: bool = _setting(
        False, values.switch(), "Refuse to create a queue within 60 s of deleting its namesake, as AWS does."
    )
    is_strict: bool = _setting(
        False, values.switch(), "AWS's actions and nothing else: PeekMessages and the other extensions are unknown."
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """Protection from too many and too slow clients"""

    connections_max: int = _setting(10_000, values.integer(1, 1_000_000), "Open connections in all.")
    connections_per_address_max: int = _setting(
        10_000, values.integer(1, 1_000_000), "Open connections from one address."
    )
    header_timeout_ms: int = _setting(
        10_000, values.duration(100, _HOUR_MS), "For a request's headers to arrive, from its first byte or the connect."
    )
    body_timeout_ms: int = _setting(60_000, values.duration(100, _HOUR_MS), "For a request's body to arrive.")
    keep_alive_ms: int = _setting(
        75_000, values.duration(0, 24 * _HOUR_MS), "How long an idle connection stays open between requests."
    )
    stop_timeout_ms: int = _setting(
        10_000, values.duration(0, 10 * _MINUTE_MS), "How long a stopping server waits for requests it accepted."
    )


@dataclass(frozen=True, slots=True)
class Logging:
    """What it tells"""

    log_level: str = _setting(
        "info", values.choice("debug", "info", "warning", "error"), "Least level that is logged; debug: every request."
    )
    log_format: str = _setting(
        "auto", values.choice("auto", "json", "text"), "auto: text on a terminal, else one JSON object a line."
    )


@dataclass(frozen=True, slots=True)
class Monitoring:
    """What it shows of itself"""

    is_metrics: bool = _setting(
        True, values.switch(), "Answer /metrics and /jmx, unsigned, to whoever reaches the port."
    )
    is_console: bool = _setting(
        True, values.switch(), "Answer /ADMIN: on this machine only until a user has a password, then after a login."
    )
    reports_dir: str = _setting(
        "",
        values.text("folder", expects="the path of a folder"),
        "Folder of audit reports that the console shows. Empty: reports in data_dir.",
    )
    queue_series: int = _setting(
        500, values.integer(0, 100_000), "Queues with metrics of their own; later ones count in _other."
    )
    queue_series_patterns: tuple[str, ...] = _setting(
        (), values.name_patterns(), "Names of queues for which half of those places are kept."
    )


@dataclass(frozen=True, slots=True)
class Journaling:
    """What is written down for the audit"""

    journal: str = _setting(
        "off",
        values.choice("off", "sampled", "full"),
        "Write down what happens to messages: of none, of one in journal_sample, or of all.",
    )
    journal_dir: str = _setting(
        "", values.text("folder", expects="the path of a folder"), "Folder of the journal. Empty: journal in data_dir."
    )
    journal_node: str = _setting(
        "",
        values.text("name", pattern=r"[A-Za-z0-9._-]{0,64}", expects="up to 64 letters, digits, dots and dashes"),
        "What the journal calls this node. Empty: the host's name.",
    )
    journal_sample: int = _setting(100, values.integer(1, 1_000_000), "sampled: one message in so many.")
    journal_file_max: int = _setting(
        64_000_000, values.size(10_000, 1_000_000_000), "Size at which a file is finished and compressed."
    )
    journal_file_age_ms: int = _setting(
        600_000, values.duration(1_000, 24 * _HOUR_MS), "Age at which a file is finished and compressed."
    )
    journal_max: int = _setting(
        10_000_000_000,
        values.size(0, 1_000_000_000_000_000),
        "Disk space of finished files; beyond it the oldest are deleted.",
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, resolved."""

    listening: Listening = field(default_factory=Listening)
    storage: Storage = field(default_factory=Storage)
    behaviour: Behaviour = field(default_factory=Behaviour)
    bounds: Bounds = field(default_factory=Bounds)
    logging: Logging = field(default_factory=Logging)
    monitoring: Monitoring = field(default_factory=Monitoring)
    journaling: Journaling = field(default_factory=Journaling)


def sections(schema: type[Schema]) -> Iterator[tuple[str, type[Schema]]]:
    """Name and class of each section of a schema, in order."""
    for part in fields(schema):
        assert part.default_factory is not MISSING, f"section {part.name} has no default"
        yield part.name, cast("type[Schema]", part.default_factory)


def settings(schema: type[Schema] = Config) -> list[Setting]:
    """All declared settings, in order."""
    return [
        Setting(_user_name(part.name), section, part.name, part.metadata["kind"], part.default, part.metadata["help"])
        for section, section_class in sections(schema)
        for part in fields(section_class)
    ]


def _user_name(field_name: str) -> str:
    return field_name.removeprefix("is_").removesuffix("_ms")
