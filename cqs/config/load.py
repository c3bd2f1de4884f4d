"""Resolves settings: flags take precedence over `CQS_*` environment variables, these over the TOML file, and the file
over the defaults.

Every mistake is a one-line ConfigError with the key, its origin, and what is expected or the nearest existing key. A
secret may also be read from a file (`CQS_X_FILE`, `--x-file`, `x_file`), so that it appears in no process list.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from cqs.config import values
from cqs.config.queues import DeclaredQueue, read_queues
from cqs.config.schema import Schema, Setting, sections
from cqs.config.settings import Config, settings
from cqs.errors import ConfigError

S = TypeVar("S", bound=Schema)
_PREFIX = "CQS_"
_FILE_VARIABLE = "CQS_CONFIG"
_KUBERNETES = re.compile(r"CQS_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)")
_KUBERNETES_PORT = re.compile(r"(tcp|udp|sctp)://\S+")
"""Kubernetes sets these in every pod that sees a Service named `cqs` or `cqs-…`, as well as CQS_PORT=tcp://… or
CQS_…_PORT."""


class Given(NamedTuple):
    """A value as written, and its origin."""

    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Loaded(Generic[S]):
    """The settings, the origin of each (by name), and the queues that the file declares."""

    config: S
    origins: dict[str, str]
    queues: tuple[DeclaredQueue, ...]


def load(flags: Mapping[str, object], environ: Mapping[str, str], file: str | None = None) -> Loaded[Config]:
    """`flags`: by setting name, as given on the command line (absent or None = not given). Raises ConfigError."""
    return load_schema(Config, flags, environ, file)


def load_schema(
    schema: type[S], flags: Mapping[str, object], environ: Mapping[str, str], file: str | None = None
) -> Loaded[S]:
    """Like `load`, for any schema of sections."""
    known = {setting.name: setting for setting in settings(schema)}
    path = file or environ.get(_FILE_VARIABLE)
    table = _read_file(path) if path else {}
    declared = table.pop("queue", [])
    given = _from_file(table, known, f"file {path}") | _from_environment(environ, known) | _from_flags(flags, known)
    origins = {name: given[name].origin if name in given else "default" for name in known}
    parts = {section: {} for section, _ in sections(schema)}  # type: dict[str, dict[str, Any]]
    for setting in known.values():
        parts[setting.section][setting.field] = (
            _read(setting, given[setting.name]) if setting.name in given else setting.default
        )
    built = {section: section_class(**parts[section]) for section, section_class in sections(schema)}
    account = parts[known["account"].section][known["account"].field] if "account" in known else ""
    return Loaded(schema(**built), origins, read_queues(declared, f"file {path}", account, frozenset(known)))


def _read(setting: Setting, given: Given) -> object:
    try:
        return setting.kind.read(given.value)
    except (ValueError, TypeError):
        shown = "that value" if setting.kind.is_secret else f"{given.value!r}"
        raise ConfigError(
            f"{setting.name}: {shown} ({given.origin}) can't be used; expected {setting.kind.expects}"
        ) from None


def _read_file(path: str) -> dict[str, Any]:
    try:
        content = values.with_home(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"config: file {path} can't be read: {reason}") from error
    try:
        return tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"config: file {path} is not valid TOML: {error}") from error


def _from_file(table: Mapping[str, object], known: Mapping[str, Setting], origin: str) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for key, value in table.items():
        name, is_file = _name(key.replace("-", "_"), known)
        if name is None and _is_table(value):
            raise _unknown_table(key, origin)
        if name is None:
            raise _unknown(key, origin, key.replace("-", "_"), sorted(known))
        _add(found, name, _given(str(value) if is_file else value, origin, name, is_file))
    return found


def _from_environment(environ: Mapping[str, str], known: Mapping[str, Setting]) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for variable in sorted(key for key in environ if key.startswith(_PREFIX) and key != _FILE_VARIABLE):
        if _is_of_kubernetes(variable, environ[variable]):
            continue
        origin = f"environment {variable}"
        name, is_file = _name(variable.removeprefix(_PREFIX).lower(), known)
        if name is None:
            names = [setting.variable for setting in known.values()]
            raise _unknown(variable, "environment", variable, names)
        _add(found, name, _given(environ[variable], origin, name, is_file))
    return found


def _is_of_kubernetes(variable: str, value: str) -> bool:
    is_port = variable.endswith("_PORT") and _KUBERNETES_PORT.fullmatch(value) is not None
    return is_port or _KUBERNETES.fullmatch(variable) is not None


def _from_flags(flags: Mapping[str, object], known: Mapping[str, Setting]) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for key, value in flags.items():
        if value is None:
            continue
        name, is_file = _name(key, known)
        assert name is not None, f"flag {key} is no setting"
        _add(found, name, _given(value, f"flag {known[name].flag}{'-file' if is_file else ''}", name, is_file))
    return found


def _add(found: dict[str, Given], name: str, given: Given) -> None:
    """Raises ConfigError for a second value of the same source: as itself and as a file, or in two spellings."""
    if name in found:
        origins = dict.fromkeys((found[name].origin, given.origin))
        raise ConfigError(f"{name}: given twice ({' and '.join(origins)}); write it once")
    found[name] = given


def _name(key: str, known: Mapping[str, Setting]) -> tuple[str | None, bool]:
    """The setting that a key refers to, and whether the key names a file with the value."""
    if key in known:
        return key, False
    name = key.removesuffix("_file")
    return (name, True) if name != key and name in known and known[name].kind.is_secret else (None, False)


def _given(value: object, origin: str, name: str, is_file: bool) -> Given:
    if not is_file:
        return Given(value, origin)
    try:
        return Given(values.with_home(str(value)).read_text().rstrip("\r\n"), f"{origin}={value}")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}: file {value} ({origin}) can't be read: {error}") from error


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _unknown_table(key: str, origin: str) -> ConfigError:
    if key in ("user", "users"):
        return ConfigError(f"{key}: no such table ({origin}); [[user]] belongs in the file that users_file names")
    return ConfigError(
        f"{key}: no such table ({origin}); the only one is [[queue]]; settings go above it, outside any table"
    )


def _unknown(key: str, origin: str, spelled: str, names: list[str]) -> ConfigError:
    nearest = difflib.get_close_matches(spelled, names, n=1, cutoff=0.4)
    hint = f"; did you mean {nearest[0]}?" if nearest else ";"
    return ConfigError(f"{key}: no such setting ({origin}){hint} `cqs config` lists all")
