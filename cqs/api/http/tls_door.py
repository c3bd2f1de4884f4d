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
from cqs.api.http.shared_door import REST_S, SharedDoor

GOODBYE_S = 1.0
"""How long a closing connection waits for the peer's TLS close_notify."""
_log = logging.getLogger("cqs.http")


class TlsDoor(SharedDoor):
    """Serves one listening socket. `factory` creates the protocol of a connection whose handshake is complete."""

    def __init__(
        self,
        listening: socket.socket,
        factory: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext,
        connections: Connections,
        bounds: Bounds,
        *,
        is_shared: bool = False,
    ) -> None:
        """`is_shared`: other processes accept from the same socket."""
        super().__init__(listening, factory, rest_s=REST_S if is_shared else 0.0)
        self._tls = tls
        self._connections = connections
        self._bounds = bounds
        self._handshakes: Counter[str] = Counter()

    async def take(self, accepted: socket.socket, address: str) -> None:
        if not self._connections.has_room(address, self._handshakes.total(), self._handshakes[address]):
            accepted.close()
            return
        self._handshakes[address] += 1
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
            self._handshakes[address] -= 1
            if not self._handshakes[address]:
                del self._handshakes[address]
