"""NextToken: where a listing continues, encoded as the last name shown. Stable: queues created or deleted between two
pages make no other queue appear twice or be skipped. Opaque to clients, and contains nothing that they have not
seen."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cqs import limits
from cqs.errors import InvalidParameterValue


def write(name: str) -> str:
    return urlsafe_b64encode(name.encode()).decode()


def read(token: str) -> str:
    """The name that was given to `write`, "" for ""; raises InvalidParameterValue for any other text."""
    if not token:
        return ""
    try:
        name = urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, ValueError) as error:
        raise _invalid(token) from error
    if not limits.QUEUE_NAME.fullmatch(name) or write(name) != token:
        raise _invalid(token)
    return name


def _invalid(token: str) -> InvalidParameterValue:
    return InvalidParameterValue.of(token, "NextToken", "It is not a token of this service.")
