"""deploy/compose, as far as it can be checked without Docker: its settings exist, and its services refer to each
other."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cqs.cli import cli
from cqs.config import load
from tests.needs import needs
from tests.unit.sources import ROOT

COMPOSE = ROOT / "deploy" / "compose"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    return loaded


def test_the_cluster_is_whole(services: dict[str, Any]) -> None:
    kinds = [re.sub(r"-\d$", "", name) for name in services]

    assert sorted(kinds) == sorted(
        ["cassandra"] * 3 + ["redis"] * 2 + ["api"] * 2 + ["schema", "balancer", "prometheus"]
    )


def test_every_setting_of_the_nodes_exists_and_is_legal(services: dict[str, Any]) -> None:
    dockerfile = (COMPOSE / "Dockerfile").read_text()
    image = dict(re.findall(r"(CQS_\w+)=(\S+)", dockerfile))
    assert image
    for name in ("api-1", "api-2"):
        config = load({}, image | services[name]["environment"]).config
        assert config.clustering.node_name == name
        assert [place.split("//")[1].split(":")[0] for place in config.backends.redis] == ["redis-1", "redis-2"]
        assert set(config.backends.cassandra) <= services.keys()


def test_commands_are_commands(services: dict[str, Any]) -> None:
    words = shlex.split(services["schema"]["command"])
    result = CliRunner().invoke(cli, [*words, "--help"])

    assert result.exit_code == 0
    assert all(word in result.output for word in words if word.startswith("--"))


def test_redis_keeps_nothing_and_throws_nothing_away(services: dict[str, Any]) -> None:
    for name in ("redis-1", "redis-2"):
        words = shlex.split(services[name]["command"])
        told = dict(zip(words[1::2], words[2::2], strict=True))
        assert (told["--save"], told["--appendonly"], told["--maxmemory-policy"]) == ("", "no", "noeviction")


def test_parts_wait_for_parts_that_exist(services: dict[str, Any]) -> None:
    waited = {other for one in services.values() for other in one.get("depends_on", {})}

    assert waited <= services.keys()
    assert all("healthcheck" in services[name] for name in waited - {"schema"})


def test_balancer_starts_even_if_a_node_does_not(services: dict[str, Any]) -> None:
    """A condition such as service_healthy would keep it from the node that did start."""
    assert services["balancer"]["depends_on"] == [name for name in services if name.startswith("api-")]


def test_balancer_starts_wherever_fewer_files_may_be_open() -> None:
    """HAProxy ends if a `maxconn` needs more files than the host allows; from a limit it finds its own."""
    words = (COMPOSE / "haproxy.cfg").read_text().split()

    assert "maxconn" not in words
    assert "fd-hard-limit" in words


def test_files_that_are_mounted_and_copied_exist(services: dict[str, Any]) -> None:
    mounted = [volume for one in services.values() for volume in one.get("volumes", []) if volume.startswith(".")]
    built = [one["build"] for one in services.values() if "build" in one]

    assert mounted
    assert [volume for volume in mounted if not (COMPOSE / volume.split(":")[0]).is_file()] == []
    assert all((COMPOSE / one["context"] / one["dockerfile"]).is_file() for one in built)


def test_nothing_is_published_beyond_loopback_while_auth_is_open(services: dict[str, Any]) -> None:
    ports = [port for one in services.values() for port in one.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_balancer_and_prometheus_know_every_node(services: dict[str, Any]) -> None:
    nodes = {f"{name}:9324" for name in services if name.startswith("api-")}
    balancer = (COMPOSE / "haproxy.cfg").read_text()
    scrapes = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())["scrape_configs"]

    assert set(re.findall(r"^ +server \S+ (\S+)$", balancer, re.MULTILINE)) == nodes
    assert "option httpchk GET /ready" in balancer
    assert set(scrapes[0]["static_configs"][0]["targets"]) == nodes


def test_balancer_keeps_a_browser_of_the_console_at_one_node() -> None:
    balancer = (COMPOSE / "haproxy.cfg").read_text()
    backends = dict(re.findall(r"^backend (\S+)\n((?: .*\n|\n(?= ))*)", balancer, re.MULTILINE))

    assert "use_backend console if { path /ADMIN } || { path_beg /ADMIN/ }" in balancer
    assert "balance source" in backends["console"]
    servers = {name: re.findall(r"^ +server .*$", text, re.MULTILINE) for name, text in backends.items()}
    assert servers["console"] == servers["api"]


@needs("promtool")
def test_prometheus_reads_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yml").write_text((COMPOSE / "prometheus.yml").read_text())
    (tmp_path / "alerts.yml").write_text((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
    done = subprocess.run(
        ["promtool", "check", "config", "prometheus.yml"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stdout + done.stderr
