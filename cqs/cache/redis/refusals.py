"""Why a Redis server that was reached does not let us in, in words."""

from __future__ import annotations

WRONG_LOGIN = "the user or password is wrong"
NO_LOGIN = "it wants a password and none is given"
NEEDLESS_LOGIN = "a password is given and it has none"
TOO_LITTLE = "the user may not do enough"
_WORDS = (
    ("without any password configured", NEEDLESS_LOGIN),
    ("WRONGPASS", WRONG_LOGIN),
    ("invalid password", WRONG_LOGIN),
    ("NOAUTH", NO_LOGIN),
)


def in_words(error: Exception, server: object) -> str:
    """Redis' own words as ours, without the address, which whoever tells of the server tells, too. Other
    texts stay as they are."""
    reason = str(error).removeprefix(f"Redis {server}: ")
    if reason.startswith("NOPERM"):
        return f"{TOO_LITTLE} ({reason})"
    return next((words for theirs, words in _WORDS if theirs in reason), reason)
