from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from csparql_spark.cli import main

QUERY = """REGISTER QUERY q AS PREFIX : <http://x/> SELECT ?x FROM <http://x/kb> FROM STREAM <urn:s> [RANGE 4s STEP 2s]
USING ENTAILMENT rdfs WHERE { ?x a :Vehicle }"""
KB = """@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Car rdfs:subClassOf :Vehicle . :drives rdfs:range :Car ."""
STREAM = "<http://x/ann> <http://x/drives> <http://x/c1> <urn:t:1000> .\n"
RULES = "[shares: (?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("q.csparql", QUERY), ("kb.ttl", KB), ("s.nq", STREAM), ("mine.rules", RULES)):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *more: str) -> Result:
    return CliRunner().invoke(
        main,
        [
            "run",
            str(folder / "q.csparql"),
            "--stream",
            f"urn:s={folder / 's.nq'}",
            "--background",
            f"http://x/kb={folder / 'kb.ttl'}",
            "--engine",
            "local",
            *more,
        ],
    )


def test_why_at_each_instant(folder: Path) -> None:
    result = run(folder, "--why", "<http://x/c1> a <http://x/Vehicle>")
    assert result.exit_code == 0, result.output
    blocks = result.stdout.split("── ")[1:]
    assert [block.splitlines()[0] for block in blocks] == ["at 2000:", "at 4000:", "at 6000: does not hold"]
    assert "<http://x/ann> <http://x/drives> <http://x/c1>  until 5000, given" in blocks[0]
    told = run(folder, "--why", "<http://x/c1> a <http://x/Car>", "--format", "json").stdout
    first = json.loads(told.splitlines()[0])
    assert first["why"]["rule"] == "rdfs3" and first["why"]["until"] == 5000


def test_why_says_which_window_holds_a_triple(folder: Path) -> None:
    (folder / "q.csparql").write_text(
        "REGISTER QUERY q AS PREFIX : <http://x/> SELECT ?x FROM <http://x/kb> "
        "FROM NAMED WINDOW :w ON <urn:s> [RANGE 4s STEP 2s] USING ENTAILMENT rdfs "
        "WHERE { WINDOW :w { ?x a :Vehicle } }"
    )
    result = run(folder, "--why", "<http://x/c1> a <http://x/Vehicle>")
    assert [line for line in result.stdout.splitlines() if line.startswith("──")] == [
        "── at 2000, in <http://x/w>:",
        "── at 4000, in <http://x/w>:",
        "── at 6000: does not hold",
    ]
    told = json.loads(run(folder, "--why", "<http://x/c1> a <http://x/Car>", "--format", "json").stdout.splitlines()[0])
    assert [one["graph"] for one in told["graphs"]] == ["http://x/w"]
    assert told["holds"] and told["why"]["rule"] == "rdfs3"


def test_a_triple_that_is_none(folder: Path) -> None:
    result = run(folder, "--why", "nothing")
    assert result.exit_code == 2 and "--why: 'nothing' is not a triple" in result.output


def test_rules_of_a_file_and_regimes_of_the_command_line(folder: Path) -> None:
    (folder / "q.csparql").write_text(
        "REGISTER QUERY q AS SELECT ?y FROM STREAM <urn:s> [RANGE 4s] WHERE { <urn:a> <urn:p> ?y }"
    )
    (folder / "s.nq").write_text("<urn:a> <urn:p> <urn:b> <urn:t:1000> .\n<urn:b> <urn:p> <urn:c> <urn:t:1500> .\n")
    result = run(
        folder,
        "--rules",
        f"mine={folder / 'mine.rules'}",
        "--entailment",
        "mine",
        "--format",
        "csv",
        "--until",
        "1970-01-01T00:00:04Z",
    )
    assert result.stdout.split() == ["at,y", "4000,urn:b", "4000,urn:c"]
    unknown = run(folder, "--entailment", "yours")
    assert unknown.exit_code == 2 and "there is no rule set 'yours'" in unknown.output
    (folder / "mine.rules").write_text("[(?a <urn:p> ?b) -> (?a <urn:p> ?z)]")
    broken = run(folder, "--rules", f"mine={folder / 'mine.rules'}", "--entailment", "mine")
    assert broken.exit_code == 2 and "line 1, column" in broken.output


@pytest.mark.parametrize("paper, heading", [("volz", "Del(?s ?p ?o) :- ExtDel(?s ?p ?o)."), ("imars", "New(")])
def test_maintenance_programs(folder: Path, paper: str, heading: str) -> None:
    for rules in ("rho-df", str(folder / "mine.rules")):
        result = CliRunner().invoke(main, ["explain", "--maintenance", paper, rules])
        assert result.exit_code == 0 and heading in result.stdout
    assert CliRunner().invoke(main, ["explain", "--maintenance", paper, "rho-dg"]).exit_code == 2
