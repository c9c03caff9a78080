"""What `serve` and `demo` hand down to the processes that they start: all settings, and no secret on a command line."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from csparql_spark.answers.limits import Limits
from csparql_spark.cli import main, serve
from csparql_spark.cli.processes import Child
from csparql_spark.cli.serve import limits
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.disk.errors import DatabaseFull
from csparql_spark.log import Draft, LogWriter
from csparql_spark.settings import WORKER_MEMORY, Settings
from csparql_spark.store import Status
from csparql_spark.store.progress import advance
from csparql_spark.store.tokens import Tokens, made


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Child]:
    """The children by name, as they would be run."""
    seen: dict[str, Child] = {}

    class Supervisor:
        def __init__(self, children: list[Child]) -> None:
            seen.update({child.name: child for child in children})

        def run(self) -> None:
            return None

    monkeypatch.setattr(serve, "Supervisor", Supervisor)
    monkeypatch.setattr("csparql_spark.spark.session.check_java", lambda: None)
    monkeypatch.chdir(tmp_path)
    return seen


def run(*words: str, **environment: str) -> str:
    result = CliRunner(env=environment).invoke(main, [*words, "--port", "0"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_web_process_gets_all_settings(children: dict[str, Child], tmp_path: Path) -> None:
    told = run("serve", "--keep-answers", "7", CSPARQL_IDLE_SECONDS="9s")
    command = children["web"].command
    handed = Settings.handed_down(Path(command[command.index("--settings") + 1]))
    assert (handed.data, handed.keep_answers, handed.idle_seconds) == (tmp_path / "data", 7, 9.0)
    assert handed.port != 0 and f"serves http://127.0.0.1:{handed.port} from {tmp_path}/data;" in told
    assert list(children) == ["web", "engine"]


def test_the_engine_gets_its_master_and_the_limits(children: dict[str, Child]) -> None:
    run("serve", "--master", "local[1]", "--row-limit", "5", "--time-limit", "3s", CSPARQL_STATE_LIMIT="1MiB")
    engine = children["engine"]
    assert engine.command[engine.command.index("--master") + 1] == "local[1]"
    for child in (engine, children["web"]):
        assert Limits.from_environment(child.environment) == Limits(rows=5, milliseconds=3000, bytes=1 << 20)


def test_that_the_engine_is_ready_is_said_when_it_says_so_itself(
    children: dict[str, Child], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("serve")
    capsys.readouterr()
    ready, database = children["engine"].ready, Database(DataDirectory(tmp_path / "data").database)
    assert not ready(17)
    for words in ({"state": "starting", "pid": 17}, {"state": "running", "pid": 16}):
        Status(database).say("engine", words)
        assert not ready(17)
    log = LogWriter(database, tmp_path / "bell").start()
    log.append(Draft("background", "urn:g", b""))
    Status(database).say("engine", {"state": "running", "pid": 17, "began": 0})
    assert not ready(17), "its first batch is not through: /health says `starting`"
    with database.transaction() as connection:
        advance(connection, batch_end=1)
    log.append(Draft("background", "urn:g", b""))  # one that comes later waits for no first batch
    assert capsys.readouterr().out == ""
    assert ready(17) and capsys.readouterr().out == "csparql-spark: the engine is ready\n"
    assert children["web"].ready is None
    log.stop()
    database.close()


def test_the_engine_is_told_what_a_worker_may_have(children: dict[str, Child]) -> None:
    run("serve", "--worker-memory", "3GiB")
    assert children["engine"].environment[WORKER_MEMORY] == str(3 << 30)


def test_the_usual_limits_are_those_of_the_answers() -> None:
    assert Limits.from_environment(limits(Settings())) == Limits()


def test_no_secret_is_on_a_command_line(children: dict[str, Child], tmp_path: Path) -> None:
    secret, token = made("ci", ["read"])
    run("demo", CSPARQL_TOKENS=token.as_setting)
    words = " ".join(word for child in children.values() for word in child.command)
    assert token.sha256 not in words and secret not in words
    told = children["demo"].environment["CSPARQL_TOKEN"]
    assert told not in words and all("CSPARQL_TOKEN" not in children[name].environment for name in ("web", "engine"))
    command = children["web"].command
    handed = Settings.handed_down(Path(command[command.index("--settings") + 1]))
    tokens = Tokens(tmp_path, handed.tokens)
    assert tokens.find(told).scopes == {"read", "register", "push"} and tokens.find(secret) is not None


def test_the_demo_has_a_directory_of_its_own(children: dict[str, Child], tmp_path: Path) -> None:
    told = run("demo", "--speed", "20")
    command = children["demo"].command
    assert command[command.index("--data") + 1] == str(tmp_path / "demo-data") and "--browser" not in command
    handed = Settings.handed_down(Path(command[command.index("--settings") + 1]))
    assert (handed.speed, handed.tokens) == (20, ())
    assert children["demo"].environment == {}
    assert "Speeds" not in told  # it is not there yet: `feeding` tells of it
    run("demo", "--data", "other", "--browser")
    assert str(tmp_path / "other") in children["demo"].command and "--browser" in children["demo"].command
    run("demo", CSPARQL_DATA="third")
    assert str(tmp_path / "third") in children["demo"].command


def test_a_data_directory_that_others_could_read_is_narrowed_and_that_is_said_once(
    children: dict[str, Child], tmp_path: Path
) -> None:
    run("serve")
    for path in (tmp_path / "data", tmp_path / "data" / "store.db"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
        path.chmod(0o755 if path.is_dir() else 0o644)
    said = [CliRunner().invoke(main, ["serve", "--port", "0"], catch_exceptions=False).stderr for _ in range(2)]
    assert said == [f"csparql-spark: others could read what is in {tmp_path}/data: now only its owner can\n", ""]
    assert [stat.filemode(path.stat().st_mode) for path in (tmp_path / "data", tmp_path / "data" / "store.db")] == [
        "drwx------",
        "-rw-------",
    ]


def test_a_server_that_has_ended_leaves_nothing_that_would_be_laid_over_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: dict[str, Child]
) -> None:
    """The engine is killed, whatever it has written last."""
    path = tmp_path / "data" / "store.db"

    def run_and_die(self: object) -> None:
        child = os.fork()
        if not child:
            with Database(path).transaction() as connection:
                connection.executemany(
                    "INSERT INTO log (kind, at, payload) VALUES ('chunk', 1, ?)", [(bytes(1000),)] * 100
                )
            os._exit(9)
        os.waitpid(child, 0)
        assert Path(f"{path}-wal").stat().st_size > 100_000

    monkeypatch.setattr(serve.Supervisor, "run", run_and_die)
    run("serve")
    wal = Path(f"{path}-wal")
    assert not wal.exists() or wal.stat().st_size == 0
    shutil.copy(path, tmp_path / "alone.db")
    alone = Database(tmp_path / "alone.db")
    assert alone.connection.execute("SELECT count(*) FROM log").fetchone() == (100,)
    alone.close()


@pytest.mark.parametrize("name", ["server.lock", "settings.json"])
def test_what_cannot_be_written_in_a_data_directory_is_said_in_one_line(
    children: dict[str, Child], tmp_path: Path, name: str
) -> None:
    """As where a server was started by another user before."""
    (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "data" / name / "full").touch()
    result = CliRunner().invoke(main, ["serve", "--port", "0"], catch_exceptions=False)
    assert result.exit_code == 2 and result.stderr.count("\n") == 1, result.stderr
    assert (
        f"cannot be used (Is a directory): make room if the disk is full, let {tmp_path}/data belong to"
        in result.stderr
    )


def test_a_database_that_fails_before_anything_starts_is_said_in_one_line(
    children: dict[str, Child], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(*rest: object, **more: object) -> None:
        raise DatabaseFull("database or disk is full")

    monkeypatch.setattr(serve.Incarnations, "begin", begin)
    result = CliRunner().invoke(main, ["serve", "--port", "0"], catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (
        2,
        (
            f"csparql-spark: {tmp_path}/data/store.db cannot be used (database or disk is full): make room if the disk is full, "
            "put back a copy of the file if it is damaged, or choose another directory with --data\n"
        ),
    )


@pytest.mark.parametrize(
    "words, environment, said",
    [
        (["--mqtt", "broker"], {}, "Invalid value for '--mqtt': this is not the URL of a broker: write it as mqtt://"),
        (["--mqtt", "mqtt://me:hidden@b"], {}, "Invalid value for '--mqtt': the URL holds a password"),
        (
            [],
            {"CSPARQL_MQTT": "http://b"},
            "csparql-spark: the environment's CSPARQL_MQTT: this is not the URL of a broker",
        ),
    ],
)
def test_a_broker_that_cannot_be_is_refused_before_anything_starts(
    children: dict[str, Child], tmp_path: Path, words: list[str], environment: dict[str, str], said: str
) -> None:
    result = CliRunner(env=environment).invoke(main, ["serve", *words])
    assert (result.exit_code, children) == (2, {})
    assert said in result.stderr and "hidden" not in result.stderr
    assert not (tmp_path / "data").exists()
