"""A client's further requests in the same second are checked with less work, but not less strictly."""

from __future__ import annotations

import msgspec
import pytest

from cqs.api import sigv4_repeat
from cqs.api.request import Head
from cqs.api.sigv4 import SKEW_S_MAX, Verifier
from cqs.api.sigv4_repeat import Repeats
from cqs.clock import Clock
from cqs.errors import InvalidClientTokenId, SignatureDoesNotMatch, SqsError
from cqs.identity import Credential
from cqs.testing.clock import ManualClock
from tests.unit.sigv4_requests import ALICE, NOON_S, SEND, Keys, Raw, replaced, sign


def head_of(raw: Raw) -> Head:
    """As the fast lane hands it over."""
    return {name.lower(): value for name, value in raw.headers}


def verified(verifier: Verifier, raw: Raw) -> Credential:
    return verifier.verify(raw.method, raw.target, raw.headers, raw.body, None, head_of(raw))


def send(body: bytes = b'{"QueueUrl":"q"}', target: str = "SendMessage") -> Raw:
    return sign(headers=SEND | {"X-Amz-Target": f"AmazonSQS.{target}"}, body=body)


@pytest.fixture
def keys() -> Keys:
    return Keys(ALICE)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON_S * 1_000)


@pytest.fixture
def warm(keys: Keys, clock: Clock) -> Verifier:
    """One that has accepted a request of this client in this second."""
    verifier = Verifier(keys, clock, region="us-east-1")
    assert verified(verifier, send()) is ALICE
    return verifier


def test_repeat_is_accepted_without_reading_the_claim_anew(warm: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_decide", None)

    assert verified(warm, send()) is ALICE
    assert verified(warm, send(b"another body")) is ALICE
    assert verified(warm, send(target="PurgeQueue")) is ALICE


def test_every_flipped_bit_of_a_repeat_is_refused(warm: Verifier) -> None:
    raw = send(b"a body")

    for place in range(len(raw.body) * 8):
        body = bytearray(raw.body)
        body[place // 8] ^= 1 << place % 8
        with pytest.raises(SignatureDoesNotMatch):
            verified(warm, raw._replace(body=bytes(body)))
    signed = [header for header in raw.headers if header[0].lower() != b"authorization"]
    for name, value in signed:
        for place in range(len(value) * 8):
            flipped = bytearray(value)
            flipped[place // 8] ^= 1 << place % 8
            with pytest.raises(SqsError):
                verified(warm, raw._replace(headers=[*raw.headers, (name, bytes(flipped))]))
    assert verified(warm, raw) is ALICE


@pytest.mark.parametrize("change", [(b"X-Amz-Target", b"AmazonSQS.PurgeQueue"), (b"x-amz-new", b"1"), (b"Host", None)])
def test_header_changed_added_or_left_out_is_refused(warm: Verifier, change: tuple[bytes, bytes | None]) -> None:
    with pytest.raises(SignatureDoesNotMatch):
        verified(warm, replaced(send(), *change))


def test_method_and_path_are_signed_in_a_repeat_too(warm: Verifier) -> None:
    with pytest.raises(SignatureDoesNotMatch):
        verified(warm, send()._replace(method=b"GET"))
    with pytest.raises(SignatureDoesNotMatch):
        verified(warm, send()._replace(target=b"/111122223333/orders"))


def test_key_that_was_disabled_is_dead_for_repeats(warm: Verifier, keys: Keys) -> None:
    keys.known.clear()

    with pytest.raises(InvalidClientTokenId):
        verified(warm, send())


def test_secret_or_role_that_was_changed_counts_at_once(warm: Verifier, keys: Keys) -> None:
    keys.known[ALICE.key_id] = same = msgspec.structs.replace(ALICE)
    assert verified(warm, send()) is same

    keys.known[ALICE.key_id] = msgspec.structs.replace(ALICE, secret=b"another")
    with pytest.raises(SignatureDoesNotMatch):
        verified(warm, send())


def test_repeat_grows_old_as_any_request(warm: Verifier, clock: ManualClock) -> None:
    clock.advance_ms(SKEW_S_MAX * 1_000)
    assert verified(warm, send()) is ALICE

    clock.advance_ms(1)
    with pytest.raises(SignatureDoesNotMatch, match="Signature expired"):
        verified(warm, send())


def test_nothing_is_kept_of_sessions(clock: Clock) -> None:
    keys = Keys(msgspec.structs.replace(ALICE, session_token="right"))
    verifier = Verifier(keys, clock, region="us-east-1")
    assert verified(verifier, sign(headers=SEND, token="right")).session_token == "right"

    with pytest.raises(InvalidClientTokenId):
        verified(verifier, sign(headers=SEND, token="wrong"))


def test_what_is_kept_is_bounded(warm: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigv4_repeat, "KEPT_MAX", 2)
    for _ in range(5):
        verified(warm, sign(headers=SEND | {f"x-amz-{_}": "1"}))

    repeats = warm._repeats
    assert isinstance(repeats, Repeats)
    assert len(repeats._accepted) <= 2
