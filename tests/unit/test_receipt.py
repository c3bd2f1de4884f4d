"""Receipt handles: only handles that were written can be read."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from cqs.receipt import TEXT_LENGTH, Receipt, Receipts, first_receive_number

_RECEIPTS = st.builds(
    Receipt,
    address=st.integers(0, (1 << 122) - 1),
    queue_uid=st.integers(0, (1 << 48) - 1),
    receive_number=st.integers(0, (1 << 53) - 1),
    received_ms=st.integers(0, (1 << 44) - 1),
)
_KEYED = Receipts(b"k" * 32)


@given(_RECEIPTS)
def test_what_was_written_is_read(receipt: Receipt) -> None:
    handle = _KEYED.write(receipt)

    assert len(handle) == TEXT_LENGTH
    assert _KEYED.read(handle, receipt.queue_uid) == receipt


@given(_RECEIPTS)
def test_other_queue_and_other_cluster_refuse_it(receipt: Receipt) -> None:
    handle = _KEYED.write(receipt)

    assert _KEYED.read(handle, receipt.queue_uid ^ 1) is None
    assert Receipts(b"o" * 32).read(handle, receipt.queue_uid) is None


def test_any_other_character_anywhere_is_refused() -> None:
    receipt = Receipt(random.Random(1).getrandbits(122), 7, 1 << 50, 1_700_000_000_000)
    handle = _KEYED.write(receipt)
    alphabet = "ABCXYZabcxyz0189+/=-_ \n\u00e9"

    for place in range(len(handle)):
        for other in alphabet:
            if other != handle[place]:
                assert _KEYED.read(handle[:place] + other + handle[place + 1 :], 7) is None
    for garbage in ("", "x", handle[:-1], handle + "A", handle * 20_000):
        assert _KEYED.read(garbage, 7) is None


def test_receive_numbers_of_later_starts_are_higher_and_fit_lua() -> None:
    now_ms = 1_795_824_000_000

    assert first_receive_number(now_ms + 1_000) == first_receive_number(now_ms) + (1 << 21)
    assert first_receive_number(now_ms + 100 * 365 * 86_400_000) < 1 << 53
