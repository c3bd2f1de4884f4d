"""`cqs user` and `cqs key` on a data folder that no server uses."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cqs.cli import cli
from cqs.clock import SystemClock
from cqs.commands import identity_command
from cqs.config import load
from cqs.errors import CannotStart, ConfigError, IdentityError
from cqs.people import accounts_for_command, open_people
from cqs.store.sqlite.store import SqliteStore
from tests.integration.doctor_case import doctor
from tests.unit.people import cheap_passwords

PASSWORD = "correct horse battery"
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqs.people.Passwords", cheap_passwords)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs a command on the folder. Returns its result, failed or not."""

    def run(*arguments: str, given: str | None = None, **env: str) -> Result:
        return CliRunner().invoke(cli, arguments, given, env={"CQS_DATA_DIR": str(folder)} | env)

    return run


@pytest.fixture
def told(run: Run) -> Callable[..., Any]:
    """Runs a command that must succeed. Returns its JSON output."""

    def told(*arguments: str, given: str | None = None, **env: str) -> Any:
        result = run(*arguments, "-o", "json", given=given, **env)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return told


@pytest.mark.parametrize(
    "words", [("key", "list"), ("user", "list"), ("key", "add", "ann"), ("user", "disable", "ann")]
)
def test_a_folder_without_data_is_not_made_by_other_commands(run: Run, folder: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(CannotStart, match="There is no data of a server in"):
        raise run(*words).exception or AssertionError("no error")

    assert not folder.exists()


def test_first_user_needs_no_server_and_no_folder(told: Callable[..., Any], folder: Path) -> None:
    made = told("user", "add", "alice", "--role", "administrator", "--account", "111122223333")

    assert (made["user"], made["account"], made["role"]) == ("alice", "111122223333", "administrator")
    assert (made["enabled"], made["password"], made["keys"]) == (True, False, [])
    assert told("user", "list") == [made]
    for path in (folder, folder / "master.key", folder / "messages.db"):
        assert os.stat(path).st_mode & 0o077 == 0


def test_user_without_an_account_is_of_the_servers_own(told: Callable[..., Any]) -> None:
    assert told("user", "add", "alice", CQS_ACCOUNT="999988887777")["account"] == "999988887777"
    assert told("user", "add", "bob")["role"] == "operator"


def test_password_is_not_asked_where_nobody_can_type_it(run: Run) -> None:
    result = run("user", "add", "alice", "--password")

    assert (result.exit_code, "say --password-stdin" in result.stderr) == (2, True)


def test_secret_of_a_key_is_shown_once(run: Run, told: Callable[..., Any], folder: Path) -> None:
    told("user", "add", "alice")
    result = run("key", "add", "alice")
    key_id, secret = (line.partition("=")[2] for line in result.stdout.splitlines())

    assert result.stderr == "A key of alice, account 000000000000. The secret is not shown again.\n"
    assert len(secret) >= 40 and key_id.startswith("AKIA")
    listed = run("key", "list").output + run("key", "list", "alice", "-o", "json").output + run("user", "list").output
    assert key_id in listed and secret not in listed
    assert secret.encode() not in (folder / "messages.db").read_bytes()


def test_key_of_ones_own_is_taken_from_standard_input(told: Callable[..., Any], run: Run) -> None:
    told("user", "add", "alice")
    made = told("key", "add", "alice", "--id", "AKIAMINE", "--secret-stdin", given="my own secret\n")

    assert (made["key_id"], made["secret"]) == ("AKIAMINE", "my own secret")
    assert run("key", "add", "alice", "--secret-stdin", given="").exit_code == 2


async def _accounts(folder: Path, name: str, password: str) -> bool:
    config = load({"data_dir": str(folder)}, {}).config
    async with accounts_for_command(config, SystemClock()) as accounts:
        return await accounts.user_with_password(name, password) is not None


def test_password_is_typed_twice_or_read_and_can_be_taken_away(
    run: Run, told: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity_command, "_is_terminal", lambda: True)
    told("user", "add", "alice", "--password-stdin", given=PASSWORD + "\n")
    assert asyncio.run(_accounts(folder, "alice", PASSWORD))

    assert run("user", "passwd", "alice", given="another password\nanother password\n").exit_code == 0
    assert asyncio.run(_accounts(folder, "alice", "another password"))
    assert told("user", "passwd", "alice", "--remove")["password"] is False
    assert run("user", "passwd", "alice", given="one password\nanother one\n").exit_code == 1


def test_users_and_keys_are_disabled_enabled_changed_and_deleted(told: Callable[..., Any], run: Run) -> None:
    told("user", "add", "alice")
    key_id = told("key", "add", "alice")["key_id"]

    assert [told("key", verb, key_id)[0]["enabled"] for verb in ("disable", "enable")] == [False, True]
    assert [told("user", verb, "alice")["enabled"] for verb in ("disable", "enable")] == [False, True]
    for name in ("read-only", "read_only", "Read-Only"):
        assert told("user", "role", "alice", name)["role"] == "read_only"
    assert [run(*words).exit_code for words in (("key", "delete", key_id), ("user", "delete", "alice"))] == [2, 2]
    told("key", "delete", key_id, "--yes")
    assert told("key", "list") == []
    told("user", "delete", "alice", "--yes")
    assert told("user", "list") == []


@pytest.mark.parametrize(
    "words",
    [
        ("user", "disable", "nobody"),
        ("user", "delete", "nobody", "--yes"),
        ("user", "role", "nobody", "operator"),
        ("key", "add", "nobody"),
        ("key", "list", "nobody"),
        ("key", "disable", "AKIANONE"),
        ("key", "delete", "AKIANONE", "--yes"),
    ],
)
def test_what_does_not_exist_is_exit_code_3_and_one_line(run: Run, words: tuple[str, ...]) -> None:
    run("user", "add", "ann")
    result = run(*words)

    assert result.exit_code == 3
    assert result.stdout == "" and result.stderr.startswith("cqs: There is no ") and result.stderr.count("\n") == 1


def test_what_is_refused_says_why(run: Run, told: Callable[..., Any]) -> None:
    told("user", "add", "alice", "--role", "administrator", "--password-stdin", given=PASSWORD)

    for words, reason in {
        ("user", "add", "alice"): "already",
        ("user", "add", "a b"): "not a valid user name",
        ("user", "add", "bob", "--account", "1"): "twelve digits",
        ("user", "disable", "alice"): "last administrator",
    }.items():
        assert reason in str(run(*words).exception) and isinstance(run(*words).exception, IdentityError)


def test_users_of_a_server_in_memory_are_its_own(run: Run) -> None:
    assert isinstance(run("user", "list", CQS_IN_MEMORY="true").exception, ConfigError)


async def test_folder_in_use_is_said_with_what_to_do(run: Run, folder: Path) -> None:
    store = SqliteStore(folder, SystemClock())
    await store.open()
    try:
        result = await asyncio.to_thread(run, "user", "list", CQS_PORT="9400")
    finally:
        await store.close()

    assert isinstance(result.exception, CannotStart)
    assert f"a server (pid {os.getpid()}) uses {folder}" in str(result.exception)
    assert "/ADMIN where it listens, http://127.0.0.1:9400 by these settings" in str(result.exception)


def test_master_key_is_changed_by_sealing_anew(
    told: Callable[..., Any], run: Run, tmp_path: Path, folder: Path
) -> None:
    told("user", "add", "alice")
    told("key", "add", "alice")
    old, new = (folder / "master.key").read_text().strip(), "A" * 43 + "="
    both = tmp_path / "both"
    both.write_text(f"{new},{old}")

    assert told("key", "reseal", "--master-key-file", str(both)) == {"resealed": 1}
    assert told("key", "reseal", "--master-key-file", str(both)) == {"resealed": 0}
    (tmp_path / "new").write_text(new)
    assert asyncio.run(_starts(folder, master_key=new, auth="signed")) == ""
    assert asyncio.run(_starts(folder, auth="signed")).startswith("master_key: it does not decrypt access key AKIA")
    assert asyncio.run(_starts(folder)) == ""


def test_a_master_key_that_is_missing_is_not_replaced_where_there_are_access_keys(
    told: Callable[..., Any], folder: Path
) -> None:
    told("user", "add", "alice")
    told("key", "add", "alice")
    (folder / "master.key").unlink()
    missing = f"master_key: {folder / 'master.key'} is missing, which encrypted access key AKIA"

    findings = doctor("--data-dir", str(folder), "--auth", "signed").about("access keys")

    assert asyncio.run(_starts(folder, auth="signed")).startswith(missing)
    assert not (folder / "master.key").exists()
    assert [(level, text.startswith(missing)) for level, text in findings] == [("error", True)]


def test_a_master_key_that_decrypts_nothing_is_told_by_the_doctor(told: Callable[..., Any], folder: Path) -> None:
    told("user", "add", "alice")
    told("key", "add", "alice")

    well, ill = (
        doctor("--data-dir", str(folder), "--auth", "signed", *more).about("access keys")
        for more in ([], ["--master-key", "A" * 43 + "="])
    )

    assert well == []
    assert [(level, "does not decrypt access key AKIA" in text) for level, text in ill] == [("error", True)]


async def _starts(folder: Path, **flags: str) -> str:
    """Returns why a server would not start on the folder; "" = it would."""
    store = SqliteStore(folder, SystemClock())
    await store.open()
    try:
        await open_people(load({"data_dir": str(folder), **flags}, {}).config, store, SystemClock())
    except ConfigError as error:
        return str(error)
    finally:
        await store.close()
    return ""
