"""The example queries, run by one driver in many modes: the answers must be those of `expected.jsonl`, line by line.

For example:

    local           row by row in this process
    in batches      cuts after each entry, after every third and seventh, everything in one batch
    restarted       cuts after each entry, and a worker that remembers nothing
    snapshot        the same, by the snapshot evaluator where another one is usual: row by row, in batches, restarted
    command         `csparql-spark run`, as a user types it, without Spark
    spark           the whole pipeline: store, engine process, state store, sink; all programs at once
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.formats import write
from csparql_spark.asking.replay import Script, answer
from csparql_spark.cli import main
from csparql_spark.engine.messages import InstantAnswer, Message
from csparql_spark.schedule.routing import Row
from csparql_spark.spark.play import play_together
from csparql_spark.testing import load
from tests.engine.running import DictState, Worker, matched_anew, routed

QUERIES = Path(__file__).resolve().parents[2] / "queries"
PROGRAMS = sorted(path.parent for path in QUERIES.glob("*/program.json"))
SIZES = {"batches-of-1": 1, "batches-of-3": 3, "batches-of-7": 7, "one-batch": None, "restarted": 1}
SNAPSHOT = "snapshot-"
MODES = ("local", *SIZES, *(f"{SNAPSHOT}{mode}" for mode in ("local", "batches-of-7", "restarted")), "command", "spark")


def test_there_are_programs() -> None:
    assert [path.name for path in PROGRAMS] == sorted(path.name for path in QUERIES.iterdir() if path.is_dir())
    assert len(PROGRAMS) >= 18


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_a_program_says_what_it_asks_and_what_to_notice(program: Path) -> None:
    first, second, third, *_ = (program / "query.csparql").read_text().splitlines()
    assert first.startswith("# ") and second.startswith("# ") and not third.startswith("#")
    assert f"]({program.name}/query.csparql) |" in (QUERIES / "README.md").read_text()


@pytest.fixture(scope="module")
def played() -> dict[Path, list[Message]]:
    """What each program is told by Spark: a session takes its time to start, so they share one."""
    scripts = [script(program) for program in PROGRAMS]
    names = [name for one in scripts for name in (one.query.name, *one.streams)]
    assert len(set(names)) == len(names), "two programs have a query or a stream of the same name"
    told: dict[Path, list[Message]] = {program: [] for program in PROGRAMS}
    for place, one in play_together(scripts):
        told[PROGRAMS[place]].append(one)
    return told


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_program(program: Path, mode: str, request: pytest.FixtureRequest) -> None:
    expected = [json.loads(line) for line in (program / "expected.jsonl").read_text().splitlines()]
    if mode == "command":
        said = commanded(program)
    else:
        one = script(program)
        with matched_anew() if mode.startswith(SNAPSHOT) else contextlib.nullcontext():
            told = (
                request.getfixturevalue("played")[program]
                if mode == "spark"
                else list(answers(one, mode.removeprefix(SNAPSHOT)))
            )
        said = [line(one, answer) for answer in told]
    assert list(map(canonical, said)) == list(map(canonical, expected))


def canonical(said: dict[str, object]) -> dict[str, object]:
    """What is said, with blank nodes named by where they stand: their labels say nothing."""
    if not said.get("triples"):
        return said
    graph = ox.Dataset(ox.parse(said["triples"], format=ox.RdfFormat.N_TRIPLES))
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return {**said, "triples": sorted(map(str, graph))}


def commanded(program: Path) -> list[dict[str, object]]:
    result = CliRunner().invoke(
        main, ["run", str(program / "query.csparql"), *options(program), "--format", "json", "--engine", "local"]
    )
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def line(script: Script, told: Message) -> dict[str, object]:
    assert isinstance(told, InstantAnswer), told
    answer = Result.from_bytes(told.payload)
    said = (
        {"triples": answer.ntriples.decode()}
        if answer.ntriples is not None
        else {"results": json.loads(write(answer, "application/sparql-results+json"))}
    )
    return {"query": script.query.name, "at": told.instant, **said}


def answers(script: Script, mode: str) -> Iterator[Message]:
    if mode == "local":
        return answer(script.entries())
    rows = routed(list(script.entries()))
    return in_batches(rows, SIZES[mode] or len(rows), forgetful=mode == "restarted")


def in_batches(rows: list[Row], size: int, *, forgetful: bool) -> Iterator[Message]:
    worker, state = Worker(), DictState()
    for start in range(0, len(rows), size):
        if forgetful:
            worker = Worker()
        batch = rows[start : start + size]
        yield from worker.work(batch[0].group, batch, state)


def script(program: Path) -> Script:
    files = json.loads((program / "program.json").read_text())
    recorded = {
        iri: load(program / name, base=None, number=number)
        for number, (iri, name) in enumerate([*files["streams"].items(), *files.get("background", {}).items()])
    }
    return Script.of(
        (program / "query.csparql").read_text(),
        streams={iri: recorded[iri] for iri in files["streams"]},
        background={iri: recorded[iri] for iri in files.get("background", {})},
    )


def options(program: Path) -> list[str]:
    files = json.loads((program / "program.json").read_text())
    given = [("--stream", files["streams"]), ("--background", files.get("background", {}))]
    return [
        word for option, named in given for iri, name in named.items() for word in (option, f"{iri}={program / name}")
    ]
