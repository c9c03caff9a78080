"""`csparql-spark run`: what it prints, and how it refuses."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from csparql_spark.cli import main

QUERY = "REGISTER QUERY Q AS SELECT ?s ?o FROM STREAM <urn:s> [RANGE 2s STEP 2s] WHERE { ?s <urn:p> ?o }"
STREAM = (
    '<urn:a> <urn:p> "x, \\"y\\""@en <urn:t:1000> .\n'
    '_:b <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:t:2000> .\n'
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q.csparql").write_text(QUERY)
    (tmp_path / "s.nq").write_text(STREAM)
    (tmp_path / "s.nq.gz").write_bytes(gzip.compress(STREAM.encode()))
    return tmp_path


def run(files: Path, *options: str, stream: str = "s.nq") -> tuple[int, str, str]:
    result = CliRunner().invoke(
        main, ["run", str(files / "q.csparql"), "--engine", "local", "--stream", f"urn:s={files / stream}", *options]
    )
    return result.exit_code, result.stdout, result.stderr.replace(str(files), "DIR")


def test_json_is_one_object_for_each_instant(files: Path) -> None:
    assert run(files, "--format", "json") == (
        0,
        (
            '{"query": "Q", "at": 2000, "results": {"head":{"vars":["s","o"]},"results":{"bindings":['
            '{"s":{"type":"uri","value":"urn:a"},"o":{"type":"literal","value":"x, \\"y\\"","xml:lang":"en"}},'
            '{"s":{"type":"bnode","value":"b0x0"},"o":{"type":"literal","value":"01",'
            '"datatype":"http://www.w3.org/2001/XMLSchema#integer"}}'
            "]}}}\n"
            '{"query": "Q", "at": 4000, "results": {"head":{"vars":["s","o"]},"results":{"bindings":[]}}}\n'
        ),
        "",
    )


def test_csv_is_one_table(files: Path) -> None:
    assert run(files, "--format", "csv") == (0, 'at,s,o\n2000,urn:a,"x, ""y"""\n2000,_:b0x0,01\n', "")


def test_table_is_for_people(files: Path) -> None:
    assert run(files) == (
        0,
        (
            "── Q at 2000: 2 rows\n"
            "   ?s       ?o\n"
            '   <urn:a>  "x, \\"y\\""@en\n'
            '   _:b0x0   "01"^^<http://www.w3.org/2001/XMLSchema#integer>\n'
            "── Q at 4000: 0 rows\n"
        ),
        "",
    )


def test_compressed_recordings_are_the_same(files: Path) -> None:
    assert run(files, stream="s.nq.gz") == run(files)


def test_until_ends_earlier(files: Path) -> None:
    assert run(files, "--format", "csv", "--until", "1999") == (0, "", "")
    assert run(files, "--format", "csv", "--until", "2000")[1].count("\n") == 3


@pytest.mark.parametrize(
    ("body", "form", "shown"),
    [
        ("ASK { <urn:a> <urn:p> ?o }", "table", "── Q at 2000: true\n── Q at 4000: false\n"),
        ("ASK { <urn:a> <urn:p> ?o }", "csv", "at,answer\n2000,true\n4000,false\n"),
        (
            "CONSTRUCT { ?s <urn:q> 1 } { ?s <urn:p> ?o FILTER(ISIRI(?s)) }",
            "table",
            '── Q at 2000: 1 triple\n   <urn:a> <urn:q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
            "── Q at 4000: 0 triples\n",
        ),
        (
            "CONSTRUCT { ?s <urn:q> <urn:o> } { ?s <urn:p> ?o FILTER(ISIRI(?s)) }",
            "csv",
            "at,triple\n2000,<urn:a> <urn:q> <urn:o> .\n",
        ),
    ],
)
def test_what_is_no_table_is_printed_too(files: Path, body: str, form: str, shown: str) -> None:
    form_of, _, rest = body.partition(" ")
    where = rest.rpartition("} {")[2] if form_of == "CONSTRUCT" else rest[1:]
    head = f"CONSTRUCT {rest.rpartition('} {')[0]}}}" if form_of == "CONSTRUCT" else "ASK"
    (files / "q.csparql").write_text(
        f"REGISTER QUERY Q AS {head} FROM STREAM <urn:s> [RANGE 2s STEP 2s] WHERE {{ {where.removesuffix('}')} }}"
    )
    assert run(files, "--format", form) == (0, shown, "")


