"""Frames are decoded as they were encoded, however the stream is split."""

from __future__ import annotations

import pytest

from cqs.frames import framed, take_frames


@pytest.mark.parametrize("step", [1, 3, 7, 8, 9, 100])
def test_frames_survive_any_cut_of_the_stream(step: int) -> None:
    sent = [b"", b"a", b"b" * 50, b"", b"c" * 8]
    stream = b"".join(map(framed, sent))

    held, taken = bytearray(), []
    for start in range(0, len(stream), step):
        held += stream[start : start + step]
        taken += take_frames(held)

    assert taken == sent and not held


def test_what_is_not_whole_is_kept() -> None:
    held = bytearray(framed(b"whole") + framed(b"half")[:-1])

    assert take_frames(held) == [b"whole"]
    assert take_frames(held) == []
    assert held == framed(b"half")[:-1]
