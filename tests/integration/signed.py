"""Server processes that check signatures, and SDK clients of their users, on both lanes.

alice  operator, bob  operator of another account, probe  read-only, in alice's account
fast       what boto3 sends by default: plain POSTs
reference  the same with `Connection: close`, which the fast lane leaves to aiohttp's lane
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.integration.process import Served, serving

OURS, THEIRS = "111122223333", "222233334444"
KEYS = {name: (f"AKIA{name.upper()}", f"secret of {name}") for name in ("alice", "bob", "probe", "mallory")}
LANES = ["fast", "reference"]
RETRIES_MAX = 600
CLOCK_AHEAD = """
import time
def ahead(real, by):
    return lambda: real() + by
time.time, time.time_ns = ahead(time.time, 1_200), ahead(time.time_ns, 1_200 * 10**9)
"""
"""A sitecustomize module: Python programs that find it are twenty minutes ahead."""
_USERS = "\n".join(
    f'[[user]]\nname = "{name}"\naccount = "{account}"\nrole = "{role}"\n'
    f'keys = [{{ id = "{KEYS[name][0]}", secret = "{KEYS[name][1]}" }}]'
    for name, account, role in (("alice", OURS, "operator"), ("bob", THEIRS, "operator"), ("probe", OURS, "read_only"))
)


@contextmanager
def signed_server(folder: Path, auth: str, *flags: str, **env: str) -> Iterator[Served]:
    """A server with the users alice, bob and probe. Its data are in `folder/data`."""
    users = folder / "users.toml"
    users.write_text(_USERS)
    users.chmod(0o600)
    named = ("--data-dir", str(folder / "data"), "--users-file", str(users))
    with serving(*named, "--auth", auth, *flags, port=0, **env) as server:
        yield server


def client(server: Served, user: str = "alice", lane: str = "fast", **changes: Any) -> Any:
    """A boto3 client that signs with the user's key by default. It retries only what a server refuses that was paused
    for five seconds, as a busy machine may do, and then trusts no key until it has looked at them again."""
    key_id, secret = KEYS[user]
    config = Config(retries={"max_attempts": 0}, read_timeout=40).merge(changes.pop("config", Config()))
    given = {"aws_access_key_id": key_id, "aws_secret_access_key": secret, "region_name": "us-east-1"} | changes
    made = boto3.client("sqs", endpoint_url=server.endpoint, config=config, **given)
    made.meta.events.register("needs-retry.sqs", _again_if_keys_were_unknown)
    if lane == "reference":
        made.meta.events.register("before-send.sqs", _closing)
    return made


def said(call: Any, **members: Any) -> tuple[int, str]:
    """Returns status and error code, or (200, "") on success."""
    try:
        call(**members)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        return error.response["ResponseMetadata"]["HTTPStatusCode"], code.rpartition(".")[2]
    return 200, ""


def headers_of(error: ClientError) -> dict[str, str]:
    return dict(error.response["ResponseMetadata"]["HTTPHeaders"])


def disable_by_another_means(folder: Path, key_id: str) -> None:
    """Disables a user like another node would: changes the record and the version of all records."""
    with closing(sqlite3.connect(folder / "data" / "messages.db", timeout=10)) as db, db:
        changed = db.execute(
            "UPDATE identities SET definition = json_set(definition, '$.is_enabled', json('false'),"
            " '$.version', json_extract(definition, '$.version') + 1) WHERE kind = 'key' AND name = ?",
            (key_id,),
        )
        assert changed.rowcount == 1
        db.execute("UPDATE meta SET value = value + 1 WHERE name = 'identities_version'")


def _again_if_keys_were_unknown(response: tuple[Any, dict[str, Any]] | None, attempts: int, **_: Any) -> float | None:
    """After how many seconds botocore makes the call again; None: it does not."""
    text = "" if response is None else response[1].get("Error", {}).get("Message", "")
    return 0.1 if text.startswith("Access keys can't be checked now") and attempts < RETRIES_MAX else None


def _closing(request: Any, **_: Any) -> None:
    request.headers["Connection"] = "close"
