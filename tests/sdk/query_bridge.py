"""The far end of `tests.sdk.query_client`: calls botocore 1.31.80, the last version with the Query protocol.

Runs in that botocore's own virtual environment and imports nothing of this project. Each call is one JSON line in and
one out, with many concurrent calls; bytes are encoded as {"$bytes": base64}.

    pytest ── {"id", "endpoint", "access_key", "operation", "arguments"} ──► bridge ── Query/XML ──► server
           ◄── {"id", "result"} or {"id", "error": {"name", "response", "operation"}} or {"id", "failure"} ──
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

_PARALLEL_MAX = 32


def decode(value):
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {key: decode(item) for key, item in value.items()}
    return [decode(item) for item in value] if isinstance(value, list) else value


def encode(value):
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    return [encode(item) for item in value] if isinstance(value, list) else value


class Bridge:
    def __init__(self, out):
        self._out = out
        self._out_lock = threading.Lock()
        self._session = botocore.session.Session()
        self._clients = {}
        self._clients_lock = threading.Lock()

    def serve(self, lines):
        with ThreadPoolExecutor(_PARALLEL_MAX) as pool:
            for line in lines:
                pool.submit(self._answer, json.loads(line))

    def _answer(self, call):
        reply = {"id": call["id"]}
        try:
            client = self._client(call["endpoint"], call["access_key"])
            reply["result"] = encode(getattr(client, call["operation"])(**decode(call["arguments"])))
        except ClientError as error:
            reply["error"] = {
                "name": type(error).__name__,
                "response": error.response,
                "operation": error.operation_name,
            }
        except Exception as error:
            reply["failure"] = f"{type(error).__name__}: {error}"
        with self._out_lock:
            self._out.write(json.dumps(reply) + "\n")
            self._out.flush()

    def _client(self, endpoint, access_key):
        key = endpoint, access_key
        with self._clients_lock:
            if key not in self._clients:
                self._clients[key] = self._session.create_client(
                    "sqs",
                    region_name="us-east-1",
                    endpoint_url=endpoint,
                    aws_access_key_id=access_key,
                    aws_secret_access_key="secret",
                    config=Config(retries={"max_attempts": 0}, read_timeout=40, max_pool_connections=_PARALLEL_MAX),
                )
            return self._clients[key]


if __name__ == "__main__":
    Bridge(sys.stdout).serve(sys.stdin)
