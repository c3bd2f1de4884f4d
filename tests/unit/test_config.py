"""Settings: which source takes precedence, the error for each mistake, and that all names derive from one
declaration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cqs.config import load, report
from cqs.config.settings import Config, settings
from cqs.errors import ConfigError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cqs.toml"


def test_flags_beat_environment_which_beats_file_which_beats_defaults(file: Path) -> None:
    file.write_text('port = 1\nregion = "eu-west-1"\naccount = "111122223333"')

    loaded = load({"port": "3"}, {"CQS_PORT": "2", "CQS_REGION": "eu-north-1"}, str(file))

    assert loaded.config.listening.port == 3
    assert loaded.config.behaviour.region == "eu-north-1"
    assert loaded.config.behaviour.account == "111122223333"
    assert loaded.config.listening.host == "127.0.0.1"
    assert [loaded.origins[name] for name in ("port", "region", "account", "host")] == [
        "flag --port",
        "environment CQS_REGION",
        f"file {file}",
        "default",
    ]


def test_flags_that_were_not_given_decide_nothing() -> None:
    assert load({"port": None, "in_memory": None}, {"CQS_PORT": "5"}).config.listening.port == 5


def test_file_is_named_by_the_environment_too(file: Path) -> None:
    file.write_text("port = 7")

    assert load({}, {"CQS_CONFIG": str(file)}).config.listening.port == 7


def test_file_may_write_hyphens(file: Path) -> None:
    file.write_text("purge-wait = false")

    assert load({}, {}, str(file)).config.behaviour.is_purge_wait is False


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("body_memory", "256MB", 256_000_000),
        ("cassandra", "cassandra-1,10.0.0.2,::1,fe80::1", ("cassandra-1", "10.0.0.2", "::1", "fe80::1")),
        ("cassandra", "cassandra-1:9042", None),
        ("body_memory", "256MiB", 256 << 20),
        ("body_memory", "1 gi", 1 << 30),
        ("body_memory", "1i", None),
        ("body_memory", "1.5GB", None),
        ("body_memory", "10 kB", 10_000),
        ("body_memory", "4096", 4_096),
        ("header_timeout", "1.5s", 1_500),
        ("header_timeout", "250ms", 250),
        ("header_timeout", "2", 2_000),
        ("header_timeout", "2 days", None),
        ("header_timeout", "1ms", None),
        ("in_memory", "yes", True),
        ("in_memory", "OFF", False),
        ("in_memory", "maybe", None),
        ("port", "0", 0),
        ("port", "65536", None),
        ("port", "-1", None),
        ("port", "9e3", None),
        ("port", "٣", None),
        ("body_memory", "٣MB", None),
        ("body_memory", "9" * 5_000, None),
        ("header_timeout", "٣s", None),
        ("account", "12345678901", None),
        ("account", "٣" * 12, None),
        ("log_level", "DEBUG", "debug"),
        ("log_level", "loud", None),
        ("origins", "http://a.example:3000, https://b.example", ("http://a.example:3000", "https://b.example")),
        ("origins", "", ()),
        ("origins", "a.example", None),
        ("public_url", "https://q.example.org/", "https://q.example.org"),
        ("public_url", "q.example.org", None),
        ("host", "two words", None),
        ("host", "", None),
        ("data_dir", "", None),
        ("data_dir", "~nobody-of-that-name/cqs", None),
        ("data_dir", "a\0b", None),
        ("journal_dir", "", ""),
        ("journal_dir", "~nobody-of-that-name/cqs", None),
    ],
)
def test_text_becomes_the_value_or_an_error_that_says_what_would_be_right(name: str, text: str, value: object) -> None:
    setting = next(setting for setting in settings() if setting.name == name)

    if value is None:
        with pytest.raises(ConfigError) as caught:
            load({}, {setting.variable: text})
        assert str(caught.value) == (
            f"{name}: {text!r} (environment {setting.variable}) can't be used; expected {setting.kind.expects}"
        )
    else:
        config = load({}, {setting.variable: text}).config
        assert getattr(getattr(config, setting.section), setting.field) == value


@pytest.mark.parametrize(
    "line", ["port = true", 'port = "x"', "port = 1.5", "origins = 3", "origins = [3]", "host = 1"]
)
def test_wrong_type_in_the_file_is_named(file: Path, line: str) -> None:
    file.write_text(line)

    with pytest.raises(ConfigError, match=rf"^{line.split()[0]}: .*file {file}.*expected"):
        load({}, {}, str(file))


def test_unknown_key_names_its_origin_and_the_nearest_known_key(file: Path) -> None:
    file.write_text("prot = 1")

    with pytest.raises(ConfigError, match=rf"^prot: no such setting \(file {file}\); did you mean port\?"):
        load({}, {}, str(file))
    with pytest.raises(ConfigError, match=r"^CQS_DATADIR: no such setting .*did you mean CQS_DATA_DIR\?"):
        load({}, {"CQS_DATADIR": "/tmp"})


def test_variables_that_kubernetes_makes_for_a_service_named_cqs_are_passed_over() -> None:
    environ = {
        "CQS_PORT": "tcp://10.0.0.1:9324",
        "CQS_PORT_9324_TCP_ADDR": "10.0.0.1",
        "CQS_SERVICE_HOST": "10.0.0.1",
        "CQS_SERVICE_PORT_SQS": "9324",
    }

    assert load({}, environ).origins["port"] == "default"


def test_variables_that_kubernetes_makes_for_services_whose_names_begin_with_cqs_are_passed_over() -> None:
    environ = {
        "CQS_CASSANDRA_PORT": "tcp://[fd00::1]:9042",
        "CQS_CASSANDRA_PORT_9042_TCP": "tcp://[fd00::1]:9042",
        "CQS_CASSANDRA_PORT_9042_TCP_PROTO": "tcp",
        "CQS_CASSANDRA_SERVICE_HOST": "fd00::1",
        "CQS_CASSANDRA_SERVICE_PORT": "9042",
        "CQS_API_PROD_PORT": "udp://10.0.0.1:53",
        "CQS_API_PROD_SERVICE_PORT_DNS_UDP": "53",
    }

    assert load({}, environ) == load({}, {})


def test_key_written_twice_in_two_spellings_is_refused(file: Path) -> None:
    file.write_text("purge-wait = true\npurge_wait = false")

    with pytest.raises(ConfigError, match=r"^purge_wait: given twice"):
        load({}, {}, str(file))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port = = 1", "not valid TOML"),
        ("port = " + "9" * 5_000, "not valid TOML"),
        ("port = " + "[" * 5_000, "not valid TOML"),
        (None, "can't be read"),
    ],
    ids=["syntax", "5,000 digits", "5,000 deep", "missing"],
)
def test_broken_or_missing_file_is_named(file: Path, text: str | None, words: str) -> None:
    if text is not None:
        file.write_text(text)

    with pytest.raises(ConfigError, match=rf"^config: file {file} .*{words}"):
        load({}, {}, str(file))


def test_file_in_the_home_of_nobody_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^config: file ~nobody-of-that-name/cqs\.toml can't be read: .*home"):
        load({}, {}, "~nobody-of-that-name/cqs.toml")


def test_names_are_unique_and_every_setting_is_explained() -> None:
    declared = settings(Config)

    assert len({setting.name for setting in declared}) == len(declared)
    for setting in declared:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", setting.name)
        assert setting.help.endswith(".")
        if setting.default:
            assert setting.kind.read(setting.kind.show(setting.default)) == setting.default


def test_reference_in_docs_is_current() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == report.as_markdown(), "run `make docs`"


def test_example_in_docs_is_a_valid_file(file: Path) -> None:
    file.write_text(report.as_markdown().split("```toml\n")[1].split("```")[0])

    loaded = load({}, {}, str(file))

    assert [queue.name for queue in loaded.queues] == ["orders-dead", "orders", "payments.fifo"]
