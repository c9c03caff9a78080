"""`csparql-spark push --create`: a push that fails leaves no stream behind, and takes none away."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from csparql_spark.cli import main
from csparql_spark.client import Client
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings
from tests.server.playing import BASE, TEXT

STREAM = f"{BASE}/streams/s"
GOOD, BAD = "<urn:a> <urn:p> <urn:o> .\n", "nonsense .\n"
LONG = f'<urn:a> <urn:p> "{"x" * 5000}" .\n'


@pytest.fixture
def backend(settings: Settings) -> Iterator[Backend]:
    with Backend(replace(settings, body_limit=4000)) as backend:
        yield backend


class Told(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def push(port: int, *arguments: str, stdin: str | None = None) -> Result | Told:
    options = ["push", *arguments, "--stream", "s", "--create", "--url", f"http://127.0.0.1:{port}"]
    if stdin is None:
        return CliRunner().invoke(main, options)
    told = subprocess.run(
        [sys.executable, "-m", "csparql_spark", *options],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Told(told.returncode, told.stdout, told.stderr)


def kinds(backend: Backend) -> list[str]:
    return [entry.kind for entry in backend.stores.log.read(0, backend.stores.log.tail())]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bad.nt", GOOD + BAD, "bad.nt: Line 2, column 1:"),
        ("data.csv", "a,b\n1,2\n", "data.csv: the extension .csv is not that of a format"),
        ("a.ttl", "{}", "a.ttl: Line 1"),
        ("gone.nt", None, "There is no file"),
        ("-", BAD, "standard input: Line 1, column 1:"),
        ("-", '{"a": 1}\n', "standard input: Line 1"),
    ],
)
def test_what_cannot_be_read_makes_no_stream(
    port: int, backend: Backend, tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if name != "-" and text is not None:
        (tmp_path / name).write_text(text)
    result = push(port, name if name == "-" else str(tmp_path / name), stdin=text if name == "-" else None)
    assert (result.exit_code, result.stdout) == (2, ""), result
    assert said in result.stderr and result.stderr.count("\n") == 1
    assert kinds(backend) == []


def test_no_stream_stays_where_the_first_push_is_refused(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "long.nt").write_text(LONG)
    result = push(port, str(tmp_path / "long.nt"))
    assert result.exit_code == 2 and "at most 4000" in result.stderr and result.stderr.count("\n") == 1
    assert backend.stores.registry.stream(STREAM) is None


def test_a_stream_that_was_there_stays(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "long.nt").write_text(LONG)
    with Client(f"http://127.0.0.1:{port}") as client:
        client.create_stream("s")
    assert push(port, str(tmp_path / "long.nt")).exit_code == 2
    assert backend.stores.registry.stream(STREAM) is not None
    assert kinds(backend) == ["stream"]


@pytest.mark.parametrize("use", ["push", "query", "made again"])
def test_a_stream_that_somebody_uses_meanwhile_stays(
    port: int, backend: Backend, tmp_path: Path, use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "long.nt").write_text(LONG)
    pushed = Client.push

    def used(self: Client, stream: str, data: bytes, *more: object, **options: object) -> dict[str, object]:
        if use == "push":
            pushed(self, stream, GOOD)
        elif use == "query":
            self.register("q", TEXT)
        else:
            self.delete_stream(stream)
            self.create_stream(stream, clock="event")
        return pushed(self, stream, data, *more, **options)

    monkeypatch.setattr(Client, "push", used)
    assert push(port, str(tmp_path / "long.nt")).exit_code == 2
    assert backend.stores.registry.stream(STREAM) is not None


def test_a_later_push_that_is_refused_takes_nothing_away(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(GOOD)
    (tmp_path / "long.nt").write_text(LONG)
    result = push(port, str(tmp_path / "a.nt"), str(tmp_path / "long.nt"))
    assert result.exit_code == 2
    assert kinds(backend)[:2] == ["stream", "chunk"] and backend.stores.registry.stream(STREAM) is not None


@pytest.mark.parametrize("name", ["empty.nt", "-"])
def test_nothing_to_push_makes_the_stream_all_the_same(port: int, backend: Backend, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty.nt").write_text("")
    result = push(port, name if name == "-" else str(tmp_path / name), stdin="" if name == "-" else None)
    assert (result.exit_code, result.stdout) == (0, "0 triples in 0 pushes\n")
    assert backend.stores.registry.stream(STREAM) is not None


def test_settings_that_cannot_be_make_no_stream(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(GOOD)
    result = push(port, str(tmp_path / "a.nt"), "--delay", "5s")
    assert result.exit_code == 2 and "it goes with clock" in result.stderr
    assert kinds(backend) == []


def test_a_delay_needs_its_unit(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(GOOD)
    told = push(port, str(tmp_path / "a.nt"), "--clock", "event", "--delay", "2")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "2 has no unit: write 2s for seconds, or 2ms" in told.stderr
    assert kinds(backend) == []
    assert push(port, str(tmp_path / "a.nt"), "--clock", "event", "--delay", "0").exit_code == 0
