"""Encrypts the secrets of access keys at rest, with AES-256-GCM under a master key from the configuration.

    ┌──────────┬───────────────┬────────────┬──────────────────────────┐
    │ format 1 │ master key 4  │ nonce 12   │ ciphertext, then tag 16  │
    └──────────┴───────────────┴────────────┴──────────────────────────┘

The four bytes identify the master key, so that several can be in use during a rotation: the first configured key
encrypts, all of them decrypt. Each record has its own random nonce and is bound to its owner: a record copied to
another access key does not decrypt. No error text or repr here contains a secret.
"""

from __future__ import annotations

import binascii
import hashlib
import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cqs.errors import ConfigError, CqsError
from cqs.service.private_file import is_private, make_private_file

KEY_BYTES = 32
_FORMAT = b"\x01"
_ID_BYTES = 4
_NONCE_BYTES = 12
_HEAD_BYTES = 1 + _ID_BYTES + _NONCE_BYTES


class CanNotOpen(CqsError):
    """A sealed record is damaged, belongs to another owner, or its master key is not configured."""


class Sealer:
    """Encrypts and decrypts with one or more 32-byte master keys; the first one encrypts."""

    def __init__(self, master_keys: Sequence[bytes]) -> None:
        if not master_keys or any(len(key) != KEY_BYTES for key in master_keys):
            raise ConfigError(f"master_key: expected one or more keys of {KEY_BYTES} bytes")
        self._ciphers = {_id_of(key): AESGCM(key) for key in master_keys}
        self._current = _id_of(master_keys[0])

    def seal(self, plain: bytes, owner: str) -> bytes:
        """The plaintext, encrypted and bound to `owner`; different every time."""
        nonce = os.urandom(_NONCE_BYTES)
        head = _FORMAT + self._current + nonce
        return head + self._ciphers[self._current].encrypt(nonce, plain, _bound(head, owner))

    def open(self, sealed: bytes, owner: str) -> bytes:
        """The plaintext. Raises CanNotOpen."""
        head, cipher = sealed[:_HEAD_BYTES], self._ciphers.get(sealed[1 : 1 + _ID_BYTES])
        if sealed[:1] != _FORMAT or cipher is None:
            raise CanNotOpen(
                f"The secret of {owner} was sealed with a master key that is not configured: add it, after a comma."
            )
        try:
            return cipher.decrypt(head[1 + _ID_BYTES :], sealed[_HEAD_BYTES:], _bound(head, owner))
        except (InvalidTag, ValueError):
            raise CanNotOpen(f"The sealed secret of {owner} is damaged or belongs to another key.") from None

    def is_current(self, sealed: bytes) -> bool:
        """Whether it was encrypted with the first master key."""
        return sealed[1 : 1 + _ID_BYTES] == self._current


def master_key_of(text: str) -> bytes:
    """Parses a configured master key: 32 bytes in base64. Raises ConfigError, which does not show it."""
    try:
        key = b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError("master_key: expected 32 bytes in base64, as `openssl rand -base64 32` prints them")
    return key


def read_or_make_master_key(path: Path) -> bytes:
    """Reads the master key from this file, which is created, readable by its owner only, if it does not exist. Raises
    ConfigError if others may read it or it holds no key."""
    try:
        if not path.exists():
            make_private_file(path, b64encode(os.urandom(KEY_BYTES)) + b"\n")
    except OSError as error:
        raise ConfigError(f"master_key: {path} can't be written: {error.strerror}") from error
    return _read_master_key(path)


def _read_master_key(path: Path) -> bytes:
    try:
        status = path.stat()
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"master_key: {path} can't be read: {error}") from error
    if not is_private(status):
        raise ConfigError(f"master_key: others may read or change {path}; run `chmod 600 {path}`")
    return master_key_of(text)


def _id_of(key: bytes) -> bytes:
    return hashlib.blake2b(b"id of a master key", key=key, digest_size=_ID_BYTES).digest()


def _bound(head: bytes, owner: str) -> bytes:
    return head + owner.encode()
