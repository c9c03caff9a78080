"""The example queries, run by one driver in many modes: the answers must be those of `expected.jsonl`, line by line.

    local           row by row in this process
    in batches      cuts after each entry, after every third, everything in one batch
    restarted       cuts after each entry, and a worker that remembers nothing
    command         `csparql-spark run`, as a user types it, without Spark
    spark           the whole pipeline: store, engine process, state store, sink
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.formats import write
from csparql_spark.cli import main
from csparql_spark.pipeline.group import Told
from csparql_spark.pipeline.replay import Script, answer
from csparql_spark.pipeline.routing import Row
from csparql_spark.spark.play import play
from csparql_spark.testing import load

from ..pipeline.running import DictState, Worker, routed

QUERIES = Path(__file__).resolve().parents[2] / "queries"
PROGRAMS = sorted(path.parent for path in QUERIES.glob("*/program.json"))
MODES = ("local", "batches-of-1", "batches-of-3", "one-batch", "restarted", "command", "spark")


def test_there_are_programs() -> None:
    assert [path.name for path in PROGRAMS] == sorted(path.name for path in QUERIES.iterdir() if path.is_dir())
    assert len(PROGRAMS) >= 4


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_program(program: Path, mode: str) -> None:
    expected = [json.loads(line) for line in (program / "expected.jsonl").read_text().splitlines()]
    assert list(run(program, mode)) == expected


def run(program: Path, mode: str) -> Iterator[dict[str, object]]:
    if mode == "command":
        result = CliRunner().invoke(main, ["run", str(program / "query.csparql"), *options(program),
                                           "--format", "json", "--engine", "local"])
        assert result.exit_code == 0, result.output
        yield from map(json.loads, result.stdout.splitlines())
        return
    written = script(program)
    for told in answers(written, mode):
        results = write(Answer.from_bytes(told.payload), "application/sparql-results+json")
        yield {"query": written.query.name, "at": told.instant, "results": json.loads(results)}


def answers(script: Script, mode: str) -> Iterator[Told]:
    if mode == "local":
        return answer(script.entries())
    if mode == "spark":
        return play(script)
    rows = routed(list(script.entries()))
    size = {"batches-of-1": 1, "batches-of-3": 3, "one-batch": len(rows), "restarted": 1}[mode]
    return in_batches(rows, size, forgetful=mode == "restarted")


def in_batches(rows: list[Row], size: int, *, forgetful: bool) -> Iterator[Told]:
    worker, state = Worker(), DictState()
    for start in range(0, len(rows), size):
        if forgetful:
            worker = Worker()
        batch = rows[start:start + size]
        yield from worker.work(batch[0].group, batch, state)


def script(program: Path) -> Script:
    files = json.loads((program / "program.json").read_text())
    recorded = {iri: load(program / name, base=None, number=number) for number, (iri, name) in enumerate(
        [*files["streams"].items(), *files.get("background", {}).items()])}
    return Script.of((program / "query.csparql").read_text(), streams={iri: recorded[iri] for iri in files["streams"]},
                     background={iri: recorded[iri] for iri in files.get("background", {})})


def options(program: Path) -> list[str]:
    files = json.loads((program / "program.json").read_text())
    given = [("--stream", files["streams"]), ("--background", files.get("background", {}))]
    return [word for option, named in given for iri, name in named.items()
            for word in (option, f"{iri}={program / name}")]
