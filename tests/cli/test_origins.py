"""File, environment, flags: who goes before whom, and what is said of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from csparql_spark.cli import main
from csparql_spark.cli.failure import Failure
from csparql_spark.cli.origins import resolve
from csparql_spark.settings import Settings, declared

SOME = """# of this house
port = 9001
keep-log = "5m"

"cors" = ["https://a.example"]
data = "kept"
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "csparql-spark.toml").write_text(SOME)
    return tmp_path


def test_nothing_given(tmp_path: Path) -> None:
    given = resolve({}, {}, tmp_path)
    assert given.settings == Settings(data=Path("data").absolute())
    assert set(given.origins.values()) == {"default"}
    assert given.warnings == []


def test_the_file_before_the_defaults(house: Path) -> None:
    given = resolve({}, {}, house)
    assert (given.settings.port, given.settings.keep_log) == (9001, 300_000)
    assert given.settings.cors == ("https://a.example",)
    assert given.settings.data == house / "kept"
    file = house / "csparql-spark.toml"
    assert {key: origin for key, origin in given.origins.items() if origin != "default"} == {
        "port": f"{file}:2",
        "keep-log": f"{file}:3",
        "cors": f"{file}:5",
        "data": f"{file}:6",
    }


def test_the_environment_before_the_file_and_flags_before_all(house: Path) -> None:
    environment = {
        "CSPARQL_PORT": "9002",
        "CSPARQL_KEEP_LOG": "6m",
        "CSPARQL_TOKEN": "x",
        "HOME": "/",
        "CSPARQL_SPARK_KERNEL": "numpy",
    }
    given = resolve({"port": 9003}, environment, house)
    assert (given.settings.port, given.settings.keep_log) == (9003, 360_000)
    assert (given.origins["port"], given.origins["keep-log"]) == ("flag --port", "CSPARQL_KEEP_LOG")
    assert given.warnings == []


@pytest.mark.parametrize(
    "environment, config",
    [({"CSPARQL_CONFIG": "other.toml"}, None), ({"CSPARQL_CONFIG": "gone.toml"}, Path("other.toml"))],
)
def test_another_file(house: Path, environment: dict[str, str], config: Path | None) -> None:
    (house / "other.toml").write_text("port = 1")
    given = resolve({}, environment, house, config)
    assert (given.settings.port, given.settings.keep_log) == (1, 600_000)


@pytest.mark.parametrize(
    "text, said",
    [
        (
            "port = 1\n\nkeep_log = 5",
            "{file}, line 3: there is no setting 'keep_log': did you mean 'keep-log'? "
            "(`csparql-spark config` lists them all)",
        ),
        (
            "listen-port = 1",
            "{file}, line 1: there is no setting 'listen-port': did you mean 'port'? "
            "(`csparql-spark config` lists them all)",
        ),
        ("[colour]\nx = 1", "{file}, line 1: there is no setting 'colour' (`csparql-spark config` lists them all)"),
        ("\nport = 70000", "{file}, line 2: port: 70000 is too much: the most is 65535"),
        ("port = ", "the settings {file} are not TOML: Invalid value (at end of document)"),
        (
            'mqtt = "broker"',
            "{file}, line 1: mqtt: this is not the URL of a broker: write it as "
            "mqtt://broker.example.org:1883, or mqtts:// for TLS",
        ),
        ("tokens = [7]", "{file}, line 1: tokens: its value cannot be used (it is secret, and not shown)"),
    ],
)
def test_mistakes_in_the_file(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "csparql-spark.toml"
    file.write_text(text)
    with pytest.raises(Failure) as failure:
        resolve({}, {}, tmp_path)
    assert failure.value.message == said.format(file=file)


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="the settings .*gone.toml cannot be read: No such file or directory"):
        resolve({}, {}, tmp_path, Path("gone.toml"))


def test_mistakes_in_the_environment(tmp_path: Path) -> None:
    with pytest.raises(Failure) as failure:
        resolve({}, {"CSPARQL_PORT": "http"}, tmp_path)
    assert failure.value.message == "the environment's CSPARQL_PORT: 'http' is not a whole number"
    told = resolve(
        {},
        {
            "CSPARQL_KEEPLOG": "5m",
            "CSPARQL_QQQ": "1",
            "CSPARQL_SPARK_PORT": "9000",
            "CSPARQL_SPARK_KEEPLOG": "5m",
            "CSPARQL_LISTEN_PORT": "1",
            "CSPARQL_SPARK_MOST_ROWS": "9",
        },
        tmp_path,
    )
    assert told.warnings == [
        "the environment's CSPARQL_KEEPLOG is no setting, and is left out: did you mean CSPARQL_KEEP_LOG?",
        "the environment's CSPARQL_QQQ is no setting, and is left out (`csparql-spark config` lists them all)",
        "the environment's CSPARQL_SPARK_PORT is no setting, and is left out: did you mean CSPARQL_PORT?",
        "the environment's CSPARQL_SPARK_KEEPLOG is no setting, and is left out: did you mean CSPARQL_KEEP_LOG?",
        "the environment's CSPARQL_LISTEN_PORT is no setting, and is left out: did you mean CSPARQL_PORT?",
    ]
    assert told.settings.port == 8000


def test_config_prints_each_with_its_origin(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house)
    monkeypatch.setenv("CSPARQL_TOKENS", f"lab:read:{'0' * 64}")
    result = CliRunner().invoke(main, ["config", "--lag-limit", "1m", "--no-demo"])
    assert (result.exit_code, result.stderr) == (0, "")
    told = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert list(told) == list(declared())
    assert told["port"] == ["9001", f"{house}/csparql-spark.toml:2"]
    assert told["lag-limit"] == ["1m", "flag", "--lag-limit"]
    assert told["demo"] == ["false", "flag", "--demo"]
    assert told["host"] == ["127.0.0.1", "default"]
    assert told["tokens"] == ["********", "CSPARQL_TOKENS"]
    assert "lab" not in result.stdout
    told = json.loads(CliRunner().invoke(main, ["config", "--json"]).stdout)
    assert told["keep-log"] == {"value": 300_000, "origin": f"{house}/csparql-spark.toml:3"}
    assert told["tokens"] == {"value": "********", "origin": "CSPARQL_TOKENS"}


def test_a_flag_that_cannot_be(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house)
    result = CliRunner().invoke(main, ["config", "--body-limit", "much"])
    assert result.exit_code == 2
    assert "Invalid value for '--body-limit': 'much' is not a number of bytes" in result.stderr


@pytest.mark.parametrize("command", ["serve", "demo", "config"])
def test_every_setting_that_is_not_secret_has_a_flag(command: str) -> None:
    known = {option for parameter in main.get_command(click.Context(main), command).params for option in parameter.opts}
    without = {"serve": {"speed"}, "demo": {"demo"}}.get(command, set())
    assert {one.flag for one in declared().values() if not one.secret and one.key not in without} <= known
    assert not {one.flag for one in declared().values() if one.secret} & known
