"""deploy/systemd and deploy/kubernetes, as far as they can be checked without either: settings exist and are
consistent, and probed endpoints exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cqs.config import Config, load
from cqs.service.private_file import is_private
from tests.needs import needs
from tests.unit.sources import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
UNIT = ROOT / "deploy" / "systemd" / "cqs.service"
FILES = sorted(KUBERNETES.glob("*.yaml"))
KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
GIVEN = {"fieldRef": "cqs-1"}
"""What stands for a value that Kubernetes fills in."""


def parts(path: Path) -> dict[str, Any]:
    return {part["kind"]: part for part in yaml.safe_load_all(path.read_text())}


def pod_of(path: Path) -> dict[str, Any]:
    told = parts(path)
    pod: dict[str, Any] = (told.get("Deployment") or told["StatefulSet"])["spec"]["template"]
    return pod


def container_of(path: Path) -> dict[str, Any]:
    (container,) = pod_of(path)["spec"]["containers"]
    return dict(container)


def environment_of(path: Path) -> dict[str, str]:
    return {
        one["name"]: one["value"] if "value" in one else next(GIVEN[kind] for kind in one["valueFrom"])
        for one in container_of(path)["env"]
    }


def config_of(path: Path) -> Config:
    """The file with the master key is read at the start, and is not here."""
    told = environment_of(path)
    del told["CQS_MASTER_KEY_FILE"]
    return load({}, told | {"CQS_MASTER_KEY": KEY}).config


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_settings_exist_and_clients_are_asked_who_they_are(path: Path) -> None:
    config = config_of(path)

    assert config.security.auth == "signed"
    assert config.listening.host == "0.0.0.0"
    assert bool(config.backends.cassandra) is bool(config.backends.redis) is (path.stem == "cluster")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_port_probes_and_labels_know_each_other(path: Path) -> None:
    container, service = container_of(path), parts(path)["Service"]["spec"]
    (port,) = container["ports"]
    probes = {name: one["httpGet"] for name, one in container.items() if name.endswith("Probe")}

    assert port["containerPort"] == config_of(path).listening.port
    assert service["ports"][0]["targetPort"] == port["name"]
    assert service["selector"].items() <= pod_of(path)["metadata"]["labels"].items()
    assert {one["port"] for one in probes.values()} == {port["name"]}
    assert {name: one["path"] for name, one in probes.items()} == {
        "startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/ready",
    }  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_busy_server_is_not_killed(path: Path) -> None:
    """By default a probe fails after one second."""
    probes = [one for name, one in container_of(path).items() if name.endswith("Probe")]

    assert all(one["timeoutSeconds"] > 1 for one in probes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_pod_runs_as_the_user_of_the_image(path: Path) -> None:
    user = re.search(r"useradd .*--uid (\d+)", (ROOT / "deploy" / "compose" / "Dockerfile").read_text())

    assert user and pod_of(path)["spec"]["securityContext"]["runAsUser"] == int(user[1])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_there_is_time_for_an_orderly_end(path: Path) -> None:
    spec, container = pod_of(path)["spec"], container_of(path)
    before_s = float(container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["", "0"])[1])
    stop_s = config_of(path).bounds.stop_timeout_ms / 1_000

    assert spec["terminationGracePeriodSeconds"] > before_s + stop_s


def test_two_servers_never_share_the_data() -> None:
    told = parts(KUBERNETES / "embedded.yaml")["StatefulSet"]["spec"]

    assert told["replicas"] == 1
    assert told["volumeClaimTemplates"][0]["spec"]["accessModes"] == ["ReadWriteOnce"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_data_and_secrets_lie_where_they_are_looked_for(path: Path) -> None:
    image = dict(re.findall(r"(CQS_\w+)=(\S+)", (ROOT / "deploy" / "compose" / "Dockerfile").read_text()))
    places = {mount["name"]: mount["mountPath"] for mount in container_of(path)["volumeMounts"]}
    (secret,) = [one["secret"] for one in pod_of(path)["spec"]["volumes"] if "secret" in one]
    told = environment_of(path)

    assert places["data"] == image["CQS_DATA_DIR"]
    assert {Path(told[name]).parent for name in ("CQS_MASTER_KEY_FILE", "CQS_USERS_FILE")} == {Path(places["secrets"])}
    assert is_private(os.stat_result((secret["defaultMode"], 1, 1, 1, 0, 0, 0, 0, 0, 0)))
    assert pod_of(path)["spec"]["securityContext"]["fsGroup"] == pod_of(path)["spec"]["securityContext"]["runAsUser"]


def test_the_unit_says_where_its_data_lie(tmp_path: Path) -> None:
    """In the file of settings, which the other commands read too: they do not see the environment of the unit."""
    text = UNIT.read_text()
    (line,) = re.findall(r"^#   echo '(.*)' > /etc/cqs\.toml", text, re.MULTILINE)
    file = tmp_path / "cqs.toml"
    file.write_text(line)
    config = load({}, {}, str(file)).config

    assert "CQS_" not in text
    assert "--config /etc/cqs.toml\n" in text
    assert f"StateDirectory={Path(config.storage.data_dir).name}\n" in text
    assert f"LimitNOFILE={2 * config.bounds.connections_max}\n" in text
    timeout = re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert timeout and int(timeout[1]) * 1_000 > config.bounds.stop_timeout_ms


def test_systemd_never_gives_up_restarting() -> None:
    before, service = UNIT.read_text().split("[Service]")

    assert "Restart=always\n" in service
    assert "StartLimitIntervalSec=0\n" in before


@needs("systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "cqs.service"
    unit.write_text(UNIT.read_text().replace("/opt/cqs/bin/cqs", str(Path(sys.executable).with_name("cqs"))))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=120
    )

    assert (done.returncode, done.stderr) == (0, "")
