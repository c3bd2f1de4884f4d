"""The whole system at a glance."""

from __future__ import annotations

from aiohttp import web

from admin.visit import Visit


async def show(visit: Visit) -> web.StreamResponse:
    return visit.page("overview.html")
