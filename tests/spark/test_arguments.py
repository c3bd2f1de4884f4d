"""Arguments that the commands reject, in one line, before Spark starts."""

from __future__ import annotations

import fcntl
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks import cluster_audit
from spark_jobs import __main__ as audit_command
from spark_jobs import proof, streaming
from spark_jobs.comparison import FIGURES
from tests.spark.golden import Golden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Main = Callable[[list[str]], int]
Told = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        pytest.fail("Spark was started")

    for module in (audit_command, proof, streaming):
        monkeypatch.setattr(module, "session", refused)


def told_by(main: Main, given: list[str], capsys: Told) -> str:
    """Returns the one line of output of a command that failed."""
    assert main(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("main", "given"),
    [
        (audit_command.main, ["--clock-skew-ms", "-5"]),
        (audit_command.main, ["--span-ms", "0"]),
        (audit_command.main, ["--memory", "much"]),
        (audit_command.main, ["--memory", "0g"]),
        (proof.main, ["--speed", "-1"]),
        (proof.main, ["--speed", "nan"]),
        (proof.main, ["--speed", "1e-300"]),
        (proof.main, ["--speed", "fast"]),
        (proof.main, ["--endpoint", "127.0.0.1:9324", "--journal", "."]),
        (proof.main, ["--endpoint", "http://127.0.0.1:many", "--journal", "."]),
        (proof.main, ["--clock-skew-ms", "1.5"]),
        (proof.main, ["--memory", "1gb"]),
        (streaming.main, ["--delay-ms", "-1"]),
        (audit_command.main, ["--master", "localhost"]),
        (proof.main, ["--master", "local[many]"]),
        (streaming.main, ["--master", ""]),
    ],
)
def test_value_that_means_nothing_is_refused_by_its_option(main: Main, given: list[str], capsys: Told) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*given, *([] if main is proof.main else ["."])])

    assert ended.value.code == 2
    assert f"error: argument {given[0]}: " in capsys.readouterr().err.splitlines()[-1]


def test_what_was_recorded_or_a_workload_is_played(capsys: Told) -> None:
    with pytest.raises(SystemExit):
        proof.main(["--recorded", ".", "--workload", "bdqs"])

    assert "argument --workload: not allowed with argument --recorded" in capsys.readouterr().err


def test_one_store_is_reconciled_with(capsys: Told) -> None:
    with pytest.raises(SystemExit):
        audit_command.main([".", "--data-dir", ".", "--cassandra", "127.0.0.1"])

    assert "not allowed with" in capsys.readouterr().err


@pytest.mark.parametrize("main", [audit_command.main, streaming.main])
def test_folder_that_is_not_there_is_told(main: Main, tmp_path: Path, capsys: Told) -> None:
    line = told_by(main, [str(tmp_path / "none"), "--output", str(tmp_path / "out")], capsys)

    assert line.startswith(f"audit: {tmp_path / 'none'} is not a folder: name the one")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--recorded", "--journal"])
def test_folder_to_play_or_to_read_that_is_not_there_is_told(option: str, tmp_path: Path, capsys: Told) -> None:
    endpoint = ["--endpoint", "http://127.0.0.1:1"] if option == "--journal" else []

    assert "is not a folder" in told_by(proof.main, [option, str(tmp_path / "none"), *endpoint], capsys)


@pytest.mark.parametrize("fault", ["--quit", "--drop"])
def test_faults_of_a_recorded_journal_are_refused(fault: str, tmp_path: Path, capsys: Told) -> None:
    line = told_by(proof.main, ["--recorded", str(tmp_path), fault, "0.1"], capsys)

    assert line == "audit: --quit and --drop go with --workload: what was recorded is played without faults."


@pytest.mark.parametrize("server", [[], ["--endpoint", "http://127.0.0.1:1", "--journal", "j"]])
def test_store_of_what_is_played_against_is_refused(server: list[str], capsys: Told) -> None:
    line = told_by(proof.main, ["--data-dir", "d", *server], capsys)

    assert line.startswith("audit: --data-dir has no effect here: ")
    assert line.endswith(f"python -m spark_jobs {'j' if server else 'JOURNAL'} --since 1h --data-dir d")


@pytest.mark.parametrize("main", [audit_command.main, streaming.main, proof.main])
def test_output_that_can_not_be_written_is_told(main: Main, tmp_path: Path, capsys: Told) -> None:
    taken = tmp_path / "file"
    taken.touch()
    folder = [] if main is proof.main else [str(tmp_path)]

    for output in (taken, taken / "below"):
        line = told_by(main, [*folder, "--output", str(output)], capsys)
        assert line.startswith(f"audit: {output} can't be written to (")
        assert line.endswith("name another folder with --output.")


@pytest.mark.parametrize("text", [None, "no json", "[]", "{}", '{"totals": 3}'])
def test_run_to_compare_with_that_is_invalid_is_reported(text: str | None, tmp_path: Path, capsys: Told) -> None:
    if text is not None:
        (tmp_path / FIGURES).write_text(text)

    line = told_by(audit_command.main, [str(tmp_path), "--compare", str(tmp_path)], capsys)

    assert line == f"audit: There are no figures in {tmp_path / FIGURES}: name the output folder of a run."


