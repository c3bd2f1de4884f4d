"""All settings, each declared once, in sections. Their names for users follow from the fields: `cqs.config.schema`."""

from __future__ import annotations

from dataclasses import dataclass, field

from cqs.config import values
from cqs.config.backend_settings import Backends, Clustering
from cqs.config.bound_settings import Bounds
from cqs.config.schema import Schema, Setting, setting, settings_of
from cqs.proxies import Network

_LOCAL_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*")
_MASTER_KEYS = r"([A-Za-z0-9+/]{43}=(\s*,\s*[A-Za-z0-9+/]{43}=)*)?"
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Listening:
    """Network"""

    host: str = setting(
        "127.0.0.1",
        values.text("host", pattern=r"\S+", expects="a host name or an address"),
        "Address to listen on, or a name for all of its addresses. 0.0.0.0 means all of IPv4, :: all of IPv6.",
    )
    port: int = setting(9324, values.integer(0, 65_535), "Port to listen on; 0 picks a free one and prints it.")
    is_open_to_network: bool = setting(
        False,
        values.switch(),
        "Allow host to be a non-loopback address while auth is open: anyone who reaches the port may then do anything.",
    )
    public_url: str = setting(
        "", values.base_url(), "Base of the queue URLs that are returned. Empty: the host that the client used."
    )
    is_forwarded_trusted: bool = setting(
        True,
        values.switch(),
        "Use X-Forwarded-Proto, -Host and -Port from any sender when building queue URLs and links. Never affects "
        "authorization; for that, see trusted_proxies.",
    )
    origins: tuple[str, ...] = setting(
        _LOCAL_ORIGINS,
        values.origins(),
        "Origins of web pages that may call the API (CORS); requests with any other Origin are refused. `:*` matches "
        "any port.",
    )
    tls_cert: str = setting(
        "",
        values.path("file", "the path of a PEM file"),
        "Certificate chain. With it the port speaks HTTPS only. Reloaded on SIGHUP.",
    )
    tls_key: str = setting(
        "", values.path("file", "the path of a PEM file"), "Private key of the certificate, unencrypted."
    )


@dataclass(frozen=True, slots=True)
class Storage:
    """Storage"""

    data_dir: str = setting(
        "~/.local/share/cqs",
        values.path("folder", "the path of a folder", is_needed=True),
        "Directory of the SQLite database; created if missing.",
    )
    is_in_memory: bool = setting(False, values.switch(), "Keep everything in memory; nothing survives a restart.")
    body_memory: int = setting(
        256_000_000,
        values.size(0, 1_000_000_000_000),
        "Memory for message bodies; the others are read from the store when they are received.",
    )
    is_leases: bool = setting(
        True,
        values.switch(),
        "Store receives durably, so that messages in flight stay hidden, and counted, when the cache is lost.",
    )


@dataclass(frozen=True, slots=True)
class Behaviour:
    """AWS behaviour"""

    region: str = setting(
        "us-east-1",
        values.text(pattern=r"[a-z0-9-]{1,32}", expects='a region such as "us-east-1"'),
        "Region in queue ARNs.",
    )
    account: str = setting(
        "000000000000",
        values.text(pattern=r"[0-9]{12}", expects="twelve digits"),
        "Account of clients whose access key is not itself a twelve-digit account id.",
    )
    is_purge_wait: bool = setting(True, values.switch(), "Refuse to purge a queue twice within 60 s, as AWS does.")
    is_recreate_wait: bool = setting(
        False, values.switch(), "Refuse to create a queue within 60 s of deleting one with the same name, as AWS does."
    )
    is_strict: bool = setting(
        False, values.switch(), "Offer only AWS's actions; PeekMessages and the other extensions are disabled."
    )


@dataclass(frozen=True, slots=True)
class Security:
    """Authentication and authorization"""

    auth: str = setting(
        "open",
        values.choice("open", "signed", "enforced"),
        "open: any credentials are accepted. signed: requests must be signed (Signature Version 4) with an access key "
        "of this server, and reach only the queues of its account. enforced: as signed, and queue policies apply.",
    )
    master_key: str = setting(
        "",
        values.text("keys", pattern=_MASTER_KEYS, expects="32 bytes in base64, or several such separated by commas",
                    is_secret=True),
        "Encrypts the secrets of access keys. With several, the first encrypts and any decrypts. Empty: generated in "
        "data_dir.",
    )  # fmt: skip
    users_file: str = setting(
        "",
        values.path("file", "the path of a TOML file"),
        "[[user]] declarations with access keys; missing users are created at startup. Must be readable by "
        "its owner only.",
    )
    trusted_proxies: tuple[Network, ...] = setting(
        (),
        values.networks(),
        "Proxies whose X-Forwarded-For, -Proto and -Host are trusted for policy conditions and signatures.",
    )


@dataclass(frozen=True, slots=True)
class Logging:
    """Logging"""

    log_level: str = setting(
        "info", values.choice("debug", "info", "warning", "error"), "Minimum level to log; debug logs every request."
    )
    log_format: str = setting(
        "auto", values.choice("auto", "json", "text"), "auto: text on a terminal, otherwise one JSON object per line."
    )


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Monitoring"""

    is_metrics: bool = setting(
        True, values.switch(), "Serve /metrics and /jmx, without authentication, to anyone who reaches the port."
    )
    is_console: bool = setting(
        True,
        values.switch(),
        "Serve the console at /ADMIN: from this machine only until a user has a password, then with a login.",
    )
    traces: str = setting(
        "off",
        values.choice("off", "otlp"),
        "otlp: send OpenTelemetry traces to OTEL_EXPORTER_OTLP_ENDPOINT; needs the optional dependency otel.",
    )
    reports_dir: str = setting(
        "",
        values.path("folder", "the path of a folder"),
        "Directory of the audit reports that the console shows. Empty: reports in data_dir.",
    )
    queue_series: int = setting(
        500,
        values.integer(0, 100_000),
        "Maximum number of queues with their own metrics; the others are counted under _other.",
    )
    queue_series_patterns: tuple[str, ...] = setting(
        (), values.name_patterns(), "Names of queues for which half of queue_series is reserved."
    )


@dataclass(frozen=True, slots=True)
class Journaling:
    """Event journal"""

    journal: str = setting(
        "off",
        values.choice("off", "sampled", "full"),
        "Record what happens to messages: off = none, sampled = one in journal_sample, full = all.",
    )
    journal_dir: str = setting(
        "",
        values.path("folder", "the path of a folder"),
        "Directory of the journal. Empty: journal in data_dir. in_memory needs it.",
    )
    journal_node: str = setting(
        "",
        values.text("name", pattern=r"[A-Za-z0-9._-]{0,64}", expects="up to 64 letters, digits, dots and dashes"),
        "Name of this node in the journal. Empty: the host name.",
    )
    journal_sample: int = setting(
        100, values.integer(1, 1_000_000), "With journal = sampled, one message in this many is recorded."
    )
    journal_file_max: int = setting(
        64_000_000, values.size(10_000, 1_000_000_000), "Size at which a journal file is closed and compressed."
    )
    journal_file_age_ms: int = setting(
        600_000, values.duration(1_000, 24 * _HOUR_MS), "Age at which a journal file is closed and compressed."
    )
    journal_max: int = setting(
        10_000_000_000,
        values.size(0, 1_000_000_000_000_000),
        "Maximum disk space of closed journal files; beyond it the oldest are deleted.",
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
