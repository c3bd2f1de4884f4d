"""Encryption of secrets at rest, the master key, and the file that declares users."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from base64 import b64encode
from pathlib import Path

import pytest

from cqs.errors import ConfigError
from cqs.identity import Role
from cqs.service import boot_accounts
from cqs.service.private_file import make_private_file
from cqs.service.seal import CanNotOpen, Sealer, master_key_of, read_or_make_master_key
from tests.unit.people import MASTER_KEY, OURS, make_people

SECRET = b"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def test_sealed_secret_opens_for_its_owner_only() -> None:
    sealer = Sealer([MASTER_KEY])
    sealed = sealer.seal(SECRET, "AKIA1")

    assert sealer.open(sealed, "AKIA1") == SECRET
    assert SECRET not in sealed
    with pytest.raises(CanNotOpen, match="AKIA2 is damaged or belongs to another"):
        sealer.open(sealed, "AKIA2")
    with pytest.raises(CanNotOpen, match="not configured"):
        Sealer([bytes(32)]).open(sealed, "AKIA1")


def test_no_two_sealed_texts_are_alike() -> None:
    sealer = Sealer([MASTER_KEY])

    assert len({sealer.seal(SECRET, "AKIA1") for _ in range(1_000)}) == 1_000


def test_every_bit_flip_of_a_sealed_secret_is_noticed() -> None:
    sealer = Sealer([MASTER_KEY])
    sealed = sealer.seal(SECRET, "AKIA1")

    for at in range(len(sealed)):
        for bit in range(8):
            with pytest.raises(CanNotOpen):
                sealer.open(bytes([*sealed[:at], sealed[at] ^ 1 << bit, *sealed[at + 1 :]]), "AKIA1")
    for length in range(len(sealed)):
        with pytest.raises(CanNotOpen):
            sealer.open(sealed[:length], "AKIA1")


def test_first_master_key_seals_and_each_opens() -> None:
    old, new = Sealer([MASTER_KEY]), Sealer([bytes(32), MASTER_KEY])
    sealed = old.seal(SECRET, "AKIA1")

    assert new.open(sealed, "AKIA1") == SECRET
    assert not new.is_current(sealed)
    assert new.is_current(new.seal(SECRET, "AKIA1"))


def test_master_key_is_32_bytes_in_base64() -> None:
    assert master_key_of(b64encode(MASTER_KEY).decode() + "\n") == MASTER_KEY
    for wrong in ("", "secret!", b64encode(bytes(31)).decode(), b64encode(bytes(33)).decode()):
        with pytest.raises(ConfigError, match="32 bytes in base64") as error:
            master_key_of(wrong)
        assert not wrong or wrong not in str(error.value)
    with pytest.raises(ConfigError):
        Sealer([])


def test_master_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    key = read_or_make_master_key(path)

    assert len(key) == 32 and read_or_make_master_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_or_make_master_key(path)


def test_start_that_ends_while_it_makes_the_master_key_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "master.key"
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", _full)
        with pytest.raises(ConfigError, match="can't be written: No space left"):
            read_or_make_master_key(path)

    assert list(tmp_path.iterdir()) == []
    assert len(read_or_make_master_key(path)) == 32


def test_master_key_that_another_process_makes_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    make_private_file(path, b64encode(MASTER_KEY))
    make_private_file(path, b64encode(bytes(32)))

    assert read_or_make_master_key(path) == MASTER_KEY
    assert list(tmp_path.iterdir()) == [path]


def test_folder_that_may_not_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "stat", forbidden)

    with pytest.raises(ConfigError, match="Permission denied"):
        read_or_make_master_key(tmp_path / "master.key")


def _full(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_unusable_master_key_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.write_text("garbage")
    path.chmod(0o600)

    with pytest.raises(ConfigError, match="32 bytes in base64"):
        read_or_make_master_key(path)
    with pytest.raises(ConfigError, match="can't be written"):
        read_or_make_master_key(tmp_path / "nowhere" / "master.key")


BOOT = f"""
[[user]]
name = "alice"
account = "{OURS}"
role = "administrator"
password = "correct horse battery"
keys = [{{ id = "AKIAALICE", secret = "one" }}]

