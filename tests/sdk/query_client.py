"""A client with boto3's interface whose calls are made by botocore 1.31.80 in another process over the Query protocol
(see query_bridge.py). Errors are raised as the classes of `exceptions`, so tests can't tell the two apart."""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

_BRIDGE = Path(__file__).with_name("query_bridge.py")


class QueryBridge:
    """The bridge process, shared by all clients of a test session."""

    def __init__(self, python: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), str(_BRIDGE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._ids = itertools.count()
        self._pending: dict[int, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, endpoint: str, access_key: str, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        call_id = next(self._ids)
        reply: Future[dict[str, Any]] = Future()
        line = json.dumps(
            {
                "id": call_id,
                "endpoint": endpoint,
                "access_key": access_key,
                "operation": operation,
                "arguments": _encode(arguments),
            }
        )
        with self._lock:
            self._pending[call_id] = reply
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        return reply.result(timeout=60)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            reply = json.loads(line)
            self._pending.pop(reply["id"]).set_result(reply)
        for pending in list(self._pending.values()):
            pending.set_result({"failure": "the bridge process ended"})


class QueryClient:
    """boto3's client methods, over the bridge. `exceptions` is that of a real boto3 client."""

    def __init__(self, bridge: QueryBridge, endpoint: str, access_key: str, exceptions: Any) -> None:
        self._bridge = bridge
        self._endpoint = endpoint
        self._access_key = access_key
        self.exceptions = exceptions

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            reply = self._bridge.call(self._endpoint, self._access_key, operation, arguments)
            if "failure" in reply:
                raise AssertionError(reply["failure"])
            if "error" in reply:
                error = reply["error"]
                raise getattr(self.exceptions, error["name"], ClientError)(error["response"], error["operation"])
            return _decode(reply["result"])

        return call


def _encode(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    return [_encode(item) for item in value] if isinstance(value, list | tuple) else value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {key: _decode(item) for key, item in value.items()}
    return [_decode(item) for item in value] if isinstance(value, list) else value
