"""Accepts TLS connections, and counts them from the TCP connect on, so that clients which never finish the handshake
count too.

    accept ─► room? ─► handshake within header_s_max ─► a lane, which is counted by itself
                └ no: closed                     └ failed, or too slow: closed

`loop.create_server` with TLS reports a connection only after its handshake, which a client can delay.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable

from cqs.api.http.bounds import Bounds
from cqs.api.http.connections import Connections

GOODBYE_S = 1.0
"""How long a closing connection waits for the peer's TLS close_notify."""
_REST_S = 0.1
"""The pause after a failed accept, for example when file descriptors run out."""
_log = logging.getLogger("cqs.http")


class TlsDoor:
    """Serves one listening socket. `factory` creates the protocol of a connection whose handshake is complete."""

    def __init__(
        self,
        listening: socket.socket,
        factory: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext,
        connections: Connections,
        bounds: Bounds,
    ) -> None:
        self._listening = listening
        self._factory = factory
        self._tls = tls
        self._connections = connections
        self._bounds = bounds
        self._coming: Counter[str] = Counter()
        self._shaking: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept(), name="tls")
        self._accepting.add_done_callback(lambda _: listening.close())

    def close(self) -> None:
        """Stops accepting; aborts handshakes in progress. Idempotent."""
        self._accepting.cancel()
        for task in self._shaking:
            task.cancel()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(self._listening)
            except OSError as error:
                _log.warning("a connection could not be accepted: %s", error)
                await asyncio.sleep(_REST_S)
                continue
            address = str(peer[0])
            if not self._connections.has_room(address, self._coming.total(), self._coming[address]):
                accepted.close()
                continue
            self._coming[address] += 1
            task = asyncio.create_task(self._shake(accepted, address))
            self._shaking.add(task)
            task.add_done_callback(self._shaking.discard)

    async def _shake(self, accepted: socket.socket, address: str) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._factory,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=self._bounds.header_s_max,
                ssl_shutdown_timeout=GOODBYE_S,
            )
        except (OSError, TimeoutError) as error:
            _log.debug("no TLS with %s: %s", address, error)
        finally:
            self._coming[address] -= 1
            if not self._coming[address]:
                del self._coming[address]
