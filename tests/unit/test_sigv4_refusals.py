"""Keys, session tokens, bodies and forms of signatures that are rejected, and the error texts."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from cqs.api import sigv4
from cqs.api.sigv4 import Verifier
from cqs.api.sigv4_canonical import QUERY_MEMBERS_MAX
from cqs.api.sigv4_claim import iso_of
from cqs.api.sigv4_key import SigningKey
from cqs.errors import (
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    SignatureDoesNotMatch,
)
from cqs.testing.clock import ManualClock
from tests.unit.sigv4_requests import (
    ALICE,
    KEY_ID,
    NOON_S,
    SECRET,
    Keys,
    Raw,
    authorization,
    edited,
    replaced,
    sign,
    verifier,
)


def test_unknown_key_is_told_so_whatever_the_signature() -> None:
    for raw in (sign(key_id="AKIDNOBODY"), edited(sign(key_id="AKIDNOBODY"), b"Signature=", b"Signature=0")):
        with pytest.raises((InvalidClientTokenId, IncompleteSignature)):
            verifier().verify(*raw)
    with pytest.raises(InvalidClientTokenId, match=r"^The security token included in the request is invalid\.$"):
        verifier().verify(*sign(key_id="AKIDNOBODY"))


def test_unknown_key_does_the_same_work_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[str] = []

    class Counted(SigningKey):
        def __init__(self, secret: bytes, day: bytes, region: bytes, service: bytes) -> None:
            work.append("made a key")
            super().__init__(secret, day, region, service)

        def sign(self, text: bytes) -> str:
            work.append(f"signed {len(text)} bytes")
            return super().sign(text)

    monkeypatch.setattr(sigv4, "SigningKey", Counted)
    subject = verifier()
    tallies = []
    for _ in range(2):
        for key_id in (KEY_ID, "AKIDNOBODY"):
            work.clear()
            try:
                subject.verify(*sign(key_id=key_id, secret="wrong"))
            except (SignatureDoesNotMatch, InvalidClientTokenId):
                tallies.append(list(work))

    assert tallies[0] == tallies[1] and len(tallies[0]) == 2
    assert tallies[2] == tallies[3] and len(tallies[2]) == 1


def test_wrong_secret_is_refused_with_the_text_of_aws_and_no_canonical_string() -> None:
    with pytest.raises(SignatureDoesNotMatch, match="The request signature we calculated") as refused:
        verifier().verify(*sign(secret="wrong"))

    assert "Canonical" not in str(refused.value)


def test_canonical_string_is_shown_when_asked_for() -> None:
    subject = Verifier(Keys(ALICE), ManualClock(NOON_S * 1_000), is_verbose=True)

    with pytest.raises(SignatureDoesNotMatch, match="host:localhost:9324") as refused:
        subject.verify(*sign(secret="wrong"))
    assert SECRET not in str(refused.value)


def test_changed_secret_drops_the_kept_signing_key_and_a_disabled_key_is_dead_at_once() -> None:
    keys = Keys(ALICE)
    subject = verifier(keys=keys)
    assert subject.verify(*sign()) == ALICE

    keys.known[KEY_ID] = msgspec.structs.replace(ALICE, secret=b"new")
    with pytest.raises(SignatureDoesNotMatch):
        subject.verify(*sign())
    assert subject.verify(*sign(secret="new")).secret == b"new"

    del keys.known[KEY_ID]
    with pytest.raises(InvalidClientTokenId):
        subject.verify(*sign(secret="new"))


def test_kept_signing_keys_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sigv4, "SIGNING_KEYS_MAX", 3)
    subject = verifier(region=None)

    for round_ in range(2):
        for number in range(8):
            assert subject.verify(*sign(region=f"region-{number}")) == ALICE, round_
    assert len(subject._keys) == 3


@pytest.mark.parametrize("expires_s", [None, 60], ids=["header", "presigned"])
def test_session_token_is_refused_clearly_unless_the_key_has_it(expires_s: int | None) -> None:
    raw = sign(token="session", expires_s=expires_s)

    with pytest.raises(InvalidClientTokenId, match="Session tokens are not known"):
        verifier().verify(*raw)
    with pytest.raises(InvalidClientTokenId, match="Session tokens are not known"):
        verifier(keys=Keys()).verify(*raw)
    carrying = Keys(msgspec.structs.replace(ALICE, session_token="session"))
    assert verifier(keys=carrying).verify(*raw).key_id == KEY_ID
    for other in (sign(token="other", expires_s=expires_s), sign(expires_s=expires_s)):
        with pytest.raises(InvalidClientTokenId, match="security token"):
            verifier(keys=carrying).verify(*other)


def test_unsigned_payload_is_refused_unless_allowed_and_streaming_always() -> None:
    allowing = Verifier(Keys(ALICE), ManualClock(NOON_S * 1_000), is_unsigned_payload_allowed=True)
    raw = sign(headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    streaming = sign(headers={"X-Amz-Content-SHA256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"})

    with pytest.raises(SignatureDoesNotMatch, match="The body must be signed"):
        verifier().verify(*raw)
    assert allowing.verify(*raw) == ALICE
    for subject in (verifier(), allowing):
        with pytest.raises(SignatureDoesNotMatch, match="The body must be signed"):
            subject.verify(*streaming)


def test_claimed_body_hash_is_never_believed() -> None:
    true_hash, other_hash = (hashlib.sha256(body).hexdigest() for body in (b"a", b"b"))

    assert verifier().verify(*sign(headers={"X-Amz-Content-SHA256": true_hash}, body=b"a")) == ALICE
    with pytest.raises(SignatureDoesNotMatch):
        verifier().verify(*sign(headers={"X-Amz-Content-SHA256": other_hash}, body=b"a"))


def test_unsigned_request_misses_its_token() -> None:
    with pytest.raises(MissingAuthenticationToken, match="Request is missing Authentication Token"):
        verifier().verify(b"POST", b"/", [(b"Host", b"localhost")], b"Action=ListQueues")


@pytest.mark.parametrize(
    "raw",
    [
        Raw(b"GET", b"/?Action=ListQueues&AWSAccessKeyId=A&SignatureVersion=2&Signature=x", [(b"Host", b"h")], b""),
        Raw(
            b"POST", b"/", [(b"Content-Type", b"application/x-www-form-urlencoded")], b"SignatureVersion=2&Signature=x"
        ),
        Raw(b"POST", b"/", [(b"Authorization", b"AWS AKID:c2ln")], b""),
    ],
    ids=["url", "form", "header"],
)
def test_version_2_is_refused_with_a_clear_text(raw: Raw) -> None:
    with pytest.raises(IncompleteSignature, match="Signature Version 2 is not supported"):
        verifier().verify(*raw)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"Bearer abc", "must start with 'AWS4-HMAC-SHA256'"),
        (b"", "must start with"),
        (b"AWS4-HMAC-SHA256 ", "requires 'Credential' parameter. Authorization header requires 'SignedHeaders'"),
        (b"AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host", "requires 'Signature' parameter"),
        (b"AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=12", "64 hexadecimal digits"),
        (b"AWS4-HMAC-SHA256 Credential=a/b/c/d, SignedHeaders=host, Signature=" + b"0" * 64, "5 slash-delimited"),
        (b"AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host Signature=" + b"0" * 64, "must be Credential"),
        (b"AWS4-HMAC-SHA256 Credential=a/b/c//e, SignedHeaders=host, Signature=" + b"0" * 64, "5 slash-delimited"),
        (b"AWS4-HMAC-SHA256 Credential=a\nb/b/c/d/e, SignedHeaders=host, Signature=" + b"0" * 64, "5 slash-delimited"),
        (b"AWS4-ECDSA-P256-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=" + b"0" * 64, "must start with"),
        (b"AWS4-HMAC-SHA256 " + b"Credential=a" * 4_000 + b", Signature=" + b"0" * 64, "Authorization"),
    ],
)
def test_malformed_authorization_is_incomplete(value: bytes, text: str) -> None:
    with pytest.raises(IncompleteSignature, match=text):
        verifier().verify(
            b"POST", b"/", [(b"Host", b"h"), (b"X-Amz-Date", b"20261127T120000Z"), (b"Authorization", value)], b""
        )


@pytest.mark.parametrize(
    "date", [b"", b"now", b"20261127", b"20261327T120000Z", b"20261127T120000", b"2026-11-27T12:00:00Z"]
)
def test_malformed_date_is_incomplete(date: bytes) -> None:
    with pytest.raises(IncompleteSignature, match="ISO-8601"):
        verifier().verify(*replaced(sign(), b"X-Amz-Date", date))


def test_missing_date_is_incomplete_and_a_second_one_is_no_date() -> None:
    raw = sign()

    with pytest.raises(IncompleteSignature, match="either a 'X-Amz-Date' or a 'Date'"):
        verifier().verify(*replaced(raw, b"X-Amz-Date", None))
    with pytest.raises(IncompleteSignature, match="ISO-8601"):
        verifier().verify(*raw._replace(headers=[*raw.headers, (b"x-amz-date", b"20261127T120001Z")]))
    with pytest.raises(IncompleteSignature, match="not a date"):
        verifier().verify(*replaced(sign(headers={"Date": ""}), b"Date", b"some day"))


def test_request_signed_by_header_and_by_query_is_refused() -> None:
    raw = sign("GET", expires_s=60, body=b"{}")

    with pytest.raises(IncompleteSignature, match="signed twice"):
        verifier().verify(*raw._replace(headers=[*raw.headers, (b"Authorization", authorization(sign()))]))


def test_query_with_too_many_members_is_refused_before_they_are_sorted() -> None:
    raw = sign("GET", body=b"")
    target = b"/?" + b"&".join([b"a=1"] * (QUERY_MEMBERS_MAX + 1))

    with pytest.raises(IncompleteSignature, match="more than"):
        verifier().verify(*raw._replace(target=target))


def test_plus_in_a_query_is_signed_as_the_space_it_is_read_as() -> None:
    raw = sign("GET", "http://localhost:9324/?MessageBody=a%20b", body=b"")

    assert verifier().verify(*raw._replace(target=b"/?MessageBody=a+b")) == ALICE
    with pytest.raises(SignatureDoesNotMatch):
        verifier().verify(*raw._replace(target=b"/?MessageBody=a%2Bb"))


def test_host_told_by_a_trusted_proxy_replaces_the_header() -> None:
    raw = sign(url="https://queues.example/")
    behind = replaced(raw, b"Host", b"10.0.0.7:9324")

    with pytest.raises(SignatureDoesNotMatch):
        verifier().verify(*behind)
    assert verifier().verify(*behind, host=b"queues.example") == ALICE


def test_text_of_a_credential_shows_no_secret() -> None:
    assert SECRET not in repr(ALICE) and SECRET not in str(ALICE)


def test_times_are_written_as_clients_write_them() -> None:
    assert iso_of(NOON_S) == "20261127T120000Z"
