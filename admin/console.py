"""The parts of the console, in one value that every page uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from admin.abroad import Abroad
from admin.action_log import ActionLog
from admin.assets import Assets
from admin.grace import Grace
from admin.health import Health
from admin.jobs import Jobs
from admin.journal_search import Searches
from admin.lately import Lately
from admin.rendering import Templates
from admin.session import Sessions
from admin.thrift import Thrift
from admin.throttle import Throttle
from cqs.cache.interface import Shard
from cqs.cache.report import ServerReport
from cqs.proxies import Network
from cqs.service.accounts import Accounts
from cqs.service.engine import Engine
from cqs.store.coordination import Node

Servers = Callable[[], Awaitable[Mapping[str, ServerReport]]]
Nodes = Callable[[], Awaitable[Sequence[Node]]]


@dataclass(frozen=True, slots=True)
class About:
    """What the pages show about the server. `mode` is open, signed or enforced; `data` is the data folder, "" for
    memory."""

    version: str = ""
    node: str = ""
    """The name of this node."""
    mode: str = "open"
    home: str = "000000000000"
    """The server's own account."""
    data: str = ""
    reports: Path | None = None
    """Folder of audit reports."""
    journal: Path | None = None
    """Folder of the event journal; None = it is off."""
    public_url: str = ""
    is_forwarded_trusted: bool = True
    proxies: tuple[Network, ...] = ()
    """Proxies whose X-Forwarded-* headers are trusted."""
    backends: str = ""
    servers: Servers | None = None
    """Asks each cache server for its report, by its name; None = there are none."""
    place: Callable[[Shard], str] = lambda shard: ""
    """The name of the cache server that holds a shard."""
    troubles: Callable[[], Sequence[str]] = tuple
    """What the server does without at the moment, as sentences: what /ready says."""
    nodes: Nodes | None = None
    """Asks which nodes are alive; None = this is the only one."""

    @property
    def is_enforced(self) -> bool:
        return self.mode == "enforced"


@dataclass(frozen=True, slots=True)
class Console:
    """Everything belongs to one event loop."""

    engine: Engine
    accounts: Accounts
    about: About
    sessions: Sessions
    throttle: Throttle
    actions: ActionLog
    lately: Lately
    jobs: Jobs
    grace: Grace
    health: Health
    abroad: Abroad
    thrift: Thrift
    searches: Searches
    assets: Assets
    templates: Templates


NUMBERS_MAX = 10**14
"""Changes and jobs are numbered from a random start below this, so that a number has no meaning for another worker or
node, which may get the next request."""
CONSOLE = web.AppKey("console", Console)


@dataclass(frozen=True, slots=True)
class Skin:
    """Assets and templates; read and compiled once, they can serve several consoles."""

    assets: Assets = field(default_factory=Assets)
    templates: Templates = field(default_factory=Templates)


def make_console(
    engine: Engine,
    accounts: Accounts,
    secret: bytes,
    about: About,
    *,
    lately: Lately | None = None,
    skin: Skin | None = None,
    grace: Grace | None = None,
) -> Console:
    """`secret` is the cluster's, so that every node can read every cookie. `lately` must be one of the engine's
    witnesses; otherwise it receives no events."""
    skin = skin or Skin()
    folder = Path(about.data) / "console" if about.data else None
    return Console(
        engine=engine,
        accounts=accounts,
        about=about,
        sessions=Sessions(secret, engine.clock),
        throttle=Throttle(engine.clock),
        actions=ActionLog(folder),
        lately=lately or Lately(engine.clock),
        jobs=Jobs(engine.clock, first=engine.rng.randrange(NUMBERS_MAX)),
        grace=grace or Grace(engine.clock, first=engine.rng.randrange(NUMBERS_MAX)),
        health=Health(engine),
        abroad=Abroad(engine),
        thrift=Thrift(),
        searches=Searches(),
        assets=skin.assets,
        templates=skin.templates,
    )
