"""The `cqs` command: useful help, lazy imports, exit codes, one-line errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cqs import __version__
from cqs.cli import cli, main
from cqs.config.settings import settings

ROOT = Path(__file__).parents[2]


def run(*arguments: str, env: dict[str, str] | None = None) -> str:
    result = CliRunner().invoke(cli, arguments, env=env, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    """Runs a command that must fail. Returns its exit code and standard error."""
    monkeypatch.setattr(sys, "argv", ["cqs", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err


def test_version_is_told_without_loading_the_server() -> None:
    code = (
        "import sys; sys.argv = ['cqs', '--version']\n"
        "from cqs.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'aiohttp', 'uvloop', 'asyncio', 'structlog', 'cqs.config'} & set(sys.modules)))"
    )

    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert output == f"cqs {__version__}\n[]\n"


def test_help_lists_the_commands() -> None:
    output = run("--help")

    for word in ("serve", "config", "env", "--version"):
        assert word in output


def test_help_of_serve_explains_every_setting_in_groups_with_examples() -> None:
    output = run("serve", "--help")

    for setting in settings():
        assert f"{setting.flag} " in output
    assert output.index("Network:") < output.index("Storage:")
    assert "cqs serve --in-memory --port 0" in output


def test_config_shows_values_and_origins() -> None:
    lines = run("config", "--port", "0", env={"CQS_REGION": "eu-west-1"}).splitlines()

    assert ["port", "0", "flag", "--port"] in [line.split() for line in lines]
    assert ["region", "eu-west-1", "environment", "CQS_REGION"] in [line.split() for line in lines]
    assert ["account", "000000000000", "default"] in [line.split() for line in lines]


def test_config_speaks_json() -> None:
    told = json.loads(run("config", "--format", "json", "--no-purge-wait", "--origins", "http://a.example"))

    assert told["purge_wait"] == {"value": "false", "origin": "flag --purge-wait"}
    assert told["origins"] == {"value": "http://a.example", "origin": "flag --origins"}


@pytest.mark.parametrize("given", [["--cassandra", "a,b", "--cassandra", "c"], ["--cassandra", "a, b,c"]])
def test_a_list_is_one_flag_with_commas_or_several_flags(given: list[str]) -> None:
    assert json.loads(run("config", "--format", "json", *given))["cassandra"]["value"] == "a,b,c"


def test_env_prints_exports_for_a_shell() -> None:
    lines = run("env", "--port", "9400", "--host", "0.0.0.0", "--account", "111122223333").splitlines()

    assert lines[0] == "export AWS_ENDPOINT_URL_SQS=http://127.0.0.1:9400"
    assert "export AWS_ACCESS_KEY_ID=111122223333" in lines
    assert {line.split("=")[0] for line in lines[1:]} == {
        "export AWS_ACCESS_KEY_ID",
        "export AWS_SECRET_ACCESS_KEY",
        "export AWS_REGION",
        "export AWS_DEFAULT_REGION",
    }


def test_env_names_the_public_url() -> None:
    assert "AWS_ENDPOINT_URL_SQS=https://q.example" in run("env", "--public-url", "https://q.example")


def test_wrong_setting_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error = fail(monkeypatch, capsys, "config", "--port", "many")

    assert code == 2
    assert error == "cqs: port: 'many' (flag --port) can't be used; expected a whole number from 0 to 65535\n"


def test_wrong_flag_is_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, error = fail(monkeypatch, capsys, "serve", "--prot", "1")

    assert code == 2
    assert "--port" in error


@pytest.mark.usefixtures("restored_logging")
def test_open_mode_does_not_listen_to_the_network_unasked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error = fail(monkeypatch, capsys, "serve", "--in-memory", "--host", "0.0.0.0", "--port", "0")

    assert code == 2
    assert error.startswith("cqs: host: 0.0.0.0 is reachable from the network")
    assert "--open-to-network" in error
    assert error.count("\n") == 1


def test_ctrl_c_is_exit_code_130_and_says_nothing_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cqs.commands.journal.time.sleep", interrupted)

    code, error = fail(monkeypatch, capsys, "journal", "--dir", str(tmp_path), "tail", "--follow")

    assert code == 130
    assert error.strip() == ""


def test_without_standard_streams_a_command_does_its_work(tmp_path: Path) -> None:
    made = tmp_path / "made"
    code = (
        "import sys, pathlib\n"
        "from cqs.cli import main\n"
        "sys.argv = ['cqs', 'config']\n"
        "try: main()\n"
        f"except SystemExit as ended: pathlib.Path({str(made)!r}).write_text(str(ended.code))"
    )

    subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code], cwd=ROOT, check=True)

    assert made.read_text() == "0"


def test_output_that_finds_no_room_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cqs", "config"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, "cqs: output: No space left on device\n")


def test_a_file_that_can_t_be_used_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("cqs.commands.journal.files_of", refuse)

    assert fail(monkeypatch, capsys, "journal", "--dir", str(tmp_path), "list") == (
        1,
        f"cqs: {tmp_path}: Permission denied\n",
    )
