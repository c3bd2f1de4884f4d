"""Who may use a file of secrets."""

from __future__ import annotations

import os
import stat

import pytest

from cqs.service.private_file import is_private

ROOT, OTHER = 0, 999


def status(mode: int, owner: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | mode, 1, 1, 1, owner, 0, 0, 0, 0, 0))


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
@pytest.mark.parametrize("owner", [ROOT, OTHER])
def test_its_owners_alone(mode: int, owner: int) -> None:
    assert is_private(status(mode, owner))


@pytest.mark.parametrize("mode", [0o440, 0o640])
def test_roots_may_be_read_by_a_group(mode: int) -> None:
    assert is_private(status(mode, ROOT))
    assert not is_private(status(mode, OTHER))


@pytest.mark.parametrize("mode", [0o660, 0o604, 0o606, 0o444, 0o610, 0o777])
@pytest.mark.parametrize("owner", [ROOT, OTHER])
def test_others_may_not(mode: int, owner: int) -> None:
    assert not is_private(status(mode, owner))
