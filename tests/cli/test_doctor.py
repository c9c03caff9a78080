"""`doctor`: what it sees, what it says to do, and that it changes nothing."""

from __future__ import annotations

import http.server
import json
import os
import socket
import sqlite3
import sys
import threading
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from csparql_spark.cli import doctor as module
from csparql_spark.cli import main
from csparql_spark.cli.doctor import Finding
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.kernel import native
from csparql_spark.settings import Settings
from csparql_spark.store.tokens import Tokens


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", port=0, web=tmp_path / "web")


def states(findings: object) -> list[tuple[str, str]]:
    return [(finding.about, finding.state) for finding in findings]


def java(tmp_path: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return program


@pytest.mark.parametrize(
    "says, state",
    [
        ('openjdk version "17.0.15" 2025', "ok"),
        ('java version "21-ea"', "ok"),
        ('openjdk version "11.0.2"', "problem"),
        ('java version "1.8.0_1"', "problem"),
        ("no words", "problem"),
    ],
)
def test_java(tmp_path: Path, settings: Settings, says: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = java(tmp_path, says, monkeypatch)
    (finding,) = module.java(settings)
    assert finding.state == state and str(program) in finding.text
    assert ("apt-get install" in finding.do) is (state == "problem")


def test_java_that_is_not_there(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nix"))
    assert [finding.text for finding in module.java(settings)] == [f"was not found in JAVA_HOME, {tmp_path}/nix"]
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [finding.text for finding in module.java(settings)] == ["was not found in PATH"]


def test_packages_against_what_was_tested() -> None:
    versions = {"pyspark": "4.3.0", "pandas": "3.0.1", "pyarrow": "25.0.0"}

    def installed(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    pins = {"pyspark": "4.3.0", "pandas": "2.3.3", "pyarrow": "26.0.1", "protobuf": "7.36.2"}
    found = list(module.against(pins, installed))
    assert states(found) == [("pandas", "problem"), ("pyarrow", "warning"), ("protobuf", "problem")]
    assert [finding.text for finding in found] == [
        "is 3.0.1, and Spark needs one before 3",
        "is 25.0.0, and 26.0.1 was tested",
        "is not installed",
    ]
    assert found[2].do == f"install it: {sys.executable} -m pip install protobuf==7.36.2"
    assert list(module.against({"pyspark": "4.3.0"}, installed)) == [
        Finding("packages", "ok", "1 of the versions that were tested")
    ]


def test_the_packages_of_this_installation(settings: Settings) -> None:
    assert "problem" not in dict(states(module.packages(settings))).values()


def test_another_python_for_the_workers_does_not_count(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert states(module.python(settings)) == [("Python", "ok")]
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/true")
    assert states(module.python(settings)) == [("Python", "ok"), ("PYSPARK_PYTHON", "warning")]
    monkeypatch.setattr(module, "sys", SimpleNamespace(version_info=(3, 10, 1), executable="/p"))
    monkeypatch.delenv("PYSPARK_PYTHON")
    assert [finding.text for finding in module.python(settings)] == ["3.10.1 in /p is too old"]


def test_a_kernel_that_is_not_there_is_no_problem(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "library", native)
    assert list(module.kernel(settings)) == [Finding("kernel", "ok", "compiled")]
    monkeypatch.setattr(native, "library", None)
    monkeypatch.setattr(native, "missing", "It is of another version.")
    (finding,) = module.kernel(settings)
    assert finding.state == "warning" and finding.text.endswith("the same, later. It is of another version.")
    assert module.kernel in module.CHECKS


def test_a_directory_that_is_not_there_is_not_made(settings: Settings) -> None:
    found = list(module.directory(settings))
    assert found[0] == Finding("data", "ok", f"{settings.data} will be made")
    assert found[1].about == "disk" and not settings.data.exists()


def test_a_directory_that_is_a_file(settings: Settings) -> None:
    settings.data.write_text("")
    assert list(module.directory(settings)) == [
        Finding("data", "problem", f"{settings.data} cannot be written", "choose another directory with --data")
    ]


def test_the_format_of_the_store(settings: Settings) -> None:
    database = DataDirectory(settings.data).create().database
    Database(database).create().close()
    assert dict(states(module.directory(settings)))["store"] == "ok"
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA user_version = 9999")
    connection.close()
    (finding,) = (finding for finding in module.directory(settings) if finding.about == "store")
    assert finding.state == "problem" and "has the format 9999, and this version writes " in finding.text
    database.write_bytes(b"not a database at all" * 100)
    assert dict(states(module.directory(settings)))["store"] == "problem"


def test_little_room(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 30))
    (finding,) = (finding for finding in module.directory(settings) if finding.about == "disk")
    assert (finding.state, finding.text.split(" in ")[0]) == ("warning", "1.0 GiB are free")


def test_a_port_that_is_taken(settings: Settings) -> None:
    assert states(module.server(settings)) == [("server", "ok"), ("port", "ok"), ("tokens", "ok")]
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        (finding,) = module.port(Settings(port=port))
    assert finding == Finding(
        "port",
        "problem",
        f"{port} of 127.0.0.1 is taken by another program",
        "stop what uses it, or choose another one: --port 8001, or `make serve PORT=8001`",
    )


def test_open_doors_and_damaged_tokens(settings: Settings) -> None:
    settings.data.mkdir()
    (finding,) = module.doors(Settings(data=settings.data, host="0.0.0.0"))
    assert finding.state == "problem" and "needs tokens" in finding.text
    Tokens(settings.data).add("lab", ["read"])
    assert list(module.doors(Settings(data=settings.data, host="0.0.0.0"))) == [Finding("tokens", "ok", "1 token")]
    (settings.data / "tokens.json").write_text("{")
    assert states(module.doors(settings)) == [("tokens", "problem")]


class Health(http.server.BaseHTTPRequestHandler):
    says: dict[str, object] = {}
    asked: list[str | None] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Authorization"))
        body = json.dumps(self.says).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        return None


LATER = "ask again in a while; if it is not less then, GET /queries/NAME/measures tells which query takes long"
LOG = "engine/engine.log in the data directory says why"


@pytest.mark.parametrize(
    "says, state, more, do",
    [
        ({"status": "ok"}, "ok", "", ""),
        ({"status": "starting"}, "warning", "", ""),
        ({"status": "behind"}, "warning", "", LATER),
        ({"status": "behind", "engine": {"lag_ms": 29_400}}, "warning", " by 29 s", LATER),
        ({"status": "degraded", "engine": {"reason": "the disk is full"}}, "problem", ": the disk is full", LOG),
        (
            {
                "status": "degraded",
                "engine": {"state": "running"},
                "damages": 2,
                "damaged": [{"reason": "the entry 7 is damaged: …"}, {"reason": "another"}],
            },
            "problem",
            ": the entry 7 is damaged: …; and 1 more",
            "`csparql-spark store check` names all that is damaged on the disk, "
            "docs/reliability.md says what to do about each",
        ),
    ],
)
def test_the_health_of_a_server_that_runs(
    settings: Settings, says: dict[str, object], state: str, more: str, do: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Health, "says", says)
    monkeypatch.setenv("CSPARQL_TOKEN", "csp_x")
    with http.server.HTTPServer(("127.0.0.1", 0), Health) as serving, DataDirectory(settings.data).create().lock():
        answering = threading.Thread(target=serving.handle_request)
        answering.start()
        port = serving.server_address[1]
        Settings(data=settings.data, port=port).hand_down(settings.data)
        (finding,) = module.server(settings)
        answering.join()
    assert (finding.state, finding.do) == (state, do)
    assert finding.text == f"http://127.0.0.1:{port}/health says {says['status']}{more}"
    assert Health.asked[-1] == "Bearer csp_x"


def test_a_server_that_does_not_answer(settings: Settings) -> None:
    with DataDirectory(settings.data).create().lock():
        assert states(module.server(settings)) == [("server", "warning")]
        Settings(data=settings.data, port=1).hand_down(settings.data)
        assert states(module.server(settings)) == [("server", "problem")]


def test_the_console(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (finding,) = module.console(settings)
    assert (finding.state, finding.text) == ("warning", "is not built, and Node was not found")
    (settings.web / "dist").mkdir(parents=True)
    (settings.web / "dist" / "index.html").write_text("")
    assert states(module.console(settings)) == [("console", "ok")]


def test_memory_and_clock(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 9 kB\nMemAvailable:   1048576 kB\n")
    monkeypatch.setattr(module, "Path", lambda path: told)
    assert [(finding.state, finding.text) for finding in module.memory(settings)] == [("warning", "1.0 GiB are free")]
    settings.data.mkdir()
    assert states(module.clock(settings)) == [("clock", "ok")]
    assert list(settings.data.iterdir()) == []


@pytest.mark.parametrize("broken", [False, True])
def test_the_command(tmp_path: Path, broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if broken:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nix"))
    else:
        java(tmp_path, 'openjdk version "17"', monkeypatch)
    told = CliRunner().invoke(main, ["doctor", "--port", "0", "--data", str(tmp_path / "data")])
    assert told.exit_code == (1 if broken else 0), told.output
    assert ("PROBLEM  Java" in told.stdout) is broken and "ok       port" in told.stdout
    as_json = json.loads(CliRunner().invoke(main, ["doctor", "--port", "0", "--json"]).stdout)
    assert {finding["about"]: finding["state"] for finding in as_json}["Java"] == ("problem" if broken else "ok")
    assert set(as_json[0]) == {"about", "state", "text", "do"}
    assert not os.path.exists(tmp_path / "data")
