"""Real Cassandra nodes on loopback, from Maven's jars.

    build/cassandra/run-…/127.0.0.1/     a node's folder: conf, data, commit log, log; removed when the ring ends

Nodes of a ring have the addresses 127.0.0.1, .2, … and share their ports, as the driver expects. The commit log is
synced before a write is answered (`commitlog_sync: batch`), so that a killed node has lost nothing it acknowledged.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Literal

from cassandra import OperationTimedOut, ReadTimeout
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import WhiteListRoundRobinPolicy

from deploy.cluster import jars, java
from deploy.cluster.jars import CACHE, SERVICES, CassandraFailed
from deploy.cluster.ports import ends_with_parent, free_ports, signals_held
from deploy.cluster.started import Started

START_S = 180
JOIN_S = 120
STOP_S = 20
_OPTIONS_FRAME = bytes((4, 0, 0, 0, 5, 0, 0, 0, 0))
_SUPPORTED = 6
_SYNC = {"batch": "commitlog_sync: batch", "periodic": "commitlog_sync: periodic\ncommitlog_sync_period: 10s"}


@dataclass(frozen=True)
class Tuning:
    """Changes to a node's configuration. `tombstones_max`: how many tombstones a read may scan before it fails. `sync`:
    whether a write is acknowledged after the commit log is synced to disk (batch) or before, which is Cassandra's
    default (periodic). `is_brief`: the node runs for minutes only, so the JVM compiles quickly instead of well: a start
    takes a quarter less CPU. `is_started_once`: a node that ends forgets its schema, since changes of it are not
    flushed: without those dozens of fsyncs `cqs schema apply` takes a third of the CPU."""

    tombstones_max: int = 100_000
    heap_min: str = "512m"
    heap_max: str = "768m"
    sync: Literal["batch", "periodic"] = "batch"
    is_brief: bool = False
    is_started_once: bool = False


class Node:
    """One Cassandra process. `stop` and `kill` keep its data, and `start` brings it back."""

    def __init__(self, folder: Path, address: str, port: int, datacenter: str) -> None:
        self.folder = folder
        self.address = address
        self.port = port
        self.datacenter = datacenter
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def launch(self, tuning: Tuning, classes: Sequence[str] | None = None) -> None:
        """Starts the process and returns at once. The process ends with the thread that called this. `classes`: the
        JVM's options about an archive of its classes; None: it maps the one that is kept."""
        (self.folder / "tmp").mkdir(exist_ok=True)
        conf = self.folder / "conf"
        command = ["java", f"-Xms{tuning.heap_min}", f"-Xmx{tuning.heap_max}"]
        command += (SERVICES / "jvm.options").read_text().split()
        command += ["-XX:TieredStopAtLevel=1"] if tuning.is_brief else []
        command += ["-Dcassandra.test.flush_local_schema_changes=false"] if tuning.is_started_once else []
        command += jars.mapped_classes() if classes is None else classes
        command += [
            f"-Djava.io.tmpdir={self.folder / 'tmp'}",
            f"-Dcassandra.storagedir={self.folder}",
            f"-Dcassandra.config=file://{conf / 'cassandra.yaml'}",
            f"-Dcassandra-rackdc.properties=file://{conf / 'cassandra-rackdc.properties'}",
            f"-Dlogback.configurationFile={SERVICES / 'logback.xml'}",
            "-cp",
            jars.class_path(),
            "org.apache.cassandra.service.CassandraDaemon",
        ]
        with (self.folder / "log").open("ab") as log, signals_held():
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=ends_with_parent(),
            )

    def wait(self, seconds: float = START_S) -> None:
        """Returns when it responds to CQL. Raises CassandraFailed when the process ends or the time runs out."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while not self._answers():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.2)
                raise CassandraFailed(f"Cassandra on {self.address} ended: {java.advice()}{self._end_of_log()}")
            if time.monotonic() > deadline:
                raise CassandraFailed(
                    f"Cassandra on {self.address} did not answer in {seconds} s: {self._end_of_log()}"
                )

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def stop(self, seconds: float = STOP_S) -> None:
        """A graceful stop, forced after so long. Idempotent."""
        if self._process is not None:
            self.resume()
            self._process.terminate()
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        """kill -9. Idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), 2) as connection:
            connection.sendall(_OPTIONS_FRAME)
            answer = connection.recv(16)
            return len(answer) > 4 and answer[4] == _SUPPORTED
        return False

    def _end_of_log(self) -> str:
        return (self.folder / "log").read_text(errors="replace").strip()[-1_500:]


