"""The bodies of the messages of drills."""

from __future__ import annotations

from tests.drills.history import body_of, number_of


def test_body_tells_its_number_and_whether_it_is_whole() -> None:
    body = body_of("q1", 17, 200)

    assert (len(body), number_of("q1", body)) == (200, 17)
    assert number_of("q2", body) is None
    assert number_of("q1", body.replace("x", "y", 1)) is None
    assert number_of("q1", "something else") is None
