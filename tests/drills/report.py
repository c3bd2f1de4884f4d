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
    "resurrected", "stuck", "out of order", "p50 / p99 ms", "recovery s", "failed calls",
)  # fmt: skip
_INTRODUCTION = """\
# Drills

Real processes, a load of numbered, checksummed messages, something broken on purpose, and every message accounted for.
Written by `make drills`, which performs long versions, and `python -m tests.drills`, short ones. `make test` performs
all short versions beside its other tests, but for six drills that others contain (`is_apart` in
`tests/drills/drills.py`).

What the words mean: `tests/drills/verdict.py`. Lost, resurrected, stuck and out of order must be 0 everywhere, and no
duplicate may be unexplained. Only where a data centre dies with deletes that it alone had, these messages come again:
they are counted, and bounded as duplicates are.
A row's command repeats it, with the same choices, though not with the same timing.

All long versions take about six hours on two cores: each is bounded by its load's rate and by ten minutes of drain. The
three of 1,000,000 messages are by themselves about a quarter of an hour each:

    make drills DRILLS="'no fault, embedded' 'no fault, 2 nodes' 'rolling restart, 2 nodes'"

`--messages N` makes them shorter. Allowed duplicates are a share of the messages where leases may be lost (0.1 %; 1 %
with a data centre), but below 10,000 messages one answer a fault (10) at least; a killed API node may cost what its
clients held (80). Where writes time out for seconds, only each message is bounded: by the tries that nobody answered;
and so it is in all short versions, whose calls time out also because other tests run beside them. Older rows show the
bound they were held to.

The last run of each drill that came to its end, passed or not. A drill without a row never did on this machine.

- **verdict**: passed, or which promises were broken, and how often.
- **of these**: why a message came twice. copy: its send was tried again, since nobody knew what became of it; delete:
  nobody knew what became of its delete; late: its lease had run out; fault: the fault cost it its lease.
- **recovered**: never acknowledged, and received. **recovery**: for how long after the fault calls still failed.
- **s more until the sweep had found the rest**: sends that nobody was answered, and that only the store had. Waited for
  after all acknowledged ones were seen off, up to 150 s, the sweep's bound ([operations](operations.md#kill-a-node)).
- **p50 / p99** are of sends and deletes that were answered, during the fault too, on a machine of two cores that also
  runs the clients, Redis and Cassandra.
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
    """Of the tree it was run on, with a "+" when that had changes; "" = run before rows were told."""
    broken: list[str] = field(default_factory=list)
    """Which promises, in words; [] = passed."""
    told: dict[str, int] = field(default_factory=dict)
    """What else was counted, by its name."""

    @property
    def verdict(self) -> str:
        verdict = f"FAILED: {'; '.join(self.broken)}" if self.broken else "passed"
        return verdict + "".join(f"; {count:,} {what}" for what, count in self.told.items())


def commit_here() -> str:
    """The commit of this tree; with a "+" when the server, its surroundings or the drills differ from it."""
    here = _git("rev-parse", "--short=9", "HEAD")
    return here + "+" * bool(_git("status", "--porcelain", "--", *_DRILLED))


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=DOCS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def row_of(result: Result, commit: str) -> Row:
    """`commit`: of the tree that was drilled, told when the drill began."""
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
    )


def keep(row: Row, folder: Path = DOCS) -> None:
    """Puts the row in the place of the same drill's last one, and writes both files."""
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
    """The page of the documentation."""
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
    """Which drills have no figures of that version."""
    run = {row.name for row in rows if row.is_long == is_long}
    names = [drill.name for drill in DRILLS if drill.name not in run]
    return f"- {'long' if is_long else 'short'}: {'; '.join(names) or 'none'}"


def _cells(row: Row) -> str:
    causes = ", ".join(f"{cause} {count}" for cause, count in row.causes.items())
    return _line(
        [
            f"{row.name}; {row.place}", row.verdict, f"{row.messages:,}", row.seed, f"{row.acknowledged:,}",
            row.lost, f"{row.duplicated} ({row.allowed})", causes, row.recovered, row.resurrected, row.stuck,
            row.out_of_order, f"{row.p50_ms} / {row.p99_ms}", row.recovery_s, row.failed_calls,
        ]
    )  # fmt: skip


def _line(cells: list[object] | list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