class Ring(Started):
    """Nodes that form one cluster, one for each element of `datacenters`."""

    def __init__(self, datacenters: Sequence[str] = ("dc1",), tuning: Tuning | None = None) -> None:
        jars.fetch()
        self.folder = Path(tempfile.mkdtemp(prefix="run-", dir=CACHE))
        self.tuning = tuning or Tuning()
        addresses = [f"127.0.0.{number}" for number in range(1, len(datacenters) + 1)]
        self.port, storage_port, ssl_port = free_ports(addresses, 3)
        self.nodes: list[Node] = []
        for address, datacenter in zip(addresses, datacenters, strict=True):
            folder = self.folder / address
            self._configure(folder, address, datacenter, f"{addresses[0]}:{storage_port}", storage_port, ssl_port)
            self.nodes.append(Node(folder, address, self.port, datacenter))

    @property
    def contact_points(self) -> list[str]:
        return [node.address for node in self.nodes]

    def start(self) -> None:
        """Returns when every node responds: the seed is started first, then the others together. Raises
        CassandraFailed."""
        self.nodes[0].launch(self.tuning)
        self.nodes[0].wait()
        for node in self.nodes[1:]:
            node.launch(self.tuning)
        for node in self.nodes[1:]:
            node.wait()
        for node in self.nodes if len(self.nodes) > 1 else ():
            self._wait_until_joined(node)

    def stop(self) -> None:
        """Stops all nodes and removes their data. Idempotent."""
        for node in reversed(self.nodes):
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_joined(self, node: Node, seconds: float = JOIN_S) -> None:
        """Returns when the node knows all the others. Raises CassandraFailed."""
        deadline = time.monotonic() + seconds
        while self._known_to(node) < len(self.nodes) - 1:
            if time.monotonic() > deadline:
                raise CassandraFailed(f"Cassandra on {node.address} did not meet the others in {seconds} s")
            time.sleep(0.2)

    def _known_to(self, node: Node) -> int:
        """How many others the node knows; 0 if it does not answer in time, as on a busy machine."""
        policy = WhiteListRoundRobinPolicy([node.address])
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(load_balancing_policy=policy)}
        cluster = Cluster([node.address], port=self.port, execution_profiles=profiles, protocol_version=4)
        with cluster, contextlib.suppress(NoHostAvailable, OperationTimedOut, ReadTimeout):
            return len(list(cluster.connect().execute("SELECT peer FROM system.peers")))
        return 0

    def _configure(
        self, folder: Path, address: str, datacenter: str, seeds: str, storage_port: int, ssl_port: int
    ) -> None:
        conf = folder / "conf"
        conf.mkdir(parents=True)
        text = Template((SERVICES / "cassandra.yaml").read_text()).substitute(
            cluster="cqs",
            folder=folder,
            seeds=seeds,
            address=address,
            port=self.port,
            storage_port=storage_port,
            ssl_port=ssl_port,
            sync=_SYNC[self.tuning.sync],
            tombstones_max=self.tuning.tombstones_max,
            tombstones_warn=max(1, self.tuning.tombstones_max // 4),
        )
        (conf / "cassandra.yaml").write_text(text)
        (conf / "cassandra-rackdc.properties").write_text(f"dc={datacenter}\nrack=rack1\n")


def keep_classes() -> None:
    """Starts a node and stops it, so that its JVM writes the archive of its classes; later nodes map it. Does nothing
    if there is one. Raises CassandraFailed."""
    if jars.CLASSES.exists():
        return
    ring = Ring(tuning=Tuning(is_brief=True, is_started_once=True))
    try:
        (node,), written = ring.nodes, ring.folder / "classes"
        node.launch(ring.tuning, jars.written_classes(written))
        node.wait()
        node.stop(START_S)
        jars.place_classes(written)
    finally:
        ring.stop()
