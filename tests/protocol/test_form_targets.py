"""Forms with an X-Amz-Target: which protocol they are of."""

from __future__ import annotations

import pytest

from tests.protocol.world import STANDARD, form_request, make_world


@pytest.mark.parametrize(
    ("target", "body", "content_type"),
    [
        (b"AmazonSQSv20121105.ListQueues", b"Action=ListQueues&Version=2012-11-05", b"text/xml"),
        (b"AmazonSQS.ListQueues", b"{}", b"application/x-amz-json-1.0"),
    ],
    ids=["Perl", "curl"],
)
async def test_form_is_json_only_with_a_target_of_it(target: bytes, body: bytes, content_type: bytes) -> None:
    world = await make_world()

    reply = await world.dispatcher.dispatch(form_request(body, (b"X-Amz-Target", target)))

    assert reply.status == 200
    assert dict(reply.headers)[b"Content-Type"] == content_type
    assert STANDARD.encode() in reply.body
