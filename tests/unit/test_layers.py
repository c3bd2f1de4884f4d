"""Enforces the layers of the architecture: imports only point down, and each external library has one home.

cqs.server, cli, commands, config …    the composition root
cqs.api │ admin │ cqs.consumer         doors; siblings never import each other
cqs.service                            all SQS semantics
cqs.witnesses, cqs.journal             recipients of events
cqs.cluster                            pure decisions without awaits
cqs.metrics                            the metrics
cqs.events                             the events for witnesses (uses the cache's types)
cqs.cache │ cqs.store                  an interface and its backends
cqs.*                                  the nouns
"""

from __future__ import annotations

import ast
import sys
from graphlib import TopologicalSorter

import pytest

from tests.unit.sources import Source, sources

_ROOT_MODULES = (
    "server cli __main__ commands config logs listen banner boot observers parts people doors tls backends spawn "
    "tracing doctor slot stop workers surroundings open_files"
)
_LAYERS = [
    {"cqs"},
    {"cqs.cache", "cqs.store"},
    {"cqs.events", "cqs.cluster", "cqs.metrics"},
    {"cqs.service", "cqs.witnesses", "cqs.journal"},
    {"cqs.api", "admin", "cqs.consumer"},
    {f"cqs.{name}" for name in _ROOT_MODULES.split()},
]
_LEVEL = {package: level for level, layer in enumerate(_LAYERS) for package in layer}
_TOP = len(_LAYERS) - 1

_HOMES = {
    "aiohttp": ("cqs.api", "admin", "cqs.server", "cqs.doors"),
    "httptools": ("cqs.api",),
    "isal": ("cqs.journal.files",),
    "argon2": ("cqs.service.passwords",),
    "cryptography": ("cqs.service.seal",),
    "jinja2": ("admin",),
    "prometheus_client": ("cqs.metrics", "cqs.api", "admin", "cqs.server"),
    "redis": ("cqs.cache.redis", "cqs.testing.fake_redis"),
    "hiredis": ("cqs.cache.redis",),
    "cassandra": ("cqs.store.cassandra",),
    "acsylla": ("cqs.store.cassandra",),
    "sqlite3": ("cqs.store", "spark_jobs.stored"),
    "pyspark": ("spark_jobs",),
    "click": ("cqs.cli", "cqs.commands"),
    "uvloop": ("cqs.server",),
    "opentelemetry": ("cqs.tracing",),
    "boto3": (),
    "botocore": (),
}
_DOOR_WORDS = {"QueueUrl", "QueueUrls", "AmazonSQS", "X-Amz-Target", "x-amz-target", "x-amzn-query-error", "queue_url"}
_NOUNS_MAY_IMPORT = set(sys.stdlib_module_names) | {"msgspec", "cqs"}

OURS = sources("cqs", "admin", "spark_jobs")
SERVER = [source for source in OURS if not source.module.startswith(("cqs.testing", "spark_jobs"))]


def package_of(module: str) -> str:
    """The layer's package that a module belongs to; a module directly in cqs that names no layer is a noun."""
    parts = module.split(".")
    return next((name for name in (".".join(parts[:2]), parts[0]) if name in _LEVEL), "cqs")


def modules_of(source: Source, name: str) -> list[int]:
    """Lines on which the source imports the outside library."""
    return [line for imported, line in source.imports if imported.split(".")[0] == name]


@pytest.mark.parametrize("source", SERVER, ids=lambda source: source.path)
def test_imports_point_down(source: Source) -> None:
    mine = package_of(source.module)
    wrong: list[str] = []
    for imported, line in source.imports:
        if imported.split(".")[0] not in ("cqs", "admin", "spark_jobs") or imported == "cqs.__version__":
            continue
        theirs = package_of(imported)
        is_testing = imported.startswith("cqs.testing")
        is_allowed = theirs == mine or _LEVEL[theirs] < _LEVEL[mine] or _LEVEL[mine] == _TOP
        if is_testing or imported.startswith("spark_jobs") or not is_allowed:
            wrong.append(f"{source.path}:{line}: {mine} imports {imported}")

    assert not wrong, "\n".join(wrong)