[[user]]
name = "probe"
role = "read_only"
""".encode()


async def test_declared_users_and_keys_are_made() -> None:
    people = make_people()
    await boot_accounts.declare(people.accounts, boot_accounts.read(BOOT, "boot.toml"), "boot.toml")

    alice, probe = (await people.accounts.identities()).users
    assert (alice.account, alice.role, probe.account, probe.role) == (
        OURS, Role.ADMINISTRATOR, "000000000000", Role.READ_ONLY,
    )  # fmt: skip
    found = people.credentials.find("AKIAALICE")
    assert found is not None and found.secret == b"one"
    assert await people.accounts.user_with_password("alice", "correct horse battery") == alice


async def test_declaring_again_changes_nothing_and_brings_no_disabled_key_back() -> None:
    people = make_people()
    declared = boot_accounts.read(BOOT, "boot.toml")
    await boot_accounts.declare(people.accounts, declared, "boot.toml")
    await people.accounts.set_key_enabled("AKIAALICE", False)
    await people.accounts.set_role("probe", Role.OPERATOR)
    before = await people.accounts.identities()

    await boot_accounts.declare(people.accounts, declared, "boot.toml")

    assert await people.accounts.identities() == before
    assert people.credentials.find("AKIAALICE") is None


async def test_nodes_that_start_at_the_same_time_make_the_same_users_once() -> None:
    people = make_people()
    others = [make_people(people.store) for _ in range(3)]
    declared = boot_accounts.read(BOOT, "boot.toml")

    await asyncio.gather(*(boot_accounts.declare(one.accounts, declared, "boot.toml") for one in (people, *others)))

    everybody = await people.accounts.identities()
    assert [user.name for user in everybody.users] == ["alice", "probe"]
    assert [key.key_id for key in everybody.keys] == ["AKIAALICE"]


async def test_declared_user_of_no_account_is_of_the_servers_own() -> None:
    people = make_people()
    people.accounts.home = OURS
    await boot_accounts.declare(people.accounts, boot_accounts.read(b"[[user]]\nname = 'a'", "boot.toml"), "boot.toml")

    assert [user.account for user in (await people.accounts.identities()).users] == [OURS]
    people.accounts.home = "222233334444"
    await boot_accounts.declare(people.accounts, boot_accounts.read(b"[[user]]\nname = 'a'", "boot.toml"), "boot.toml")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[user]]\nname = 1", "boot.toml: Expected `str`, got `int`"),
        ("[[user]]\nname = 'a'\nrole = 'root'", "Invalid enum value 'root'"),
        ("[[user]]\nname = 'a'\npasword = 'x'", "unknown field `pasword`"),
        ("[[users]]\nname = 'a'", "unknown field `users`"),
        ("[[user]", "boot.toml: "),
    ],
)
def test_mistake_in_the_file_is_named(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        boot_accounts.read(text.encode(), "boot.toml")

    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[user]]\nname = 'a b'", "boot.toml: user 'a b': 'a b' is not a valid user name"),
        ("[[user]]\nname = 'a'\npassword = 'short'", "8 to 256 characters"),
        ("[[user]]\nname = 'a'\naccount = '1'", "twelve digits"),
        ("[[user]]\nname = 'alice'\naccount = '222233334444'", f"it belongs to account {OURS}"),
        ("[[user]]\nname = 'a'\n[[user]]\nname = 'a'", "boot.toml: user 'a': it is declared twice."),
        ("[[user]]\nname = 'b'\nkeys = [{id = 'AKIAALICE', secret = 's'}]", "access key 'AKIAALICE' is 'alice''s"),
    ],
)
async def test_user_that_can_not_be_made_is_named(text: str, reason: str) -> None:
    people = make_people()
    await boot_accounts.declare(people.accounts, boot_accounts.read(BOOT, "boot.toml"), "boot.toml")

    with pytest.raises(ConfigError) as error:
        await boot_accounts.declare(people.accounts, boot_accounts.read(text.encode(), "boot.toml"), "boot.toml")
    assert reason in str(error.value)


def test_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "users.toml"
    path.write_bytes(BOOT)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        boot_accounts.read_file(path)

    path.chmod(0o600)
    assert [user.name for user in boot_accounts.read_file(path).user] == ["alice", "probe"]
    with pytest.raises(ConfigError, match="No such file"):
        boot_accounts.read_file(tmp_path / "absent.toml")
