"""What a signature must cover, and how long and where it is valid."""

from __future__ import annotations

import hmac
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqs.api.sigv4_key import SigningKey
from cqs.errors import (
    IncompleteSignature,
    RequestExpired,
    SignatureDoesNotMatch,
)
from tests.unit.sigv4_requests import (
    ALICE,
    NOON_S,
    SEND,
    Raw,
    edited,
    replaced,
    sign,
    sign_by_hand,
    verifier,
)


@pytest.mark.parametrize("off_s", [-899, -900, 899, 900])
def test_clocks_may_differ_by_15_minutes(off_s: int) -> None:
    assert verifier(NOON_S + off_s).verify(*sign()) == ALICE


def test_16th_minute_is_expired_with_the_text_of_aws() -> None:
    with pytest.raises(SignatureDoesNotMatch) as late:
        verifier(NOON_S + 901).verify(*sign())
    with pytest.raises(SignatureDoesNotMatch) as early:
        verifier(NOON_S - 901).verify(*sign())

    assert str(late.value) == (
        "Signature expired: 20261127T120000Z is now earlier than 20261127T120001Z (20261127T121501Z - 15 min.)"
    )
    assert str(early.value) == (
        "Signature not yet current: 20261127T120000Z is still later than 20261127T115959Z (20261127T114459Z + 15 min.)"
    )


@pytest.mark.parametrize("expires_s", [1, 60, 604_800])
def test_presigned_url_lives_exactly_as_long_as_it_says(expires_s: int) -> None:
    raw = sign("GET", expires_s=expires_s, body=b"{}")

    assert verifier(NOON_S + expires_s).verify(*raw) == ALICE
    with pytest.raises(RequestExpired):
        verifier(NOON_S + expires_s + 1).verify(*raw)
    assert verifier(NOON_S - 900).verify(*raw) == ALICE
    with pytest.raises(SignatureDoesNotMatch, match="not yet current"):
        verifier(NOON_S - 901).verify(*raw)


@pytest.mark.parametrize("expires", [b"0", b"604801", b"-1", b"", b"1e3", b" 60", b"9999999999", "٣".encode()])
def test_presigned_lifetime_out_of_bounds_is_refused(expires: bytes) -> None:
    raw = sign("GET", expires_s=60, body=b"{}")
    target = raw.target.replace(b"X-Amz-Expires=60", b"X-Amz-Expires=" + quote(expires).encode())

    with pytest.raises(IncompleteSignature, match="X-Amz-Expires"):
        verifier().verify(*raw._replace(target=target))


@pytest.mark.parametrize("member", ["Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"])
def test_presigned_url_without_or_with_two_of_a_member_is_refused(member: str) -> None:
    raw = sign("GET", expires_s=60, body=b"{}")
    path, _, query = raw.target.partition(b"?")
    members = query.split(b"&")
    others = [one for one in members if not one.startswith(f"X-Amz-{member}=".encode())]
    twice = [*members, *(one for one in members if one not in others)]

    with pytest.raises(IncompleteSignature, match=f"X-Amz-{member}"):
        verifier().verify(*raw._replace(target=path + b"?" + b"&".join(others)))
    with pytest.raises(IncompleteSignature, match="more than once"):
        verifier().verify(*raw._replace(target=path + b"?" + b"&".join(twice)))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (b"/20261127/", b"/20261126/", "Date in Credential scope does not match YYYYMMDD"),
        (b"/us-east-1/", b"/eu-west-1/", "scoped to a valid region: 'us-east-1'"),
        (b"/sqs/", b"/sns/", "scoped to correct service: 'sqs'"),
        (b"/aws4_request", b"/aws4_requesT", "valid terminator: 'aws4_request'"),
    ],
)
def test_wrong_part_of_the_scope_is_named(old: bytes, new: bytes, text: str) -> None:
    with pytest.raises(SignatureDoesNotMatch, match=text):
        verifier().verify(*edited(sign(), old, new))


def test_day_of_scope_is_the_day_of_the_signature_around_midnight() -> None:
    midnight_s = NOON_S + 43_200
    before, after = sign(at_s=midnight_s - 1), sign(at_s=midnight_s)

    assert verifier(midnight_s + 5).verify(*before) == ALICE
    assert verifier(midnight_s - 5).verify(*after) == ALICE
    with pytest.raises(SignatureDoesNotMatch):
        verifier(midnight_s).verify(*edited(before, b"/20261127/", b"/20261128/"))


def test_any_region_is_taken_when_none_is_configured_and_each_has_its_own_key() -> None:
    subject = verifier(region=None)

    assert subject.verify(*sign(region="eu-west-1")) == ALICE
    assert subject.verify(*sign(region="us-east-1")) == ALICE
    with pytest.raises(SignatureDoesNotMatch):
        subject.verify(*edited(sign(region="eu-west-1"), b"/eu-west-1/", b"/us-east-1/"))


