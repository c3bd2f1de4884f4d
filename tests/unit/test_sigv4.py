"""Signature Version 4: AWS's published signatures, botocore's signer as an oracle, every flipped bit."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlencode

import msgspec
import pytest
from botocore import auth as botocore_auth
from hypothesis import given, settings
from hypothesis import strategies as st

from cqs.errors import (
    SignatureDoesNotMatch,
    SqsError,
)
from tests.unit.sigv4_requests import (
    ALICE,
    KEY_ID,
    NOON_S,
    SEND,
    Keys,
    Raw,
    sign,
    verifier,
)


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
HEADERS = st.dictionaries(NAMES | st.sampled_from(["a%b", "%", "%%s"]), VALUES, max_size=4)
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
