"""Every setting, declared once, in sections. A user's names for it follow from the field's: `cqs.config.schema`."""

from __future__ import annotations

from dataclasses import dataclass, field

from cqs.config import values
from cqs.config.backend_settings import Backends, Clustering
from cqs.config.bound_settings import Bounds
from cqs.config.schema import Schema, Setting, setting, settings_of
from cqs.config.values import Network

_LOCAL_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*")
_MASTER_KEYS = r"([A-Za-z0-9+/]{43}=(\s*,\s*[A-Za-z0-9+/]{43}=)*)?"
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Listening:
    """Where clients find the server"""

    host: str = setting(
        "127.0.0.1", values.text("host", pattern=r"\S+", expects="a host name or an address"), "Address to listen on."
    )
    port: int = setting(9324, values.integer(0, 65_535), "Port to listen on; 0 takes a free one and prints it.")
    is_open_to_network: bool = setting(
        False,
        values.switch(),
        "Listen beyond loopback although auth is open: anyone who reaches the port may do anything.",
    )
    public_url: str = setting(
        "", values.base_url(), "What queue URLs start with. Empty: the host that the client itself used."
    )
    is_forwarded_trusted: bool = setting(
        True,
        values.switch(),
        "Believe X-Forwarded-Proto, -Host and -Port, whoever sends them, when writing queue URLs and links. "
        "Decides no rights: for those there is trusted_proxies.",
    )
    origins: tuple[str, ...] = setting(
        _LOCAL_ORIGINS,
        values.origins(),
        "Web pages that may call the API (CORS); requests with any other Origin are refused. `:*` is any port.",
    )
    tls_cert: str = setting(
        "",
        values.path("file", "the path of a PEM file"),
        "Certificate, and those that lead to its root: then HTTPS is spoken, and nothing else. SIGHUP reads it again.",
    )
    tls_key: str = setting(
        "", values.path("file", "the path of a PEM file"), "Private key of the certificate, not encrypted."
    )


