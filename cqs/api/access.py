"""Who is calling, and what they may do. In open mode the answer to both is always the same: anyone, anything.

Open mode does not check credentials: an access key ID of twelve digits names the account; any other ID selects the
default account. The modes that check signatures and policies are other implementations of `Access`; dispatch does not
know which one it uses.
"""

from __future__ import annotations

import re
from base64 import b32encode
from hashlib import sha256
from typing import Protocol

from cqs.api.request import Head, Request
from cqs.identity import DEFAULT_ACCOUNT, Caller
from cqs.queue import Queue

CALLERS_KEPT_MAX = 1_000
_KEY = re.compile(rb"Credential=([^/,\s]{1,128})/|[?&](?:X-Amz-Credential|AWSAccessKeyId)=([^/&%]{1,128})")
_ACCOUNT = re.compile(rb"[0-9]{12}")


class Access(Protocol):
    """Access control, applied before anything else happens. Performs no I/O."""

    def authenticate(self, request: Request, head: Head) -> Caller:
        """Returns who makes the request. Raises AccessDenied, or what signature checks raise."""

    def renewed(self, caller: Caller) -> Caller:
        """The caller as of now, for a call that has waited. Raises what `authenticate` would raise now."""

    def authorize_call(self, caller: Caller, action: str) -> None:
        """Returns if the caller may use this action at all, on any queue. Raises AccessDenied."""

    def authorize(self, caller: Caller, action: str, queue: Queue) -> None:
        """Returns if the caller may use this action on the queue. Raises AccessDenied, or QueueDoesNotExist if the
        caller may not know that the queue exists."""


class OpenAccess:
    """Accepts any credentials, or none."""

    def __init__(self, default_account: str = DEFAULT_ACCOUNT) -> None:
        self._default = _caller(default_account)
        self._callers: dict[bytes, Caller] = {}
        self._starts: dict[bytes, Caller] = {}
        """By the beginning of an Authorization header, up to the end of the key ID."""

    def authenticate(self, request: Request, head: Head) -> Caller:
        text = head.get(b"authorization")
        if text is None:
            text = request.target + b"&" + request.body if _is_form(head) else request.target
            return self._caller_of(text)
        start = text[: text.find(b"/") + 1]
        caller = self._starts.get(start)
        if caller is None:
            caller = self._caller_of(text)
            if len(self._starts) < CALLERS_KEPT_MAX and _KEY.search(start):
                self._starts[start] = caller
        return caller

    def _caller_of(self, text: bytes) -> Caller:
        match = _KEY.search(text)
        if match is None:
            return self._default
        key = match[1] or match[2]
        caller = self._callers.get(key)
        if caller is None:
            if not _ACCOUNT.fullmatch(key):
                return self._default
            caller = _caller(key.decode())
            if len(self._callers) < CALLERS_KEPT_MAX:
                self._callers[key] = caller
        return caller

    def renewed(self, caller: Caller) -> Caller:
        return caller

    def authorize_call(self, caller: Caller, action: str) -> None:
        """Everything is allowed."""

    def authorize(self, caller: Caller, action: str, queue: Queue) -> None:
        """Everything is allowed."""


def _is_form(head: Head) -> bool:
    return head.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")


def _caller(account: str) -> Caller:
    """An account always gets the same user ID, in the form of an AWS user ID."""
    digest = b32encode(sha256(account.encode()).digest())[:17].decode()
    return Caller(account=account, user_id="AIDA" + digest)
