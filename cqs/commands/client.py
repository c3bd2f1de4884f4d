"""A client of the JSON protocol for the commands, built on the standard library alone: one connection, kept open, and
opened anew if the server has closed it meanwhile (`keep_alive`).

The endpoint is `--endpoint`, else AWS_ENDPOINT_URL_SQS, else AWS_ENDPOINT_URL, else where `cqs serve` would listen
according to its own settings (CQS_PUBLIC_URL, CQS_HOST, CQS_PORT, CQS_CONFIG). Requests are signed if AWS_ACCESS_KEY_ID
and AWS_SECRET_ACCESS_KEY are set. An https server's certificate is verified against AWS_CA_BUNDLE (which `aws` uses,
too), else against the system's authorities.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from cqs.commands.signer import Keys, signed
from cqs.errors import ConfigError, CqsError

TIMEOUT_S = 30.0
"""For a response, in addition to the time that the call itself waits."""
_HINTS = {
    "MissingAuthenticationToken": ": set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key of this server",
    "InvalidClientTokenId": ": AWS_ACCESS_KEY_ID is {}, which is no key of this server, or a disabled one",
}
_IN_HEADERS = ("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")
_NOT_FOUND = ("NonExistentQueue", "QueueDoesNotExist", "ResourceNotFoundException")


class CallFailed(CqsError):
    """The server refused the call or could not be reached. `code` is SQS's error code, "" without a response."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code

    @property
    def is_not_found(self) -> bool:
        return self.code.endswith(_NOT_FOUND)

    def hinted(self, hint: str) -> CallFailed:
        """The same failure, with what to do."""
        return CallFailed(f"{str(self).removesuffix('.')}: {hint}", self.code)


class Client:
    """Calls actions of one server. Not thread-safe."""

    def __init__(
        self, endpoint: str, *, region: str = "us-east-1", keys: Keys | None = None, ca_file: str = ""
    ) -> None:
        """Raises ConfigError for an invalid endpoint URL or an unusable `ca_file`."""
        wrong = ConfigError(f"endpoint: {endpoint!r} can't be used; expected a URL such as http://127.0.0.1:9324")
        try:
            parts = urlsplit(endpoint)
            host, port = parts.hostname, parts.port
            (host or "").encode("idna")
        except ValueError as error:
            raise wrong from error
        if parts.scheme not in ("http", "https") or not host or not endpoint.isascii():
            raise wrong
        self.endpoint = endpoint.rstrip("/")
        self._host = parts.netloc.rpartition("@")[2]
        self._path = parts.path.rstrip("/") + "/"
        self._region = region
        self._keys = keys
        self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        if parts.scheme == "https":
            context = _context_of(ca_file)
            self._connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)

    def call(self, action: str, *, wait_s: float = 0, **members: object) -> dict[str, Any]:
        """Returns the response; members that are None are not sent. Raises CallFailed."""
        body = json.dumps({name: value for name, value in members.items() if value is not None}).encode()
        headers = {
            "Host": self._host,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"AmazonSQS.{action}",
            "x-amzn-query-mode": "true",
        }
        if self._keys is not None:
            headers = signed(self._keys, self._region, self._path, headers, body, datetime.now(UTC))
        status, code, text = self._exchange(headers, body, TIMEOUT_S + wait_s)
        try:
            answer = json.loads(text) if text else {}
        except ValueError as error:
            raise CallFailed(f"{self.endpoint} does not speak SQS's JSON protocol (status {status})") from error
        if status != 200:
            told, hint = str(answer.get("message", f"status {status}")), self._hint(code)
            raise CallFailed(told.removesuffix(".") + hint if hint else told, code)
        return dict(answer)

    def queue_url(self, name: str) -> str:
        """The URL of the queue with this name; a URL is returned unchanged. Raises CallFailed, which names the queue
        and what to do if there is none."""
        if "/" in name:
            return name
        try:
            return str(self.call("GetQueueUrl", QueueName=name)["QueueUrl"])
        except CallFailed as error:
            if not error.is_not_found:
                raise
            raise error.hinted(f"{name!r}; `cqs ls` lists the queues, `cqs create` creates one") from error

    def close(self) -> None:
        self._connection.close()

    def _hint(self, code: str) -> str:
        """What to do about an error, where SQS's text does not say."""
        if code == "InvalidClientTokenId" and self._keys is not None and self._keys.token:
            return ", and without AWS_SESSION_TOKEN"
        if (code == "MissingAuthenticationToken") is (self._keys is None):
            return _HINTS.get(code, "").format(self._keys and self._keys.key_id)
        return ""

    def _exchange(self, headers: Mapping[str, str], body: bytes, timeout_s: float) -> tuple[int, str, bytes]:
        """Status, error code and body."""
        connection = self._connection
        connection.timeout = timeout_s
        if connection.sock is not None and _is_over(connection.sock):
            connection.close()
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            connection.request("POST", self._path, body, dict(headers))
            answer = connection.getresponse()
            code = answer.headers.get("x-amzn-query-error", "").partition(";")[0]
            return answer.status, code, answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise CallFailed(f"no answer from {self.endpoint}: {_reason(error)}") from error


def _is_over(kept: socket.socket) -> bool:
    """Whether the server has closed an idle connection: it sends nothing else between two calls."""
    look = select.poll()
    look.register(kept, select.POLLIN)
    return bool(look.poll(0))


def _reason(error: Exception) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"{error.verify_message}; AWS_CA_BUNDLE may name a file with its authority"
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER"):
            return "it does not speak HTTPS; perhaps HTTP (http://…)"
        case ConnectionRefusedError():
            return f"{error.strerror}; `cqs serve` starts a server, --endpoint or AWS_ENDPOINT_URL_SQS names another"
        case ConnectionResetError() | BrokenPipeError():
            return "it closed the connection; perhaps it speaks HTTPS (https://…)"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _context_of(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise ConfigError(f"AWS_CA_BUNDLE: {ca_file} has no certificates that can be used: {error}") from error


def endpoint_of(given: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """The server's endpoint, as described above. Raises ConfigError for wrong settings."""
    for value in (given, environ.get("AWS_ENDPOINT_URL_SQS"), environ.get("AWS_ENDPOINT_URL")):
        if value:
            return value
    from cqs.config.load import load
    from cqs.listen import endpoint_of as listening_at

    listening = load({}, environ).config.listening
    return listening.public_url or listening_at(listening)


def client_of(given: str | None, environ: Mapping[str, str] = os.environ) -> Client:
    """A client for the server that flag and environment select. Raises ConfigError for unusable values."""
    for name in _IN_HEADERS:
        if not re.fullmatch(r"[!-~]*", environ.get(name, "")):
            raise ConfigError(f"{name}: can't be used; expected letters, digits and signs, without spaces")
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    key_id, secret = environ.get("AWS_ACCESS_KEY_ID", ""), environ.get("AWS_SECRET_ACCESS_KEY", "")
    keys = Keys(key_id, secret, environ.get("AWS_SESSION_TOKEN", "")) if key_id and secret else None
    return Client(endpoint_of(given, environ), region=region, keys=keys, ca_file=environ.get("AWS_CA_BUNDLE", ""))
