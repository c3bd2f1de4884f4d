"""Plays a workload against one endpoint, or several of one cluster, with Spark tasks.

    driver: create queues ─► parts (one per client) ─► tasks, each a few clients in threads ─► observations (Parquet)
                                                                                               partitioned by run

Tasks that play together must run at the same time, so there are never more of them than the session has cores.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.arguments import literal
from spark_jobs.client import Client
from spark_jobs.observation import OBSERVATION, Observation
from spark_jobs.players import Part, play
from spark_jobs.progress import Reporter, shown, totals_at
from spark_jobs.session import driver_of
from spark_jobs.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

Tell = Callable[[str], None]
_COLUMNS = [field.name for field in fields(Observation)]


def replay(
    spark: SparkSession,
    workload: Workload,
    endpoints: Sequence[str],
    run: str,
    output: str,
    *,
    tell: Tell,
    seed: int = 1,
) -> DataFrame:
    """Plays it once and returns the observations, which are appended to `output`. The queues are named after the
    run."""
    parts = parts_of(workload, endpoints, run, seed)
    senders = [part for part in parts if part.is_sender]
    receivers = [part for part in parts if not part.is_sender]
    phases = [senders, receivers] if workload.is_two_phase else [parts]
    with shown(tell, *driver_of(spark)) as address:
        for phase in phases:
            if phase:
                tasks = spark.sparkContext.defaultParallelism
                sends = 0 if workload.is_two_phase else workload.total
                keep(played(spark, phase, workload, address, tasks, sends), output, "all")
    return spark.read.parquet(literal(output)).where(f"run = '{run}'")


def keep(observations: DataFrame, output: str, role: str) -> None:
    """Plays, and appends the observations to `output`. Concurrent jobs need different roles."""
    observations.write.mode("append").partitionBy("run").parquet(f"{output}/role={role}")


def parts_of(workload: Workload, endpoints: Sequence[str], run: str, seed: int) -> list[Part]:
    """Creates the queues, and returns one part per client. The endpoints alternate among the senders of a queue, and
    among its receivers."""
    rng = random.Random(seed)
    client = Client(endpoints[0], "driver", rng)
    parts: list[Part] = []
    for number in range(workload.queues):
        name = f"{run}-{number}" + (".fifo" if workload.is_fifo else "")
        url = client.create_queue(name, workload.visibility_s)
        for role, count in (("s", workload.senders), ("r", workload.receivers)):
            parts += [
                Part(
                    run,
                    f"{role}{number}-{place}",
                    role == "s",
                    endpoints[(number + place) % len(endpoints)],
                    name,
                    url,
                    place,
                    rng.getrandbits(60),
                )
                for place in range(count)
            ]
    client.close()
    return parts


def played(
    spark: SparkSession,
    parts: Sequence[Part],
    workload: Workload,
    address: tuple[str, int],
    tasks_max: int,
    sends: int,
) -> DataFrame:
    """The clients' observations, made by at most `tasks_max` tasks; the clients start when the result is read.
    Receivers do not leave before the driver has heard of `sends` sends, unless nothing comes for a long time."""
    tasks = max(1, min(tasks_max, len(parts)))
    rows = [(place % tasks, json.dumps(asdict(part))) for place, part in enumerate(parts)]
    spread = spark.sparkContext.parallelize(sorted(rows), tasks).toDF("task long, part string")

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mine = [Part(**json.loads(text)) for batch in batches for text in batch.to_pydict()["part"]]
        return reported(play(mine, workload, lambda: is_sending(address, sends)), address)

    return spread.mapInArrow(run, OBSERVATION)


def is_sending(address: tuple[str, int], sends: int) -> bool:
    """Whether some of `sends` sends are not acknowledged yet, as far as the driver at this address knows."""
    if not sends:
        return False
    totals = totals_at(address)
    return totals is None or totals.get("send ok", 0) < sends


def reported(batches: Iterator[list[Observation]], address: tuple[str, int]) -> Iterator[pa.RecordBatch]:
    """The observations, in the form that Spark needs; reports their counts to the driver."""
    import pyarrow as pa

    reporter = Reporter(address)
    try:
        for batch in batches:
            reporter.add(Counter(f"{seen.event} {seen.outcome}" for seen in batch))
            yield pa.RecordBatch.from_pydict({name: [getattr(seen, name) for seen in batch] for name in _COLUMNS})
    finally:
        reporter.close()
