"""While a server is not there, `push` and `tail` say once what they wait for, and what the end of it is."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from csparql_spark.cli import main, reaching
from csparql_spark.client import Client, Unreachable

SAID = re.compile(
    r"csparql-spark: waiting for http://127\.0\.0\.1:(\d+): connection refused; trying again until "
    r"\d\d:\d\d:\d\d\n"
)
ENDED = (
    "csparql-spark: http://127.0.0.1:{port} cannot be reached: connection refused. Start a server there with "
    "`csparql-spark serve`, or name another one with --url\n"
)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where nobody listens, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "PATIENCE_SECONDS", 1.6)
    monkeypatch.setattr("csparql_spark.client.waiting.SILENT_SECONDS", 0.3)


def command(port: int, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--url", f"http://127.0.0.1:{port}"])


def arguments(name: str, tmp_path: Path) -> list[str]:
    (tmp_path / "a.nt").write_text("<urn:a> <urn:p> <urn:o> .\n")
    return {
        "push": ["push", str(tmp_path / "a.nt"), "--stream", "s"],
        "tail": ["tail", "q"],
        "create": ["push", str(tmp_path / "a.nt"), "--stream", "s", "--create"],
    }[name]


@pytest.mark.parametrize("name", ["push", "create", "tail"])
def test_what_is_waited_for_is_said_once(silent: int, tmp_path: Path, name: str) -> None:
    result = command(silent, *arguments(name, tmp_path))
    said, ended = result.stderr.splitlines(keepends=True)
    assert (result.exit_code, result.stdout) == (2, "")
    assert SAID.fullmatch(said)[1] == str(silent)
    assert ended == ENDED.format(port=silent)


@pytest.mark.parametrize("name", ["push", "tail"])
def test_not_when_it_is_to_be_quiet(silent: int, tmp_path: Path, name: str) -> None:
    result = command(silent, *arguments(name, tmp_path), "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", ENDED.format(port=silent))


def test_a_server_that_takes_its_time_is_waited_for_too(tmp_path: Path) -> None:
    """It is connected, and says nothing: nothing has failed yet, and it is said all the same."""
    heard, said = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(10_000)
                assert heard.wait(20)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def waiting(text: str) -> None:
            said.append(text)
            heard.set()

        with Client(url, waiting=waiting, patience=20) as client:
            assert client.health() == {}
        thread.join()
    (one,) = said
    assert re.fullmatch(rf"waiting for {url}: no answer yet; trying again until \d\d:\d\d:\d\d", one)


def test_who_is_answered_soon_is_told_nothing(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csparql_spark.client.waiting.SILENT_SECONDS", 20)  # what is soon, a busy machine says
    said: list[str] = []
    with Client(f"http://127.0.0.1:{port}", waiting=said.append) as client:
        assert client.health()["streams"] == 0
    assert said == []


def test_each_outage_is_told_once(silent: int) -> None:
    said: list[str] = []
    client = Client(f"http://127.0.0.1:{silent}", waiting=said.append, patience=0.9)
    for _ in range(2):
        with pytest.raises(Unreachable):
            client.health()
    assert len(said) == 2
