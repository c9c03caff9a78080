"""`csparql-spark push` and `tail`, against a real server."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from csparql_spark.answers import bindings
from csparql_spark.cli import main
from csparql_spark.disk.bell import Bell
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.backend import Backend
from tests.server.playing import BASE, TEXT, Engine, registered

STREAM = f"{BASE}/streams/s"


def command(port: int, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [*arguments, "--url", f"http://127.0.0.1:{port}"], input=stdin)


def pushed(backend: Backend) -> list[list[tuple[str, str, str]]]:
    return [
        Chunk.from_ipc(entry.payload).triples()
        for entry in backend.stores.log.read(0, backend.stores.log.tail())
        if entry.kind == "chunk"
    ]


def lines(*numbers: int, graph: bool = False) -> str:
    return "".join(f"<urn:{i}> <urn:p> <urn:o>{f' <urn:t:{1000 * i}>' if graph else ''} .\n" for i in numbers)


def rows(*numbers: int) -> list[tuple[str, str, str]]:
    return [(f"<urn:{i}>", "<urn:p>", "<urn:o>") for i in numbers]


def until(backend: Backend, there: Callable[[], bool]) -> None:
    """Wait until something that comes with a push is there."""
    bell = Bell(backend.directory.bell("log"))
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline, "it does not come"
        bell.wait(0.1)
    bell.close()


def test_files_are_pushed_in_batches(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(lines(*range(5)))
    (tmp_path / "b.nq.gz").write_bytes(gzip.compress(lines(5, 6, graph=True).encode()))
    (tmp_path / "c.ndjson").write_text('{"s": "<urn:7>", "p": "<urn:p>", "o": "<urn:o>"}')
    files = [str(tmp_path / name) for name in ("a.nt", "b.nq.gz", "c.ndjson")]
    result = command(port, "push", *files, "--stream", "s", "--create", "--batch", "2")
    assert (result.exit_code, result.stdout) == (0, "8 triples in 5 pushes\n"), result.output
    assert result.stderr.startswith(
        "csparql-spark: 2 of the triples had a timestamp, and this stream is on the arrival"
    )
    assert pushed(backend) == [rows(0, 1), rows(2, 3), rows(4), rows(5, 6), rows(7)]


def test_a_replay_keeps_its_timestamps(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_text(lines(3, 1, 2, graph=True))
    result = command(
        port,
        "push",
        str(tmp_path / "a.nq"),
        "--stream",
        STREAM,
        "--create",
        "--clock",
        "event",
        "--delay",
        "2s",
        "--speed",
        "10x",
    )
    assert (result.exit_code, result.output) == (0, "3 triples in 3 pushes\n")
    assert pushed(backend) == [rows(1), rows(2), rows(3)]
    stream = backend.stores.registry.stream(STREAM)
    assert (stream.clock, stream.delay, backend.stores.log.newest(STREAM)) == ("event", 2000, 3000)


@contextlib.contextmanager
def started(port: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command in a process of its own, which is gone afterwards, whatever the test has found."""
    with subprocess.Popen(
        [sys.executable, "-m", "csparql_spark", *words],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "CSPARQL_URL": f"http://127.0.0.1:{port}"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_loop_goes_on_in_time(port: int, backend: Backend, tmp_path: Path) -> None:
    (tmp_path / "a.nq").write_text(lines(1, 2, graph=True))
    command(port, "push", str(tmp_path / "a.nq"), "--stream", "s", "--create", "--clock", "event")
    with started(port, "push", str(tmp_path / "a.nq"), "--stream", "s", "--loop", "--rate", "500/s") as process:
        until(backend, lambda: backend.stores.log.totals(STREAM)[0] >= 5 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (0, ""), error
    assert out.endswith(" pushes\n")
    log = backend.stores.log
    spans = [(entry.first, entry.last) for entry in log.read(0, log.tail()) if entry.kind == "chunk"]
    assert spans[:5] == [(1000, 2000), (1000, 2000), (3000, 4000), (5000, 6000), (7000, 8000)]


def test_standard_input_is_pushed_as_it_comes(port: int, backend: Backend) -> None:
    registered(backend_client(backend))
    with started(port, "push", "-", "--stream", "s", "--batch", "2") as process:
        process.stdin.write(lines(1, 2, 3))
        process.stdin.flush()
        until(backend, lambda: backend.stores.log.totals(STREAM)[1] >= 3 or process.poll() is not None)
        out, _ = process.communicate(lines(4), timeout=30)
    assert (process.returncode, out) == (0, "4 triples in 3 pushes\n")
    assert [row for push in pushed(backend) for row in push] == rows(1, 2, 3, 4)


def backend_client(backend: Backend):
    from csparql_spark.server.app import create_app

    return create_app(backend).test_client()


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["{tmp}/none.nt", "--stream", "s"], "There is no file {tmp}/none.nt"),
        (
            ["{tmp}/a", "--stream", "s"],
            "{tmp}/a: no extension tells its format: say which it is with --format (nt, nq, ",
        ),
        (
            ["{tmp}/a.csv", "--stream", "s"],
            "{tmp}/a.csv: the extension .csv is not that of a format of RDF: write each of its cells as a line of "
            'NDJSON first, like {"s": "<http://example.org/kitchen>", "p": "<http://example.org/celsius>", "o": 21.5}, '
            "or say which it is with --format (nt, nq, ",
        ),
        (
            ["{tmp}/a.json", "--stream", "s"],
            "{tmp}/a.json: the extension .json is not that of a format of RDF: JSON-LD, like "
            '{"@context": {"@vocab": "http://example.org/"}, "@id": "http://example.org/kitchen", "celsius": 21.5}, is '
            "`--format jsonld`, a triple on each line is `--format ndjson`; say which",
        ),
        (["{tmp}/bad.nt", "--stream", "s"], "{tmp}/bad.nt: Line 2, column 1:"),
        (["{tmp}/a.nt", "--stream", "nix"], f"There is no stream <{BASE}/streams/nix>: create it with PUT"),
        (
            ["{tmp}/a.nt", "--stream", "s", "--rate", "5", "--speed", "1x"],
            "--rate and --speed both say how fast it goes",
        ),
        (
            ["{tmp}/a.nt", "--stream", "s", "--create", "--speed", "1x"],
            "--speed goes by timestamps, and there are none",
        ),
        (["-", "--stream", "s", "--loop"], "--loop cannot begin standard input again"),
        (["{tmp}/a.nt", "--stream", "s", "--token", "x"], "a token on the command line can be read by everybody"),
        (["{tmp}/a.nt", "--stream", "s", "--token-file", "{tmp}/none"], "the token file {tmp}/none cannot be read"),
    ],
)
def test_errors_are_one_line(port: int, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "bad.nt").write_text(f"{lines(1)}nonsense .\n")
    (tmp_path / "a.nt").write_text(lines(1))
    result = command(port, "push", *(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert sentence.replace("{tmp}", str(tmp_path)) in line and line.startswith("csparql-spark: ")


def test_tail_prints_answers(port: int, backend: Backend, engine: Engine) -> None:
    query = registered(backend_client(backend))
    engine.answer(
        query, 1000, bindings.Result.from_rows(("s", "n"), [{"s": "<urn:a>", "n": '"x y"'}, {"s": "<urn:b>"}])
    )
    engine.count(query, 2000)
    printed = {
        form: command(port, "tail", "q", "--from", "beginning", "--count", "2", "--format", form)
        for form in ("json", "csv", "table")
    }
    assert [result.exit_code for result in printed.values()] == [0, 0, 0]
    assert [json.loads(line)["at"] for line in printed["json"].stdout.splitlines()] == [1000, 2000]
    assert printed["csv"].stdout == "query,at,s,n\nq,1000,urn:a,x y\nq,1000,urn:b,\nquery,at,n\nq,2000,2000\n"
    assert printed["table"].stdout == (
        '── q at 1000: 2 rows\n   ?s       ?n\n   <urn:a>  "x y"\n   <urn:b>\n── q at 2000: 1 row\n   ?n\n   "2000"\n'
    )
    assert command(port, "tail", "q", "--from", "1500", "--count", "1", "--format", "csv").stdout == (
        "query,at,n\nq,2000,2000\n"
    )


LONG, SHORT = 1780315298000, 1780315220000


def timed(*cells: tuple[str, str, int]) -> bindings.Result:
    made = bindings.Result.bindings(("s", "n"), [[row[0] for row in cells], [row[1] for row in cells]])
    return made.holding(np.array([row[2] for row in cells], dtype=np.int64))


@pytest.fixture
def changing(backend: Backend, engine: Engine) -> int:
    """a holds longer, b goes before its time and c in time, d comes; then all are gone."""
    query = registered(backend_client(backend))
    engine.answer(query, 1000, timed(("<urn:a>", '"x"', 2000), ("<urn:b>", '"long"', LONG), ("<urn:c>", '"z"', 2000)))
    engine.answer(query, 2000, timed(("<urn:a>", '"x"', SHORT), ("<urn:d>", '"w"', ALWAYS)))
    engine.answer(query, 3000, timed(("<urn:a>", '"x"', SHORT), ("<urn:d>", '"w"', ALWAYS)))
    engine.answer(query, 4000, timed())
    return query


def test_tail_prints_what_changes(port: int, changing: int) -> None:
    printed = command(port, "tail", "q", "--changes", "--from", "beginning", "--count", "3")
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert printed.stdout == (
        "── q at 1000: keyframe, 3 rows\n"
        "   ?s       ?n\n"
        '   <urn:a>  "x"\n'
        '   <urn:b>  "long"\n'
        '   <urn:c>  "z"\n'
        "── q at 2000: changes since 1000\n"
        '   + <urn:d>  "w"\n'
        '   - <urn:b>  "long"  revoked\n'
        '   - <urn:c>  "z"\n'
        '   ~ <urn:a>  "x"     until 2026-06-01T12:00:20.000Z\n'
        "── q at 4000: changes since 2000\n"
        '   - <urn:a>  "x"  revoked\n'
        '   - <urn:d>  "w"  revoked\n'
    )


def test_tail_prints_changes_for_programs(port: int, changing: int) -> None:
    words = ("tail", "q", "--changes", "--from", "beginning", "--count", "3", "--format")
    assert command(port, *words, "csv").stdout == (
        "query,at,change,until,s,n\n"
        "q,1000,keyframe,,,\n"
        "q,1000,added,2000,urn:a,x\n"
        f"q,1000,added,{LONG},urn:b,long\n"
        "q,1000,added,2000,urn:c,z\n"
        "q,2000,added,,urn:d,w\n"
        f"q,2000,revoked,{LONG},urn:b,long\n"
        "q,2000,removed,2000,urn:c,z\n"
        f"q,2000,until,{SHORT},urn:a,x\n"
        f"q,4000,revoked,{SHORT},urn:a,x\n"
        "q,4000,revoked,,urn:d,w\n"
    )
    told = [json.loads(line) for line in command(port, *words, "json").stdout.splitlines()]
    assert [(one["at"], one.get("since")) for one in told] == [(1000, None), (2000, 1000), (4000, 2000)]
    assert told[1]["removed"]["revoked"] == [True, False] and "results" in told[0]


def test_tail_prints_changes_of_what_are_no_rows(port: int, backend: Backend, engine: Engine) -> None:
    query = registered(backend_client(backend))
    for instant, truth in ((1000, True), (2000, False)):
        engine.answer(query, instant, bindings.Result.boolean(truth))
    words = ("tail", "q", "--changes", "--from", "beginning", "--count", "2")
    assert command(port, *words).stdout == (
        "── q at 1000: keyframe, 1 row\n   true\n── q at 2000: changes since 1000\n   + false\n"
    )
    graph = registered(backend_client(backend), TEXT.replace("QUERY q", "QUERY g"), "g")
    first, second = '<urn:a> <urn:p> "\u2028" .', "<urn:b> <urn:p> <urn:o> ."
    engine.answer(graph, 1000, bindings.Result.graph(f"{first}\n"))
    engine.answer(graph, 2000, bindings.Result.graph(f"{second}\n"))
    assert command(port, *words[:1], "g", *words[2:]).stdout == (
        f"── g at 1000: keyframe, 1 row\n   {first}\n── g at 2000: changes since 1000\n   + {second}\n   - {first}\n"
    )


def test_tail_says_what_is_kept_no_longer(port: int, backend: Backend, engine: Engine) -> None:
    engine.count(registered(backend_client(backend)), 1000, 2000, 3000, 4000, 5000)
    backend.stores.retention.forget(keep_log=0, reach=0, keep_answers=2)
    for start, sides in {
        "beginning": "before 1970-01-01T00:00:04.000Z",
        "2000": "after 1970-01-01T00:00:02.000Z and before 1970-01-01T00:00:04.000Z",
    }.items():
        told = command(port, "tail", "q", "--from", start, "--count", "2", "--format", "csv")
        assert told.stdout == "query,at,n\nq,4000,4000\nq,5000,5000\n"
        assert told.stderr == (
            f"csparql-spark: answers of q {sides} are kept no longer: the server's setting keep-answers says how many "
            "are\n"
        )
    assert command(port, "tail", "q", "--from", "3000", "--count", "2", "--format", "csv").stderr == ""
    assert command(port, "tail", "q", "--count", "1").stderr == ""


def test_tail_ends_with_its_query(port: int, backend: Backend, engine: Engine) -> None:
    client = backend_client(backend)
    query = registered(client)
    engine.count(query, 1000)
    with started(port, "tail", "q", "--format", "csv") as process:
        assert [process.stdout.readline(), process.stdout.readline()] == ["query,at,n\n", "q,1000,1000\n"]
        client.delete("/queries/q")
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert error == "csparql-spark: the query q has ended: the query is deleted\n"


def test_one_of_something_is_no_plural(port: int, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(lines(1))
    assert command(port, "push", str(tmp_path / "a.nt"), "--stream", "s", "--create").output == "1 triple in 1 push\n"


def test_a_file_of_which_keys_are_left_out_is_told(port: int, tmp_path: Path) -> None:
    (tmp_path / "a.jsonld").write_text('{"@id": "urn:a", "urn:p": 1, "celsius": 2}')
    result = command(port, "push", str(tmp_path / "a.jsonld"), "--stream", "s", "--create")
    assert (result.exit_code, result.stdout) == (0, "1 triple in 1 push\n")
    assert result.stderr.startswith(f"csparql-spark: {tmp_path / 'a.jsonld'}: 1 of the keys could not be read as IRIs")


@pytest.mark.parametrize("name, text", [("a.jsonld", '{"a": 1}'), ("a.nt", "# nothing\n"), ("a.ttl", "")])
def test_a_file_without_triples_is_told(port: int, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    result = command(port, "push", str(tmp_path / name), "--stream", "s", "--create")
    more = ": JSON's names mean something only where an @context says what" if name.endswith("jsonld") else ""
    assert (result.exit_code, result.stdout) == (0, "0 triples in 0 pushes\n")
    assert result.stderr == f"csparql-spark: {tmp_path / name} holds no triples{more}\n"


def test_a_stream_that_is_not_there_is_told_with_the_option(port: int, tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(lines(1))
    result = command(port, "push", str(tmp_path / "a.nt"), "--stream", "nix")
    assert result.stderr == (
        f"csparql-spark: There is no stream <{BASE}/streams/nix>: create it with PUT "
        f"{BASE}/streams/nix. Or let push make it, with --create\n"
    )


def test_a_query_that_may_be_meant_is_named(port: int, backend: Backend) -> None:
    client = backend_client(backend)
    registered(client)
    client.put("/queries/Speeds", data=TEXT.replace("QUERY q", "QUERY Speeds"))
    for name, meant in (("speeds", "Speeds"), ("Spedes", "Speeds")):
        result = command(port, "tail", "q", name)
        assert result.stderr == (
            f"csparql-spark: There is no query {name}: register it with PUT {BASE}/queries/{name}. Did "
            f"you mean {meant}?\n"
        )
    assert "Did you mean" not in command(port, "tail", "nix").stderr


def test_tail_of_nothing_is_one_line(port: int) -> None:
    result = command(port, "tail", "nix")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "nix" in result.stderr and TEXT
