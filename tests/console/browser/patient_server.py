"""`cqs` as always, except that the console waits ten minutes before it does what can't be undone."""

from __future__ import annotations

from functools import partial

from admin import console
from admin.grace import Grace
from cqs.cli import main

WAIT_MS = 600_000

if __name__ == "__main__":
    vars(console)["Grace"] = partial(Grace, wait_ms=WAIT_MS)
    main()
