"""Queue URLs: accepted whatever host they name, returned with the host that the client used."""

from __future__ import annotations

import pytest

from cqs.api import urls
from cqs.api.urls import URL_LENGTH_MAX, BaseUrls, name_of_url, path_of
from cqs.queue import QueueName
from tests.engine import make_bench

ORDERS = QueueName("000000000000", "orders")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:9324/000000000000/orders",
        "https://sqs.eu-west-1.amazonaws.com/000000000000/orders",
        "http://[::1]:9324/000000000000/orders",
        "http://user:secret@h/000000000000/orders",
        "http://h/000000000000/orders/",
        "http://h/000000000000/orders?Action=x#y",
        "//h/000000000000/orders",
        "/000000000000/orders",
        "/000000000000/%6Frders",
        "https://h/sqs/000000000000/orders",
        "/a/b/000000000000/orders/",
    ],
)
def test_queue_is_found_whatever_host_its_url_names(url: str) -> None:
    assert name_of_url(url) == ORDERS


@pytest.mark.parametrize(
    "url",
    [
        "",
        "orders",
        "000000000000/orders",
        "/orders",
        "/queue/orders",
        "/1/orders",
        "/0000000000000/orders",
        "/000000000000/",
        "/000000000000//orders",
        "/000000000000/a/b",
        "/a?/000000000000/orders",
        "http://h#/000000000000/orders",
        "/000000000000/" + "q" * 300,
        "/000000000000/orders?" + "x" * URL_LENGTH_MAX,
        "http://h",
        "http:/000000000000/orders",
        "\0",
        "//",
        "http://000000000000/orders",
        "/\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660\u0660/orders",
    ],
)
def test_anything_else_names_no_queue(url: str) -> None:
    assert name_of_url(url) is None


@pytest.mark.parametrize("public_url", ["https://h", "https://h:1/sqs", "https://h/a/b/"])
async def test_queue_is_found_by_the_url_that_is_written_for_it(public_url: str) -> None:
    queue = await (await make_bench()).create("orders")

    assert name_of_url(urls.url_of(BaseUrls(public_url).of({}), queue)) == queue.key


def test_long_url_is_not_kept_in_memory() -> None:
    kept = urls._name_of_url.cache_info().currsize

    name_of_url("/000000000000/orders?" + "y" * URL_LENGTH_MAX)

    assert urls._name_of_url.cache_info().currsize == kept


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/", "/"),
        (b"/a/b?c=/d", "/a/b"),
        (b"http://h:1/a?b", "/a"),
        (b"//h/a", "//h/a"),
        (b"*", "*"),
        (b"", ""),
        (b"/\xff", "/\xff"),
    ],
)
def test_path_of_a_request_target(target: bytes, path: str) -> None:
    assert path_of(target) == path


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ({b"host": b"localhost:9324"}, "http://localhost:9324"),
        ({b"host": b"[::1]:9324"}, "http://[::1]:9324"),
        ({b"host": b" queue.local "}, "http://queue.local"),
        ({}, "http://localhost"),
        ({b"host": b"a/b"}, "http://localhost"),
        ({b"host": b"a\r\nb"}, "http://localhost"),
        ({b"host": b"\xff"}, "http://localhost"),
        ({b"host": b"h:9324", b"x-forwarded-proto": b"https"}, "https://h:9324"),
        ({b"host": b"h:9324", b"x-forwarded-host": b"sqs.example"}, "http://sqs.example"),
        (
            {b"host": b"h", b"x-forwarded-host": b"a.example, b.example", b"x-forwarded-proto": b"https, http"},
            "https://a.example",
        ),
        (
            {b"host": b"h", b"x-forwarded-host": b"a.example", b"x-forwarded-port": b"8443"},
            "http://a.example:8443",
        ),
        (
            {
                b"host": b"h",
                b"x-forwarded-host": b"a.example",
                b"x-forwarded-proto": b"https",
                b"x-forwarded-port": b"443",
            },
            "https://a.example",
        ),
        ({b"host": b"h", b"x-forwarded-host": b"a.example:1", b"x-forwarded-port": b"2"}, "http://a.example:1"),
        ({b"host": b"h", b"x-forwarded-host": b"<script>"}, "http://h"),
        ({b"host": b"h", b"x-forwarded-proto": b"javascript"}, "http://h"),
    ],
)
def test_base_is_what_the_client_used(head: dict[bytes, bytes], base: str) -> None:
    assert BaseUrls().of(head) == base


def test_public_url_overrides_everything() -> None:
    head = {b"host": b"h", b"x-forwarded-host": b"a.example"}

    assert BaseUrls("https://sqs.example/").of(head) == "https://sqs.example"


def test_forwarded_headers_can_be_distrusted() -> None:
    head = {b"host": b"h", b"x-forwarded-host": b"a.example", b"x-forwarded-proto": b"https"}

    assert BaseUrls(is_forwarded_trusted=False).of(head) == "http://h"