def test_run_of_another_version_is_not_compared_with(tmp_path: Path, capsys: Told) -> None:
    (tmp_path / FIGURES).write_text('{"totals": {"acknowledged": 1, "deleted": 1}, "verdict": {"lost": 0}}')

    line = told_by(proof.main, ["--compare", str(tmp_path)], capsys)

    assert "lacks duplicates, out_of_order, displacement" in line


@pytest.mark.parametrize("main", [audit_command.main, streaming.main, proof.main])
def test_folder_that_another_run_writes_to_is_left_alone(main: Main, tmp_path: Path, capsys: Told) -> None:
    (tmp_path / "report.html").write_text("of the other run")
    with (tmp_path / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        line = told_by(main, [*([] if main is proof.main else [str(tmp_path)]), "--output", str(tmp_path)], capsys)

    assert line.startswith(f"audit: Another run writes to {tmp_path}: wait until it has ended")
    assert (tmp_path / "report.html").exists()


def test_audit_of_the_store_of_a_running_server_is_refused_before_spark_starts(tmp_path: Path, capsys: Told) -> None:
    given = [str(tmp_path), "--data-dir", str(tmp_path), "--output", str(tmp_path / "out")]
    (tmp_path / "messages.db").touch()
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        line = told_by(audit_command.main, given, capsys)

    assert line.startswith(f"audit: A server is using {tmp_path}: stop it, then reconcile; or ")


def test_missing_store_is_refused_before_spark_starts(tmp_path: Path, capsys: Told) -> None:
    given = [str(tmp_path), "--data-dir", str(tmp_path), "--output", str(tmp_path / "out"), "--since", "1h"]

    assert told_by(audit_command.main, given, capsys).startswith(f"audit: There is no messages.db in {tmp_path}: ")


@pytest.mark.parametrize("main", [audit_command.main, proof.main])
def test_cassandra_that_nothing_reaches_is_refused_before_spark_starts(
    main: Main, tmp_path: Path, capsys: Told
) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        given = ["--cassandra", place, "--output", str(tmp_path / "out")]

        line = told_by(main, [*([] if main is proof.main else [str(tmp_path)]), *given], capsys)

    assert line.startswith(f"audit: Cassandra can't be reached at {place} (127.0.0.1: Connection refused): ")


@pytest.mark.parametrize("kind", ["empty", "junk", "another's"])
def test_file_that_is_not_a_store_is_reported(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs.stored import NoStore, in_sqlite

    path = tmp_path / "messages.db"
    path.write_bytes(b"no database" * 100 if kind == "junk" else b"")
    if kind == "another's":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (id INTEGER)")

    with pytest.raises(NoStore, match="can't be read"):
        in_sqlite(spark, str(tmp_path))


def test_endpoint_that_does_not_answer_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    monkeypatch.setattr(proof, "session", lambda *args, **kwargs: spark)
    monkeypatch.setattr(proof, "ended", lambda spark: None)
    given = ["--endpoint", "http://127.0.0.1:1", "--journal", str(tmp_path), "--output", str(tmp_path / "out")]

    assert proof.main(given) == 2

    assert capsys.readouterr().err.splitlines()[-1].startswith("audit: http://127.0.0.1:1 failed: [Errno")


def test_journal_without_a_send_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    monkeypatch.setattr(proof, "session", lambda *args, **kwargs: spark)
    monkeypatch.setattr(proof, "ended", lambda spark: None)
    Golden(tmp_path / "journal", seed=1).close()
    given = ["--recorded", str(tmp_path / "journal"), "--output", str(tmp_path / "out")]

    assert proof.main([*given, "--endpoint", "http://127.0.0.1:1", "--journal", str(tmp_path / "journal")]) == 2

    assert capsys.readouterr().err == (
        f"audit: No message was sent according to {tmp_path / 'journal'}: there is nothing to play.\n"
    )


@pytest.mark.parametrize(("given", "code"), [(["--help"], 0), (["--nodes", "many"], 2)])
def test_cluster_of_an_audit_is_not_started_for_nothing(
    monkeypatch: pytest.MonkeyPatch, given: list[str], code: int
) -> None:
    monkeypatch.setattr(cluster_audit, "Ring", lambda: pytest.fail("Cassandra was started"))

    with pytest.raises(SystemExit) as ended:
        cluster_audit.main(given)

    assert ended.value.code == code


def test_cluster_of_an_audit_is_not_started_for_an_invalid_workload(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Told
) -> None:
    monkeypatch.setattr(cluster_audit, "Ring", lambda: pytest.fail("Cassandra was started"))

    line = told_by(cluster_audit.main, ["--workload", "none", "--output", str(tmp_path)], capsys)

    assert line.startswith("audit: none is not a workload")