def test_target_added_to_a_signed_form_is_refused() -> None:
    raw = sign(headers={"Content-Type": "application/x-www-form-urlencoded"}, body=b"Action=SendMessage&MessageBody=x")

    with pytest.raises(SignatureDoesNotMatch, match="'x-amz-target' must be a 'SignedHeader'"):
        verifier().verify(*replaced(raw, b"X-Amz-Target", b"AmazonSQS.PurgeQueue"))


def test_captured_send_can_not_become_a_purge() -> None:
    raw = sign(headers=SEND)

    with pytest.raises(SignatureDoesNotMatch):
        verifier().verify(*replaced(raw, b"x-amz-target", b"AmazonSQS.PurgeQueue"))
    with pytest.raises(SignatureDoesNotMatch):
        verifier().verify(*raw._replace(headers=[*raw.headers, (b"X-Amz-Target", b"AmazonSQS.PurgeQueue")]))
    with pytest.raises(SignatureDoesNotMatch, match="'x-amz-target' is signed but was not sent"):
        verifier().verify(*replaced(raw, b"X-Amz-Target", None))


@pytest.mark.parametrize("name", [b"x-amz-foo", b"X-AMZ-META-a", b"x-amz-security-token", b"x-amz-content-sha256"])
def test_any_unsigned_x_amz_header_is_refused(name: bytes) -> None:
    with pytest.raises(SignatureDoesNotMatch, match="must be a 'SignedHeader'"):
        verifier().verify(*replaced(sign(headers=SEND), name, b"1"))


def test_unsigned_x_amz_header_does_not_hide_behind_signed_names_that_contain_the_prefix() -> None:
    raw = sign(headers={"my-x-amz-name": "1"})

    assert verifier().verify(*raw) == ALICE
    with pytest.raises(SignatureDoesNotMatch, match="x-amz-target"):
        verifier().verify(*replaced(raw, b"x-amz-target", b"AmazonSQS.PurgeQueue"))
    assert verifier().verify(*replaced(raw, b"proxy-x-amz-note", b"unsigned, but no x-amz- header")) == ALICE


def test_unsigned_content_type_and_trace_headers_are_fine() -> None:
    raw = sign(headers={"X-Amz-Target": "AmazonSQS.SendMessage"})
    raw = replaced(raw, b"Content-Type", b"application/x-amz-json-1.0")

    assert verifier().verify(*replaced(raw, b"X-Amzn-Trace-Id", b"Root=1-2-3")) == ALICE


DATED = {"X-Amz-Date": "20261127T120000Z", "Date": "Fri, 27 Nov 2026 12:00:00 GMT"}


@pytest.mark.parametrize("dated", DATED)
def test_right_signature_that_covers_host_and_date_is_enough(dated: str) -> None:
    raw = Raw(b"POST", b"/", [(b"Host", b"h"), (dated.encode(), DATED[dated].encode())], b"x")

    assert verifier().verify(*sign_by_hand(raw, *sorted(["host", dated.lower()]))) == ALICE


@pytest.mark.parametrize(
    ("dated", "names", "missing"),
    [
        ("X-Amz-Date", ["host"], "x-amz-date"),
        ("Date", ["host"], "date"),
        ("X-Amz-Date", ["x-amz-date"], "Host"),
        ("Date", ["date"], "Host"),
        ("Date", ["date", "host"], "x-amz-target"),
    ],
)
def test_right_signature_that_leaves_out_what_matters_is_refused(dated: str, names: list[str], missing: str) -> None:
    headers = [(b"Host", b"h"), (dated.encode(), DATED[dated].encode())]
    if missing == "x-amz-target":
        headers.append((b"X-Amz-Target", b"AmazonSQS.PurgeQueue"))
    raw = Raw(b"POST", b"/", headers, b"x")

    with pytest.raises((SignatureDoesNotMatch, IncompleteSignature), match=f"'{missing}'.* must be a 'SignedHeader'"):
        verifier().verify(*sign_by_hand(raw, *names))


@pytest.mark.parametrize(
    "names", [b"x-amz-date;host", b"host;host;x-amz-date", b"Host;x-amz-date", b"host;;x-amz-date", b""]
)
def test_signed_headers_must_be_sorted_distinct_and_lower_case(names: bytes) -> None:
    with pytest.raises(IncompleteSignature):
        verifier().verify(*edited(sign(), b"host;x-amz-date", names))


@given(st.binary(max_size=200), st.binary(max_size=300))
def test_signing_key_is_the_chain_of_hmacs_that_aws_describes(secret: bytes, text: bytes) -> None:
    key = b"AWS4" + secret
    for part in (b"20261127", b"us-east-1", b"sqs", b"aws4_request"):
        key = hmac.digest(key, part, "sha256")

    mine = SigningKey(secret, b"20261127", b"us-east-1", b"sqs")

    assert [mine.sign(text) for _ in range(2)] == [hmac.digest(key, text, "sha256").hex()] * 2
