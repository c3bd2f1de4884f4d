"""The table of drills: `docs/drills.json` holds the last figures of each, `docs/drills.md` shows them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.drills.drills import DRILLS
from tests.drills.result import Result

DOCS = Path(__file__).parents[2] / "docs"
_DRILLED = ("cqs", "deploy", "tests/drills")
_HEADINGS = (
    "drill", "verdict", "N", "seed", "acknowledged", "lost", "duplicated (allowed)", "of these", "recovered",
    "resurrected", "stuck", "out of order", "p50 / p99 ms", "slowest s", "recovery s", "failed calls",
)  # fmt: skip
_INTRODUCTION = """\
# Drills

Fault-injection tests: real processes, a load of numbered messages with checksums, a deliberate fault, and a check of
what became of every message. `make drills` runs the long versions and writes this page; `python -m tests.drills` runs
the short ones. `make test` runs all short versions next to its other tests, except for 'dc1 gone, then back', which
another drill includes (`is_apart` in `tests/drills/drills.py`).

The terms are defined in `tests/drills/verdict.py`. Lost, resurrected, stuck and out of order must be 0 everywhere,
and no duplicate may be unexplained. The only exception: if a data centre dies with deletes that no other has, these
messages are delivered again; they are counted, and limited like duplicates or, if these are more, to the number of such
deletes. The command of a row repeats it with the same random choices, though not with the same timing.

All long versions together take about six hours on two cores: each is limited by the rate of its load and by ten
minutes of drain. The three with 1,000,000 messages alone take about a quarter of an hour each:

    make drills DRILLS="'no fault, embedded' 'no fault, 2 nodes' 'rolling restart, 2 nodes'"

`--messages N` makes them shorter. Where leases may be lost, duplicates are allowed for a share of the messages (0.1
%; 1 % with a data centre), but below 10,000 messages for at least one response per fault (10); a killed API node may
cost what its clients held (80). Where writes time out for seconds, and in all short versions, whose calls also time
out because other tests run next to them, the limit is per message: the number of its unanswered attempts. Duplicates of
messages whose lease had expired (late) are not limited in short versions, as their readers are slowed down, too. Older
rows show the limit that applied to them.

The tables show the last completed run of each drill, passed or not. A drill without a row was never completed on this
machine.

- **verdict**: passed, or which guarantees were broken, and how often.
- **of these**: why a message was duplicated. copy: its send was retried because its outcome was unknown; delete: the
  outcome of its delete was unknown; late: its lease had expired; fault: the fault destroyed its lease.