def test_only_the_composition_root_is_imported_by_nobody() -> None:
    wrong = [
        f"{source.path}: imports {imported}"
        for source in OURS
        if _LEVEL.get(package_of(source.module)) != _TOP
        for imported, _ in source.imports
        if imported.startswith("cqs.") and _LEVEL[package_of(imported)] == _TOP
    ]

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", sorted(_HOMES))
def test_library_is_imported_only_at_home(library: str) -> None:
    wrong = [
        f"{source.path}:{line}"
        for source in OURS
        if not source.module.startswith(_HOMES[library] or "-")
        for line in modules_of(source, library)
    ]

    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other() -> None:
    """Not even for types: what two modules need belongs in a third one."""
    modules = {source.module for source in OURS}
    imports = {
        source.module: {one if one in modules else one.rpartition(".")[0] for one, _ in source.imports} & modules
        for source in OURS
    }

    TopologicalSorter(imports).prepare()


def test_nouns_need_nothing_but_the_standard_library_and_msgspec() -> None:
    wrong = [
        f"{source.path}:{line}: {imported}"
        for source in SERVER
        if package_of(source.module) == "cqs" and source.module != "cqs.metrics"
        for imported, line in source.imports
        if imported.split(".")[0] not in _NOUNS_MAY_IMPORT
    ]

    assert not wrong, "\n".join(wrong)


def test_spark_jobs_know_only_the_names_of_events_and_of_hosts() -> None:
    wrong = [
        f"{source.path}:{line}: {imported}"
        for source in sources("spark_jobs")
        for imported, line in source.imports
        if imported.split(".")[0] in ("cqs", "admin") and not imported.startswith(("cqs.events", "cqs.hosts"))
    ]

    assert not wrong, "\n".join(wrong)


def test_decisions_of_the_cluster_wait_for_nothing() -> None:
    wrong = [
        f"{source.path}:{node.lineno}"
        for source in sources("cqs/cluster")
        for node in source.nodes
        if isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith)
    ]

    assert not wrong, "\n".join(wrong)


def test_words_of_the_wire_stay_at_the_doors() -> None:
    wrong = [
        f"{source.path}:{getattr(node, 'lineno', 0)}: {word}"
        for source in SERVER
        if _LEVEL[package_of(source.module)] < _LEVEL["cqs.api"]
        for node in source.nodes
        if (word := _word(node)) in _DOOR_WORDS
    ]

    assert not wrong, "\n".join(wrong)


def _word(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
            return name
    return ""


_CLOCKS = {"time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "datetime.now", "datetime.utcnow"}
_DICE = {"uuid.uuid1", "uuid.uuid4", "os.urandom", "random.SystemRandom"}
_KEY_MATERIAL = {
    "cqs.store.memory",
    "cqs.store.sqlite",
    "cqs.store.cassandra",
    "cqs.service.seal",
    "cqs.service.accounts",
    "admin.session",
}
"""Make keys and tokens, which must come from the system's generator and from no seeded one."""


def test_time_and_chance_come_in_as_parameters() -> None:
    wrong: list[str] = []
    for source in SERVER:
        if source.module in ("cqs.clock", "cqs.ids") or _LEVEL[package_of(source.module)] == _TOP:
            continue
        for node in source.nodes:
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            is_dice = called in _DICE or called.startswith(("random.", "secrets."))
            if called == "random.Random" or (is_dice and source.module.startswith(tuple(_KEY_MATERIAL))):
                continue
            if is_dice or called.removeprefix("datetime.") in _CLOCKS or called in _CLOCKS:
                wrong.append(f"{source.path}:{getattr(node, 'lineno', 0)}: {called}")

    assert not wrong, "\n".join(wrong)
