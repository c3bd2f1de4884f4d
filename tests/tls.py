"""A certificate for 127.0.0.1 that is valid for the time of a test."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """The TLS contexts of a server that presents it and of a client that trusts nothing else."""

    server: ssl.SSLContext
    client: ssl.SSLContext


def certificate(stem: str) -> Certificate:
    """Writes `<stem>.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    path = Path(f"{stem}.pem")
    plain = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + signed.public_bytes(pem))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return Certificate(server, ssl.create_default_context(cadata=signed.public_bytes(pem).decode()))
