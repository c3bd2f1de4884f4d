"""Signature Version 4: AWS's published signatures, botocore's signer as an oracle, and what must be refused."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from unittest import mock
from urllib.parse import quote, unquote_to_bytes, urlencode, urlsplit

import msgspec
import pytest
from botocore import auth as botocore_auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from hypothesis import given, settings
from hypothesis import strategies as st

from cqs.api import sigv4
from cqs.api.sigv4 import Verifier
from cqs.api.sigv4_canonical import QUERY_MEMBERS_MAX
from cqs.api.sigv4_claim import iso_of
from cqs.errors import (
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    RequestExpired,
    SignatureDoesNotMatch,
    SqsError,
)
from cqs.identity import Caller, Credential
from cqs.testing.clock import ManualClock

KEY_ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOON_S = 1_795_780_800  # 2026-11-27T12:00:00Z


class Vector(msgspec.Struct):
    """A request with the signature that AWS publishes for it."""

    name: str
    method: str
    target: str
    headers: list[tuple[str, str]] = []
    body: str = ""
    signed: str = ""
    signature: str = ""
    scope: str = ""


class Vectors(msgspec.Struct):
    vectors: list[Vector]
    presigned: list[Vector]


VECTORS = msgspec.json.decode((Path(__file__).parents[1] / "data/sigv4/vectors.json").read_bytes(), type=Vectors)

ALICE = Credential(key_id=KEY_ID, secret=SECRET.encode(), caller=Caller(account="111122223333", user="alice"))


class Raw(NamedTuple):
    """A request as it comes off the wire."""

    method: bytes
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Keys:
    """Access keys that tests change as they like."""

    def __init__(self, *credentials: Credential) -> None:
        self.known = {credential.key_id: credential for credential in credentials}

    def find(self, key_id: str) -> Credential | None:
        return self.known.get(key_id)


def verifier(
    clock_s: int = NOON_S, keys: Keys | None = None, region: str | None = "us-east-1", service: str = "sqs"
) -> Verifier:
    return Verifier(keys or Keys(ALICE), ManualClock(clock_s * 1_000), region=region, service=service)


def frozen_utc(at_s: int) -> Callable[[], object]:
    return lambda: datetime.fromtimestamp(at_s, UTC)


def sign(
    method: str = "POST",
    url: str = "http://localhost:9324/",
    headers: dict[str, str] | None = None,
    body: bytes = b'{"QueueUrl":"q"}',
    *,
    at_s: int = NOON_S,
    expires_s: int | None = None,
    token: str | None = None,
    region: str = "us-east-1",
    key_id: str = KEY_ID,
    secret: str = SECRET,
) -> Raw:
    """The request that botocore's own signer makes: by header, or presigned when `expires_s` is given (it then
    moves the members of a JSON body into the query)."""
    request = AWSRequest(method, url, headers={"Host": urlsplit(url).netloc, **(headers or {})}, data=body)
    credentials = BotocoreCredentials(key_id, secret, token)
    signer = (
        botocore_auth.SigV4Auth(credentials, "sqs", region)
        if expires_s is None
        else botocore_auth.SigV4QueryAuth(credentials, "sqs", region, expires=expires_s)
    )
    with mock.patch.object(botocore_auth, "get_current_datetime", frozen_utc(at_s)):
        signer.add_auth(request)
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    raw = [(name.encode(), value.encode()) for name, value in request.headers.items()]
    return Raw(method.encode(), target.encode(), raw, body if expires_s is None else b"")


SEND = {
    "X-Amz-Target": "AmazonSQS.SendMessage",
    "Content-Type": "application/x-amz-json-1.0",
    "x-amzn-query-mode": "true",
}


def replaced(raw: Raw, name: bytes, value: bytes | None) -> Raw:
    """The request with one header changed, added or (None) left out."""
    headers = [header for header in raw.headers if header[0].lower() != name.lower()]
    return raw._replace(headers=headers if value is None else [*headers, (name, value)])


def authorization(raw: Raw) -> bytes:
    return next(value for name, value in raw.headers if name == b"Authorization")


def edited(raw: Raw, old: bytes, new: bytes) -> Raw:
    """The request with a part of its Authorization header replaced."""
    assert old in authorization(raw)
    return replaced(raw, b"Authorization", authorization(raw).replace(old, new))


@pytest.mark.parametrize("vector", VECTORS.vectors, ids=lambda vector: vector.name)
def test_published_signature_is_accepted(vector: Vector) -> None:
    headers = [(name.encode(), value.encode()) for name, value in vector.headers]
    token = dict(vector.headers).get("X-Amz-Security-Token", "")
    keys = Keys(msgspec.structs.replace(ALICE, session_token=token))
    day, region, service, _ = vector.scope.split("/")
    claim = f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{vector.scope}, SignedHeaders={vector.signed}, Signature="
    now_s = {"20150830": 1_440_938_160, "20110909": 1_315_611_360}[day]

    signed = [*headers, (b"Authorization", (claim + vector.signature).encode())]
    subject = verifier(now_s, keys, region, service)
    raw = Raw(vector.method.encode(), vector.target.encode(), signed, vector.body.encode())

    assert subject.verify(*raw).key_id == KEY_ID
    with pytest.raises(SignatureDoesNotMatch):
        subject.verify(*raw._replace(body=raw.body + b" "))


@pytest.mark.parametrize("vector", VECTORS.presigned, ids=lambda vector: vector.name)
def test_published_presigned_url_is_accepted(vector: Vector) -> None:
    raw = Raw(vector.method.encode(), vector.target.encode(), [(b"Host", b"example.amazonaws.com")], b"")

    assert verifier(1_440_938_160, service="service").verify(*raw) == ALICE


PATHS = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from([".", "..", "", "orders.fifo", "a b", "~", "%", "+", "日本"])),
    max_size=5,
).map(lambda parts: "/" + "/".join(quote(part, safe="~.") for part in parts))
QUERIES = st.lists(st.tuples(st.text(min_size=1, max_size=6), st.text(max_size=8)), max_size=6).map(
    lambda pairs: urlencode(pairs, quote_via=quote, safe="~")
)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20) | st.sampled_from(
    ["a  b", "  lead", "trail  ", "a\tb", "a \t b", '"q   q"', "x: y", "100%", "%b"]
)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,12}", fullmatch=True).filter(
    lambda name: (
        name.lower()
        not in {"host", "date", "authorization", "expect", "user-agent", "x-amzn-trace-id", "transfer-encoding"}
        and name.lower() not in botocore_auth.SIGNED_HEADERS_BLACKLIST
        and not name.lower().startswith("x-amz-")
    )
)
HEADERS = st.dictionaries(NAMES, VALUES, max_size=4)
MEMBERS = st.dictionaries(st.text(min_size=1, max_size=6), st.text(max_size=8), max_size=4)
BODIES = st.binary(max_size=64) | st.text(max_size=32).map(str.encode)


@settings(max_examples=300, deadline=None)
@given(
    method=st.sampled_from(["GET", "POST"]),
    path=PATHS,
    query=QUERIES,
    headers=HEADERS,
    body=BODIES,
    is_json=st.booleans(),
)
def test_what_botocore_signs_is_accepted_and_with_another_body_refused(
    method: str, path: str, query: str, headers: dict[str, str], body: bytes, is_json: bool
) -> None:
    if path.startswith("//"):
        path = "/x" + path
    sent = {**headers, **(SEND if is_json else {})}
    raw = sign(method, f"http://queues.example:9324{path}{'?' + query if query else ''}", sent, body)

    assert verifier().verify(*raw) == ALICE
    with pytest.raises(SignatureDoesNotMatch):
        verifier().verify(*raw._replace(body=body + b"\0"))


@settings(max_examples=300, deadline=None)
@given(
    path=PATHS,
    query=QUERIES,
    members=MEMBERS,
    expires_s=st.integers(1, 604_800),
    method=st.sampled_from(["GET", "POST"]),
)
def test_what_botocore_presigns_is_accepted_and_with_another_member_refused(
    path: str, query: str, members: dict[str, str], expires_s: int, method: str
) -> None:
    if path.startswith("//"):
        path = "/x" + path
    url = f"https://queues.example{path}{'?' + query if query else ''}"
    raw = sign(method, url, body=json.dumps(members).encode(), expires_s=expires_s)

    assert verifier(NOON_S + expires_s).verify(*raw) == ALICE
    with pytest.raises(SignatureDoesNotMatch):
        verifier(NOON_S).verify(*raw._replace(target=raw.target + b"&Action=PurgeQueue"))
    with pytest.raises(SignatureDoesNotMatch):
        verifier(NOON_S).verify(*raw._replace(body=b"Action=PurgeQueue"))


@pytest.mark.parametrize("headers", [SEND, {}], ids=["json", "query"])
def test_date_header_serves_when_there_is_no_x_amz_date(headers: dict[str, str]) -> None:
    raw = sign(headers={"Date": "botocore replaces this", **headers})

    assert not any(name == b"X-Amz-Date" for name, _ in raw.headers)
    assert verifier().verify(*raw) == ALICE


def refusals(raw: Raw, flips: list[Raw]) -> list[Raw]:
    """Those of `flips` that a verifier wrongly accepts."""
    subject = verifier()
    assert subject.verify(*raw) == ALICE
    accepted = []
    for flipped in flips:
        try:
            subject.verify(*flipped)
        except SqsError:
            continue
        accepted.append(flipped)
    return accepted


def bit_flips(data: bytes) -> list[bytes]:
    return [bytes([*data[:at], data[at] ^ 1 << bit, *data[at + 1 :]]) for at in range(len(data)) for bit in range(8)]


@pytest.mark.parametrize("expires_s", [None, 300], ids=["header", "presigned"])
def test_every_bit_flip_of_a_signed_request_is_refused(expires_s: int | None) -> None:
    url = "http://localhost:9324/111122223333/orders?Action=SendMessage&MessageBody=a%20b&b=~"
    raw = sign("POST", url, SEND if expires_s is None else {}, b'{"a":"b"}', expires_s=expires_s)
    signed_headers = [n for n, (name, _) in enumerate(raw.headers) if expires_s is None or name == b"Host"]

    flips = [raw._replace(method=method) for method in bit_flips(raw.method)]
    flips += [raw._replace(body=body) for body in bit_flips(raw.body)]
    flips += [
        raw._replace(target=target)
        for target in bit_flips(raw.target)
        if unquote_to_bytes(target) != unquote_to_bytes(raw.target)  # %2f and %2F are one byte
    ]
    for n in signed_headers:
        name, value = raw.headers[n]
        for new in [(name, flipped) for flipped in bit_flips(value)]:
            flips.append(raw._replace(headers=[*raw.headers[:n], new, *raw.headers[n + 1 :]]))
        for new_name in bit_flips(name):
            if new_name.lower() != name.lower():
                flips.append(raw._replace(headers=[*raw.headers[:n], (new_name, value), *raw.headers[n + 1 :]]))

    assert len(flips) > 2_000
    assert refusals(raw, flips) == []


@pytest.mark.parametrize("off_s", [-899, -900, 899, 900])
def test_clocks_may_differ_by_15_minutes(off_s: int) -> None:
    assert verifier(NOON_S + off_s).verify(*sign()) == ALICE


def test_16th_minute_is_expired_with_the_text_of_aws() -> None:
    with pytest.raises(RequestExpired) as late:
        verifier(NOON_S + 901).verify(*sign())
    with pytest.raises(RequestExpired) as early:
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
    with pytest.raises(RequestExpired):
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


@pytest.mark.parametrize("name", ["host", "x-amz-date"])
def test_host_and_date_must_be_signed(name: str) -> None:
    raw = sign()

    with pytest.raises((SignatureDoesNotMatch, IncompleteSignature), match="must be a 'SignedHeader'"):
        verifier().verify(
            *edited(
                raw,
                b"SignedHeaders=host;x-amz-date",
                f"SignedHeaders={name}".encode().replace(name.encode(), b"x-amz-date" if name == "host" else b"host"),
            )
        )


@pytest.mark.parametrize(
    "names", [b"x-amz-date;host", b"host;host;x-amz-date", b"Host;x-amz-date", b"host;;x-amz-date", b""]
)
def test_signed_headers_must_be_sorted_distinct_and_lower_case(names: bytes) -> None:
    with pytest.raises(IncompleteSignature):
        verifier().verify(*edited(sign(), b"host;x-amz-date", names))


def test_unknown_key_is_told_so_whatever_the_signature() -> None:
    for raw in (sign(key_id="AKIDNOBODY"), edited(sign(key_id="AKIDNOBODY"), b"Signature=", b"Signature=0")):
        with pytest.raises((InvalidClientTokenId, IncompleteSignature)):
            verifier().verify(*raw)
    with pytest.raises(InvalidClientTokenId, match=r"^The security token included in the request is invalid\.$"):
        verifier().verify(*sign(key_id="AKIDNOBODY"))


def test_unknown_key_does_the_same_work_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[int] = []
    digest = hmac.digest

    def counted(key: bytes, message: bytes, algorithm: str) -> bytes:
        work.append(len(message))
        return digest(key, message, algorithm)

    subject = verifier()
    monkeypatch.setattr(hmac, "digest", counted)
    tallies = []
    for _ in range(2):
        for key_id in (KEY_ID, "AKIDNOBODY"):
            work.clear()
            try:
                subject.verify(*sign(key_id=key_id, secret="wrong"))
            except (SignatureDoesNotMatch, InvalidClientTokenId):
                tallies.append(list(work))

    assert tallies[0] == tallies[1] and len(tallies[0]) == 5
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
