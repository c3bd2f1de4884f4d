"""The listener's TLS certificate, reloaded on SIGHUP without interrupting connections.

    new connection ─► hello ─► the callback sets the current context ─► handshake with its certificate
    SIGHUP         ─► a new context from the files becomes the current one, or (bad files) the old one stays

A context in use is never modified, so files that are only half written do no harm.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from pathlib import Path

from cqs.config.settings import Listening
from cqs.config.values import with_home
from cqs.errors import ConfigError

_DAY_S = 86_400


class Certificate:
    """A certificate and its key, from files."""

    def __init__(self, cert: Path, key: Path) -> None:
        """Raises ConfigError if the files are unusable."""
        self._cert = cert
        self._key = key
        self._present = self._read()
        self.context = self._read()
        """For the listener."""
        self.context.sni_callback = self._choose

    def reload(self) -> None:
        """Uses the files' current content for new connections. Raises ConfigError, and changes nothing then."""
        self._present = self._read()

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        """Called at each handshake, whether or not the client names a host."""
        connection.context = self._present

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        for name, path in (("tls_cert", self._cert), ("tls_key", self._key)):
            try:
                path.read_bytes()
            except OSError as error:
                raise ConfigError(f"{name}: file {path} can't be read: {error.strerror}") from error
        try:
            context.load_cert_chain(self._cert, self._key, password=_no_password)
        except ssl.SSLError as error:
            reason = error.reason.lower().replace("_", " ") if error.reason else "not PEM, or encrypted"
            raise ConfigError(
                f"tls_cert: {self._cert} and {self._key} are not a certificate and its unencrypted PEM key ({reason})"
            ) from error
        except OSError as error:  # Replaced just now.
            raise ConfigError(f"tls_cert: {self._cert} or {self._key} can't be read: {error.strerror}") from error
        return context


def certificate_of(listening: Listening) -> Certificate | None:
    """The configured certificate; None for plain HTTP. Raises ConfigError."""
    given = {"tls_cert": listening.tls_cert, "tls_key": listening.tls_key}
    missing = [name for name, path in given.items() if not path]
    if len(missing) == 2:
        return None
    if missing:
        raise ConfigError(f"{missing[0]}: not given; TLS needs both tls_cert and tls_key")
    return Certificate(with_home(listening.tls_cert), with_home(listening.tls_key))


def days_left(cert: Path, key: Path) -> float:
    """Days until the certificate expires, below 0 if it has expired. Does a handshake in memory with the certificate
    itself as the only authority. Raises ConfigError if the files are unusable."""
    server = Certificate(cert, key).context
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags = ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(cert)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server)
    there = server.wrap_bio(to_server, to_client, server_side=True)
    while True:
        try:
            here.do_handshake()
            break
        except ssl.SSLWantReadError:
            with contextlib.suppress(ssl.SSLWantReadError):
                there.do_handshake()
        except ssl.SSLCertVerificationError as error:
            if error.verify_message == "certificate has expired":
                return -1.0
            raise ConfigError(f"tls_cert: {cert} can't be verified: {error.verify_message}") from error
    told = here.getpeercert()
    assert told is not None
    return (ssl.cert_time_to_seconds(str(told["notAfter"])) - time.time()) / _DAY_S


def _no_password() -> str:
    """Fails instead of prompting: nobody could answer."""
    raise ssl.SSLError(1, "the key is encrypted")
