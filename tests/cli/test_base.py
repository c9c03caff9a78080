"""Texts with relative IRIs, as a server reads them: every text of the demo goes through check, explain and run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from csparql_spark.cli import city, main
from csparql_spark.cli.city import BEGIN, GRAPH, QUERIES, STEP, City
from csparql_spark.language.queries.query_cache import read
from csparql_spark.testing import replay

DEMO = Path(city.__file__).parent / "city_files"
FILES = sorted(DEMO.glob("*.csparql"))
BASE = "http://127.0.0.1:8000/"
TEXT = "REGISTER QUERY Q AS SELECT ?s FROM STREAM <streams/s> [RANGE 2s STEP 2s] WHERE { ?s <p> ?o }"
JAMS = "".join(
    f"<urn:t:{BEGIN + n * 10_000}> {{ <http://example.org/city#Harbour> <http://example.org/city#crawlsAt> 12.5 }}\n"
    for n in range(3)
)


def command(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, arguments, env={"CSPARQL_BASE_URL": None, **environment})


def recording(stream: str) -> str:
    return JAMS if stream == "Jams" else "".join(City().readings(stream, BEGIN + n * STEP) for n in range(12))


def test_all_texts_of_the_demo_are_here() -> None:
    assert sorted(file.stem for file in FILES) == sorted(QUERIES.values())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_check_and_explain_take_the_demo_as_it_stands(file: Path) -> None:
    query = read(file.read_text(), BASE)
    told = command("check", str(file))
    assert (told.exit_code, told.stdout, told.stderr) == (0, f"{file}: {query.kind} {query.name} is fine\n", "")
    told = command("explain", str(file))
    assert (told.exit_code, told.stderr) == (0, "")
    assert f"FROM STREAM <{query.windows[0].stream}>" in told.stdout and "evaluation: maintained (" in told.stdout


@pytest.mark.parametrize("form", ["json", "csv", "table"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_run_takes_the_demo_as_it_stands(file: Path, form: str, tmp_path: Path) -> None:
    text = file.read_text()
    names = [window.stream.removeprefix(f"{BASE}streams/") for window in read(text, BASE).windows]
    told = {f"{BASE}streams/{name}": recording(name) for name in names}
    for name in names:
        (tmp_path / f"{name}.trig").write_text(recording(name))
    (tmp_path / "city.ttl").write_text(City().background())
    streams = [part for name in names for part in ("--stream", f"streams/{name}={tmp_path}/{name}.trig")]
    result = command("run", str(file), *streams, "--background", f"{GRAPH}={tmp_path}/city.ttl", "--format", form)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    expected = list(replay(text, streams=told, background={GRAPH: City().background()}, base=BASE))
    if form == "json":
        assert [json.loads(line)["at"] for line in result.stdout.splitlines()] == [one.at for one in expected]
    elif form == "table":
        assert [
            line.split(": ")[0].rsplit(" ", 1)[1] for line in result.stdout.splitlines() if line.startswith("──")
        ] == [str(one.at) for one in expected]
    else:
        rows = sum(len(one.rows) + (one.ntriples or "").count("\n") for one in expected)
        assert result.stdout.count("\n") == 1 + rows and rows > 0


def test_the_base_is_an_option_and_that_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "q").write_text(TEXT)
    (tmp_path / "s.nq").write_text("<urn:a> <http://h.org/x/p> <urn:o> <urn:t:1000> .\n")
    stream = ["--stream", f"streams/s={tmp_path}/s.nq", "--format", "csv", "--until", "2000"]
    for given, environment in (
        (["--base", "http://h.org/x/"], {}),
        (["--base", "http://h.org/x"], {}),
        ([], {"CSPARQL_BASE_URL": "http://h.org/x"}),
    ):
        told = command("explain", str(tmp_path / "q"), *given, **environment)
        assert "FROM STREAM <http://h.org/x/streams/s>" in told.stdout and "<http://h.org/x/p>" in told.stdout
        assert command("run", str(tmp_path / "q"), *given, *stream, **environment).stdout == "at,s\n2000,urn:a\n"
    assert "FROM STREAM <http://127.0.0.1:8000/streams/s>" in command("explain", str(tmp_path / "q")).stdout


@pytest.mark.parametrize("name", ["check", "explain", "run"])
@pytest.mark.parametrize("base", ["here", "no iri", "http:// x/"])
def test_a_base_that_is_no_iri_is_refused(tmp_path: Path, name: str, base: str) -> None:
    (tmp_path / "q").write_text(TEXT)
    told = command(name, str(tmp_path / "q"), "--base", base)
    assert (told.exit_code, told.stdout) == (2, "")
    assert f"Invalid value for '--base': {base!r} is no base: write an absolute IRI like http://127.0.0.1:8000/" in (
        told.stderr
    )
