"""What is served beside the API on the same port, by path prefix: metrics and the console."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from admin.app import make_application
from admin.console import About, make_console
from admin.forms import BadInput, TooLarge
from admin.lately import Lately
from admin.links import PREFIX
from cqs import __version__, observers, parts
from cqs.api.http.body import body_of
from cqs.api.http.bounds import DEFAULT_BOUNDS
from cqs.api.metrics_page import metrics_mounts
from cqs.api.wire_errors import BadRequest, CrowdedOut, RequestEntityTooLarge, RequestTimeout
from cqs.backends import CacheServers, folder_of, place_of
from cqs.banner import Start
from cqs.clock import Clock
from cqs.config import Config
from cqs.errors import ServiceUnavailable
from cqs.listen import endpoint_of
from cqs.service.accounts import Accounts
from cqs.service.engine import Engine
from cqs.store.interface import Store

Mounts = Mapping[str, web.Application]


class FormUpload:
    """A console form that is being received, read like an API request. Implements `admin.forms.Upload`."""

    def __init__(self, request: web.BaseRequest, bytes_max: int) -> None:
        self._body = body_of(request, replace(DEFAULT_BOUNDS, body_bytes_max=bytes_max))
        self._bytes_max = bytes_max

    async def read(self) -> bytes:
        """Reads the whole form; call once. Raises TooLarge, BadInput, ServiceUnavailable."""
        try:
            return await self._body.read()
        except RequestEntityTooLarge as error:
            raise TooLarge.than(self._bytes_max) from error
        except RequestTimeout as error:
            raise BadInput("The form took too long to arrive.") from error
        except CrowdedOut as error:
            raise ServiceUnavailable(str(error)) from error
        except BadRequest as error:
            raise BadInput("The form broke off.") from error

    def leave(self) -> None:
        """Idempotent."""
        self._body.leave()


def lately_of(config: Config, clock: Clock) -> list[Lately]:
    """The witness that feeds the console's recent history; none without a console."""
    return [Lately(clock)] if config.monitoring.is_console else []


def console_url(config: Config, endpoint: str) -> str:
    """The console's URL for a server at this endpoint; "" if it is off."""
    return endpoint + PREFIX if config.monitoring.is_console else ""


def start_of(engine: Engine, config: Config, port: int) -> Start:
    """The startup facts of a server on this port."""
    endpoint = endpoint_of(config.listening, port)
    return Start(
        endpoint=endpoint,
        data=place_of(config),
        auth=config.security.auth,
        region=config.behaviour.region,
        account=config.behaviour.account,
        queue_count=len(engine.registry),
        console=console_url(config, endpoint),
    )


async def mounts_of(
    engine: Engine,
    store: Store,
    accounts: Accounts,
    config: Config,
    lately: list[Lately],
    cache: CacheServers,
    troubles: Callable[[], Sequence[str]] = tuple,
) -> Mounts:
    """The applications that the settings enable; `troubles`: what the server does without, as sentences. Raises
    StoreUnavailable."""
    origins = parts.origins_of(config)
    mounts = metrics_mounts(engine, origins) if config.monitoring.is_metrics else {}
    if lately:
        console = make_console(
            engine, accounts, await store.secret(), _about(engine, config, cache, troubles), lately=lately[0]
        )
        mounts[PREFIX] = make_application(console, FormUpload)
    return mounts


def _about(engine: Engine, config: Config, cache: CacheServers, troubles: Callable[[], Sequence[str]]) -> About:
    folder = folder_of(config.storage)
    build = engine.metrics.build
    return About(
        version=__version__,
        node=platform.node(),
        mode=config.security.auth,
        home=config.behaviour.account,
        data="" if config.storage.is_in_memory else str(folder),
        reports=Path(reports).expanduser() if (reports := config.monitoring.reports_dir) else folder / "reports",
        journal=observers.journal_folder(config),
        public_url=config.listening.public_url,
        nodes=None if engine.cluster.is_alone else engine.cluster.nodes,
        servers=cache.reports if cache.is_redis else None,
        place=cache.place,
        proxies=config.security.trusted_proxies,
        is_forwarded_trusted=config.listening.is_forwarded_trusted,
        troubles=troubles,
        backends=f"{build.cache} cache, {build.store} store",
    )