@dataclass(frozen=True, slots=True)
class Storage:
    """Where messages lie"""

    data_dir: str = setting(
        "~/.local/share/cqs",
        values.path("folder", "the path of a folder", is_needed=True),
        "Folder of the SQLite database; made when missing.",
    )
    is_in_memory: bool = setting(False, values.switch(), "Keep everything in memory: nothing survives a restart.")
    body_memory: int = setting(
        256_000_000, values.size(0, 1_000_000_000_000), "Message bodies kept in memory; the rest is read when received."
    )
    is_leases: bool = setting(True, values.switch(), "Store who holds a message, for when the cache is lost.")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How much like AWS"""

    region: str = setting(
        "us-east-1",
        values.text(pattern=r"[a-z0-9-]{1,32}", expects='a region such as "us-east-1"'),
        "Region in the ARNs of queues.",
    )
    account: str = setting(
        "000000000000",
        values.text(pattern=r"[0-9]{12}", expects="twelve digits"),
        "Account of clients whose access key is not itself twelve digits.",
    )
    is_purge_wait: bool = setting(True, values.switch(), "Refuse a second purge of a queue within 60 s, as AWS does.")
    is_recreate_wait: bool = setting(
        False, values.switch(), "Refuse to create a queue within 60 s of deleting its namesake, as AWS does."
    )
    is_strict: bool = setting(
        False, values.switch(), "AWS's actions and nothing else: PeekMessages and the other extensions are unknown."
    )


@dataclass(frozen=True, slots=True)
class Security:
    """Who may do what"""

    auth: str = setting(
        "open",
        values.choice("open", "signed", "enforced"),
        "open: any credentials are accepted. signed: requests must be signed (Signature Version 4) with a key of this "
        "server, and reach the queues of their account. enforced: queue policies decide, too.",
    )
    master_key: str = setting(
        "",
        values.text("keys", pattern=_MASTER_KEYS, expects="32 bytes in base64, or several such separated by commas",
                    is_secret=True),
        "Seals the secrets of access keys; of several the first seals and any opens. Empty: made in data_dir.",
    )  # fmt: skip
    users_file: str = setting(
        "",
        values.path("file", "the path of a TOML file"),
        "[[user]] declarations with access keys; who is missing is made at the start. For its owner's eyes only.",
    )
    trusted_proxies: tuple[Network, ...] = setting(
        (),
        values.networks(),
        "Proxies whose X-Forwarded-For, -Proto and -Host tell a policy where a request came from, and what was signed.",
    )


@dataclass(frozen=True, slots=True)
class Logging:
    """What it tells"""

    log_level: str = setting(
        "info", values.choice("debug", "info", "warning", "error"), "Least level that is logged; debug: every request."
    )
    log_format: str = setting(
        "auto", values.choice("auto", "json", "text"), "auto: text on a terminal, else one JSON object a line."
    )


@dataclass(frozen=True, slots=True)
class Monitoring:
    """What it shows of itself"""

    is_metrics: bool = setting(
        True, values.switch(), "Answer /metrics and /jmx, unsigned, to whoever reaches the port."
    )
    is_console: bool = setting(
        True, values.switch(), "Answer /ADMIN: on this machine only until a user has a password, then after a login."
    )
    traces: str = setting(
        "off",
        values.choice("off", "otlp"),
        "otlp: send OpenTelemetry traces to where OTEL_EXPORTER_OTLP_ENDPOINT says; needs the extra otel.",
    )
    reports_dir: str = setting(
        "",
        values.path("folder", "the path of a folder"),
        "Folder of audit reports that the console shows. Empty: reports in data_dir.",
    )
    queue_series: int = setting(
        500, values.integer(0, 100_000), "Queues with metrics of their own; later ones count in _other."
    )
    queue_series_patterns: tuple[str, ...] = setting(
        (), values.name_patterns(), "Names of queues for which half of those places are kept."
    )


@dataclass(frozen=True, slots=True)
class Journaling:
    """What is written down for the audit"""

    journal: str = setting(
        "off",
        values.choice("off", "sampled", "full"),
        "Write down what happens to messages: of none, of one in journal_sample, or of all.",
    )
    journal_dir: str = setting(
        "", values.path("folder", "the path of a folder"), "Folder of the journal. Empty: journal in data_dir."
    )
    journal_node: str = setting(
        "",
        values.text("name", pattern=r"[A-Za-z0-9._-]{0,64}", expects="up to 64 letters, digits, dots and dashes"),
        "What the journal calls this node. Empty: the host's name.",
    )
    journal_sample: int = setting(100, values.integer(1, 1_000_000), "sampled: one message in so many.")
    journal_file_max: int = setting(
        64_000_000, values.size(10_000, 1_000_000_000), "Size at which a file is finished and compressed."
    )
    journal_file_age_ms: int = setting(
        600_000, values.duration(1_000, 24 * _HOUR_MS), "Age at which a file is finished and compressed."
    )
    journal_max: int = setting(
        10_000_000_000,
        values.size(0, 1_000_000_000_000_000),
        "Disk space of finished files; beyond it the oldest are deleted.",
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings, resolved."""

    listening: Listening = field(default_factory=Listening)
    storage: Storage = field(default_factory=Storage)
    backends: Backends = field(default_factory=Backends)
    clustering: Clustering = field(default_factory=Clustering)
    behaviour: Behaviour = field(default_factory=Behaviour)
    security: Security = field(default_factory=Security)
    bounds: Bounds = field(default_factory=Bounds)
    logging: Logging = field(default_factory=Logging)
    monitoring: Monitoring = field(default_factory=Monitoring)
    journaling: Journaling = field(default_factory=Journaling)


def settings(schema: type[Schema] = Config) -> list[Setting]:
    """All declared settings, in order."""
    return list(settings_of(schema))
