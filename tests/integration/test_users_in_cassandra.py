"""Users of a cluster: stored in a real Cassandra, and changed by the command line while a server runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from cqs.cli import cli
from cqs.store.cassandra import schema
from tests import cassandra_server
from tests.integration.process import refused, serving, until
from tests.integration.signed import client, said
from tests.needs import needs

pytestmark = [needs("java", "mvn"), pytest.mark.slow]
KEYSPACE, MASTER_KEY = "users", "A" * 43 + "="


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Environment variables for servers and commands on their own Cassandra node."""
    for ring in cassandra_server.session():
        options = cassandra_server.options_of(ring, KEYSPACE)
        asyncio.run(schema.apply(options, {}))
        yield {
            "CQS_CASSANDRA": ",".join(options.hosts),
            "CQS_CASSANDRA_PORT": str(ring.port),
            "CQS_CASSANDRA_KEYSPACE": KEYSPACE,
            "CQS_DATA_DIR": str(tmp_path_factory.mktemp("node")),
        }


def told(settings: dict[str, str], *words: str) -> Any:
    """Runs a command that must succeed and returns its output."""
    result = CliRunner().invoke(cli, [*words, "-o", "json"], env=settings | {"CQS_MASTER_KEY": MASTER_KEY})
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_key_made_by_a_command_works_until_another_command_disables_it(cluster: dict[str, str]) -> None:
    told(cluster, "user", "add", "alice")
    key = told(cluster, "key", "add", "alice")

    with serving("--auth", "signed", port=0, **cluster | {"CQS_MASTER_KEY": MASTER_KEY}) as server:
        keys = {"aws_access_key_id": key["key_id"], "aws_secret_access_key": key["secret"]}
        sqs = client(server, **keys)
        assert said(sqs.list_queues) == (200, "")

        assert told(cluster, "key", "disable", key["key_id"])[0]["enabled"] is False
        until(lambda: said(sqs.list_queues) == (403, "InvalidClientTokenId"))
        code, rest = server.stop()

    assert (code, "Traceback" in rest) == (0, False), rest


def test_nodes_that_check_must_be_given_the_master_key(cluster: dict[str, str]) -> None:
    code, error = refused("--port", "0", "--auth", "signed", **cluster)

    assert (code, error.count("\n")) == (2, 1)
    assert error.startswith("cqs: master_key: not given; with Cassandra every node needs the same one")
