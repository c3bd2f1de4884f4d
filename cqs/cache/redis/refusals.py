"""Why a Redis server that was reached refused us, in words."""

from __future__ import annotations

WRONG_LOGIN = "the user or password is wrong"
NO_LOGIN = "it requires a password and none is given"
NEEDLESS_LOGIN = "a password is given but the server has none"
PROTECTED = "it accepts connections from its own machine only (protected mode)"
TOO_LITTLE = "the user lacks permissions"
_WORDS = (
    ("without any password configured", NEEDLESS_LOGIN),
    ("WRONGPASS", WRONG_LOGIN),
    ("invalid password", WRONG_LOGIN),
    ("NOAUTH", NO_LOGIN),
    ("DENIED Redis is running in protected mode", PROTECTED),
)


def in_words(error: Exception, server: object) -> str:
    """Translates Redis' error into our words, without the server's address, which the caller adds. Other texts are
    returned unchanged."""
    reason = str(error).removeprefix(f"Redis {server}: ")
    if reason.startswith("NOPERM"):
        return f"{TOO_LITTLE} ({reason})"
    return next((words for theirs, words in _WORDS if theirs in reason), reason)