- **recovered**: never acknowledged, but received. **recovery**: for how long after the fault calls still failed.
- **s more until the sweep had found the rest**: for sends that got no response and that only the store had. They are
  waited for after all acknowledged messages were received, up to 180 s, the limit of the sweep
  ([operations](operations.md#kill-a-node)).
- **p50 / p99** cover sends and deletes that got a response, including during the fault, on a machine of two cores
  that also runs the clients, Redis and Cassandra. **slowest**: the longest attempt of a send or delete, refused ones
  included; clients give up after 10 s. It is empty in older rows.
- **calls throttled**, **sends refused with 503**: the drill fails if there are none. No send may be acknowledged while
  none can be stored (no quorum), in a long version none may take longer than 8 s then (3 s, as long again behind
  another write to the same partition, and 2 s for a busy machine), and sends must succeed afterwards.
- **MB more memory in an API process**: from the start of the fault to its maximum until 3 s after it; at most 50.
"""


@dataclass(frozen=True)
class Row:
    """The figures of one drill."""

    name: str
    place: str
    is_long: bool
    messages: int
    seed: int
    load: str
    acknowledged: int
    lost: int
    duplicated: int
    allowed: int
    causes: dict[str, int]
    recovered: int
    resurrected: int
    stuck: int
    out_of_order: int
    p50_ms: float
    p99_ms: float
    recovery_s: float
    failed_calls: int
    faults: int
    command: str
    commit: str = ""
    """The commit that was tested, with a "+" if the tree had changes; "" = older than this field."""
    broken: list[str] = field(default_factory=list)
    """The broken guarantees, in words; [] = passed."""
    told: dict[str, int] = field(default_factory=dict)
    """Other counts of the drill, by name."""
    slowest_s: float = 0.0
    """The longest attempt of a send or delete; 0 = not recorded yet then."""

    @property
    def verdict(self) -> str:
        verdict = f"FAILED: {'; '.join(self.broken)}" if self.broken else "passed"
        return verdict + "".join(f"; {count:,} {what}" for what, count in self.told.items())


def commit_here() -> str:
    """The commit of this tree, with a "+" if cqs/, deploy/ or tests/drills/ have uncommitted changes."""
    here = _git("rev-parse", "--short=9", "HEAD")
    return here + "+" * bool(_git("status", "--porcelain", "--", *_DRILLED))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=DOCS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def row_of(result: Result, commit: str) -> Row:
    """`commit`: of the tested tree, read when the drill began."""
    verdict, drill = result.verdict, result.drill
    p50_ms, p99_ms = result.percentiles_ms()
    long = f" --long --messages {verdict.attempted}" if result.is_long else ""
    return Row(
        name=drill.name,
        place=str(drill.kind) + (f", {drill.nodes} API nodes" if drill.nodes > 1 else ""),
        is_long=result.is_long,
        messages=verdict.attempted,
        seed=result.seed,
        load=str(result.run.load),
        acknowledged=verdict.acknowledged,
        lost=verdict.lost,
        duplicated=verdict.duplicated,
        allowed=result.duplicates_max,
        causes={str(cause): count for cause, count in sorted(verdict.causes.items())},
        recovered=verdict.recovered,
        resurrected=verdict.resurrected,
        stuck=verdict.stuck,
        out_of_order=verdict.out_of_order + verdict.shared_groups,
        p50_ms=round(p50_ms, 1),
        p99_ms=round(p99_ms, 1),
        recovery_s=round(result.recovery_s(), 2),
        failed_calls=sum(not call.is_done for call in result.history.calls),
        faults=len(result.history.faults),
        command=f"python -m tests.drills '{drill.name}' --seed {result.seed}{long}",
        commit=commit,
        broken=result.broken,
        told=result.history.told,
        slowest_s=round(result.slowest_s(), 2),
    )


def keep(row: Row, folder: Path = DOCS) -> None:
    """Replaces the previous row of the same drill and writes both files."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "drills.json"
    rows: dict[str, dict[str, object]] = json.loads(path.read_text()) if path.exists() else {}
    rows[f"{row.name}, {'long' if row.is_long else 'short'}"] = asdict(row)
    order = {drill.name: place for place, drill in enumerate(DRILLS)}
    known = {key: told for key, told in rows.items() if told["name"] in order}
    ordered = dict(sorted(known.items(), key=lambda item: (order[str(item[1]["name"])], item[1]["is_long"])))
    path.write_text(json.dumps(ordered, indent=1) + "\n")
    (folder / "drills.md").write_text(page([Row(**told) for told in ordered.values()]))  # type: ignore[arg-type]


def page(rows: list[Row]) -> str:
    """Returns docs/drills.md."""
    lines = [_INTRODUCTION]
    for is_long, title in ((True, "Long"), (False, "Short")):
        some = [row for row in rows if row.is_long == is_long]
        if some:
            lines += [f"## {title}", "", _line(_HEADINGS), _line(["---"] * len(_HEADINGS)), *map(_cells, some), ""]
    lines += [
        "## Not run here",
        "",
        _missing(rows, is_long=True),
        _missing(rows, is_long=False),
        "",
        "## Loads and commands",
        "",
    ]
    lines += [f"- **{row.name}** ({row.place}): {row.load}; {row.faults} faults; "
              f"commit {row.commit or 'not told'}; `{row.command}`" for row in rows]  # fmt: skip
    return "\n".join(lines) + "\n"


def _missing(rows: list[Row], *, is_long: bool) -> str:
    """Lists the drills without figures for that version, long or short."""
    run = {row.name for row in rows if row.is_long == is_long}
    names = [drill.name for drill in DRILLS if drill.name not in run]
    return f"- {'long' if is_long else 'short'}: {'; '.join(names) or 'none'}"


def _cells(row: Row) -> str:
    causes = ", ".join(f"{cause} {count}" for cause, count in row.causes.items())
    return _line(
        [
            f"{row.name}; {row.place}", row.verdict, f"{row.messages:,}", row.seed, f"{row.acknowledged:,}",
            row.lost, f"{row.duplicated} ({row.allowed})", causes, row.recovered, row.resurrected, row.stuck,
            row.out_of_order, f"{row.p50_ms} / {row.p99_ms}", str(row.slowest_s or ""), row.recovery_s,
            row.failed_calls,
        ]
    )  # fmt: skip


def _line(cells: list[object] | list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