def test_it_needs_no_spark_unless_it_is_asked_for(files: Path) -> None:
    program = (
        "import sys; from csparql_spark.cli import main; "
        "main(sys.argv[1:], standalone_mode=False); assert not {'pyspark', 'py4j'} & set(sys.modules)"
    )
    arguments = ["run", str(files / "q.csparql"), "--stream", f"urn:s={files / 's.nq'}", "--format", "csv"]
    told = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, 'at,s,o\n2000,urn:a,"x, ""y"""\n2000,_:b0x0,01\n', "")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("q.csparql", QUERY.replace("AS SELECT", "SELECT"), "csparql-spark: DIR/q.csparql: line 1, column 18: "),
        (
            "q.csparql",
            QUERY.replace("<urn:s>", "<urn:other>"),
            "csparql-spark: DIR/q.csparql: there is no stream <urn:other>: give its recording with --stream urn:other=FILE "
            "(there are <urn:s>)\n",
        ),
        (
            "q.csparql",
            QUERY.replace("FROM STREAM", "FROM <urn:g> FROM NAMED <urn:h> FROM STREAM"),
            "csparql-spark: DIR/q.csparql: there is no background graph <urn:g>: give it with --background urn:g=FILE\n",
        ),
        ("q.csparql", "SELCT", "csparql-spark: DIR/q.csparql: line 1, column 1: "),
        ("q.csparql", b"\xff\xfe", "csparql-spark: DIR/q.csparql is not UTF-8 text (byte 0)\n"),
        ("q.csparql", "SELECT ?s WHERE { ?s ?p ?o }", "csparql-spark: DIR/q.csparql: the query reads no stream: "),
        (
            "s.nq",
            "<urn:a> <urn:p> <urn:b> .\n",
            "csparql-spark: DIR/q.csparql: 1 of the 1 triples recorded for <urn:s> have no timestamp: ",
        ),
        ("s.nq", "<urn:a> <urn:p> <urn:b> <urn:t:1> .\n<urn:a> <urn:p> <urn", "csparql-spark: DIR/s.nq: "),
    ],
)
def test_what_is_wrong_is_one_line(files: Path, name: str, text: str | bytes, sentence: str) -> None:
    (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, error = run(files)
    assert (code, out) == (2, "")
    assert error.startswith(sentence), error
    assert error.count("\n") == 1


def test_no_recording_at_all_is_told_with_the_option(files: Path) -> None:
    result = CliRunner().invoke(main, ["run", str(files / "q.csparql")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"csparql-spark: {files}/q.csparql: there is no stream <urn:s>: give its recording with --stream urn:s=FILE\n"
    )


def test_the_query_is_looked_at_before_its_recordings(files: Path) -> None:
    (files / "q.csparql").write_text("SELCT")
    assert run(files, stream="gone.nq")[2].startswith("csparql-spark: DIR/q.csparql: line 1, column 1: ")


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_rules_that_cannot_be_read_are_one_line(files: Path, content: bytes | None) -> None:
    if content is not None:
        (files / "r").write_bytes(content)
    code, out, error = run(files, "--rules", f"r={files / 'r'}")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert error.startswith(
        "csparql-spark: DIR/r cannot be read: " if content is None else "csparql-spark: DIR/r is not UTF-8 text"
    )


def test_a_missing_recording_is_named(files: Path) -> None:
    code, out, error = run(files, stream="gone.nq")
    assert (code, out) == (2, "")
    assert error.startswith("csparql-spark: DIR/gone.nq: ") and error.count("\n") == 1


@pytest.mark.parametrize("stream", ["nothing", "urn:s=", "=file.nq", "no iri=file.nq", "a b:c=file.nq"])
def test_a_stream_is_an_iri_and_a_file(files: Path, stream: str) -> None:
    result = CliRunner().invoke(main, ["run", str(files / "q.csparql"), "--stream", stream])
    assert result.exit_code == 2
    assert "Invalid value for '--stream'" in result.stderr
