"""What the README and the tutorial tell a reader to type does what they say: all of it, against a server of one's own.

For example:

    README.md „Five minutes" ─┐
    docs/tutorial.md         ─┴─▶ commands, in order ─▶ bash ─▶ printed as shown, or at least without an error
    docs/producers.md „Python" ─▶ the example ─▶ python ─▶ an answer
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.client import Client
from tests.documents.commands import Command, commands

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 180
AGAIN_SECONDS = 0.5

pytestmark = pytest.mark.skipif(
    shutil.which("curl") is None or shutil.which("bash") is None,
    reason="curl and bash run the documents' commands, and are not here",
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """Somebody who sits in the project's directory with a server that runs."""
    data = tmp_path_factory.mktemp("documents")
    process = subprocess.Popen(
        [sys.executable, "-m", "csparql_spark", "serve", "--data", str(data / "data"), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    port = process.stdout.readline().partition("http://127.0.0.1:")[2].split()[0].rstrip("/;")
    place = data / "here"
    shutil.copytree(ROOT / "queries", place / "queries")
    (place / ".venv").symlink_to(sys.prefix)
    yield {"place": place, "port": port}
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    process.stdout.close()


def typed(command: Command, reader: dict[str, object]) -> subprocess.CompletedProcess[str]:
    text = command.text.replace("127.0.0.1:8000", f"127.0.0.1:{reader['port']}")
    environment = os.environ | {
        "CSPARQL_URL": f"http://127.0.0.1:{reader['port']}",
        "PATH": f"{reader['place']}/.venv/bin:{os.environ['PATH']}",
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=reader["place"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def play(document: Path, reader: dict[str, object], within: str | None = None) -> None:
    played = commands(document, within=within)
    assert played, f"{document} has no commands"
    for command in played:
        place = f"{document.name}, line {command.line}"
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            done = typed(command, reader)
            printed = done.stdout.replace(f"127.0.0.1:{reader['port']}", "127.0.0.1:8000")
            shown = command.is_as_shown(printed)
            if shown and done.returncode == 0 or not command.only_reads or time.monotonic() > deadline:
                break
            time.sleep(AGAIN_SECONDS)  # answers come with time
        assert done.returncode == 0, f"{place}: {done.stderr}"
        assert shown, f"{place} shows\n{command.prints}\nand it prints\n{printed}"
        assert "Traceback" not in printed + done.stderr, place
        assert "% Total" not in done.stderr, f"{place}: curl shows a progress meter where its output is piped"
        assert not re.search(r'"code":"(internal|not-found)"', printed), f"{place}: {printed}"


def test_the_tour_of_the_readme(reader: dict[str, object]) -> None:
    play(ROOT / "README.md", reader, within="Five minutes")


def test_the_tutorial_frees_the_port_before_it_takes_it() -> None:
    """Who comes from the README has `make serve` running."""
    before, _, after = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8").partition("/csparql-spark serve\n")
    assert "`make serve`" in before and "(Ctrl-C)" in before
    assert "CSPARQL_URL" in after.partition("\n## ")[0], "where another port is named"


def test_the_tutorial(reader: dict[str, object]) -> None:
    play(ROOT / "docs" / "tutorial.md", reader)


def test_the_example_in_python_says_something(reader: dict[str, object]) -> None:
    """As copied: it goes on for ever, so it is ended when it has said a line."""
    section = (ROOT / "docs" / "producers.md").read_text(encoding="utf-8").partition("\n## Python\n")[2]
    program = section.partition("```python\n")[2].partition("```\n")[0]
    url = f"http://127.0.0.1:{reader['port']}"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", program.replace("http://127.0.0.1:8000", url)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = threading.Timer(PATIENCE_SECONDS, process.kill)
    watch.start()
    try:
        line = process.stdout.readline()
    finally:
        watch.cancel()
        process.kill()
        _, errors = process.communicate()
        with Client(url) as client:
            client.delete("Hot")
            client.delete_stream("temp")
    assert re.fullmatch(r"\d{13} http://ex\.org/kitchen .*2\d\.5.*\n", line), errors or "it said nothing"
