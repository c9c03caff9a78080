from __future__ import annotations

import re
from pathlib import Path

import pytest

from csparql_spark.asking import explain
from csparql_spark.asking.explain import Shortened, explained, written
from csparql_spark.language import parse
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import RDF
from csparql_spark.testing import replay

TYPE, SUB = f"<{RDF}type>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
KB = {"urn:kb": Chunk.from_triples([("<urn:Car>", SUB, "<urn:Vehicle>"), ("<urn:Bus>", SUB, "<urn:Vehicle>")])}
HEAD = "REGISTER QUERY q AS SELECT ?x FROM <urn:kb> FROM STREAM <urn:s> [RANGE 4s STEP 2s] "


@pytest.mark.parametrize(
    "text, because",
    [
        (HEAD + "WHERE { ?x a <urn:Car> FILTER(?x != <urn:y>) }", None),
        (HEAD + "WHERE { ?x <urn:p>+ ?y }", None),
        (
            HEAD + "WHERE { ?x <urn:p> ?y FILTER EXISTS { ?y <urn:p>* ?z } }",
            "a path that may have no length within EXISTS",
        ),
        (
            HEAD + "WHERE { ?x <urn:p> ?y BIND(NOW() AS ?now) }",
            "NOW, RAND, UUID, STRUUID and BNODE say something else at each instant",
        ),
        ("SELECT ?x FROM STREAM <urn:s> [RANGE TRIPLES 3] FROM STREAM <urn:t> [RANGE 4s] WHERE { ?x ?p ?y }", None),
        ("SELECT ?x FROM STREAM <urn:s> [RANGE TRIPLES 3] WHERE { ?x ?p ?y }", None),
        (
            "SELECT ?x FROM STREAM <urn:s> [RANGE 4s STEP 2s] FROM STREAM <urn:t> [RANGE 4s STEP 3s] WHERE { ?x ?p ?y }",
            None,
        ),
        (
            "REGISTER QUERY q COMPUTE EVERY 3s AS SELECT ?x FROM STREAM <urn:s> [RANGE 4s STEP 2s] WHERE { ?x ?p ?y }",
            None,
        ),
        ("SELECT ?x FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT4S] WHERE { WINDOW <urn:w> { ?x ?p ?y } }", None),
        (HEAD.replace("FROM <urn:kb>", "FROM NAMED <urn:kb>") + "WHERE { GRAPH ?g { ?x ?p ?y } }", None),
        (
            "SELECT ?x FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT4S STEP PT2S] "
            "FROM NAMED WINDOW <urn:v> ON <urn:s> [RANGE PT4S STEP PT3S] WHERE { WINDOW ?w { ?x ?p ?y } }",
            None,
        ),
        (
            "SELECT ?x FROM NAMED WINDOW <urn:w> ON <urn:s> [ELEMENTS 3] FROM NAMED WINDOW <urn:v> ON <urn:s> [ELEMENTS 4] "
            "WHERE { WINDOW ?w { ?x ?p ?y } }",
            None,
        ),
    ],
)
def test_which_evaluator_and_why(text: str, because: str | None) -> None:
    told = explained(parse(text), background=KB, rules={})
    assert told["evaluator"] == ("maintained" if because is None else "snapshot")
    assert (told["because"] or "").startswith(because or "")
    assert (because or "evaluation: maintained") in written(told)


@pytest.mark.parametrize(
    "where, said",
    [
        ("{ ?x <urn:p> ?y FILTER EXISTS { ?y <urn:q> ?z } }", "rows say until when they hold"),
        ("{ ?x <urn:p> ?y FILTER NOT EXISTS { ?y <urn:q> ?z } }", "with NOT EXISTS, until when rows hold is not known"),
        (
            "{ ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } MINUS { ?y <urn:r> ?w } }",
            "with MINUS and OPTIONAL, until when rows hold is not known",
        ),
        ("{ { ?x <urn:p> ?y } UNION { ?x <urn:q>+ ?y } }", "rows say until when they hold"),
        ("{ ?x <urn:p> ?y } ORDER BY ?y LIMIT 3", "with LIMIT or OFFSET, until when rows hold is not known"),
        ("{ ?x <urn:p> ?y } GROUP BY ?x", "with aggregates, until when rows hold is not known"),
        ("[RANGE TRIPLES 2] { ?x <urn:p> ?y }", "with windows that count, until when rows hold is not known"),
        ("[RANGE 3s STEP 2s] { ?x <urn:p> ?y }", "rows say until when they hold"),
    ],
)
def test_whether_rows_say_until_when_they_hold(where: str, said: str) -> None:
    extent, _, where = where.rpartition("{ ?x <urn:p> ?y")
    other = f"FROM STREAM <urn:s> {extent}" if extent.startswith("[") else ""
    where = f"{'' if other else extent}{{ ?x <urn:p> ?y{where}"
    text = HEAD + f"{other} WHERE {where}"
    told = explained(parse(text), background={}, rules={})
    assert f"evaluation: maintained (matches move with the window; {said})" in written(told).splitlines()
    data = "".join(f"<urn:x> <urn:{p}> <urn:x> <urn:t:{t}> .\n" for t, p in enumerate("pqr", 1000))
    instants = replay(text.replace("FROM <urn:kb> ", ""), streams={"urn:s": data})
    assert {instant.until is not None for instant in instants} == {said.startswith("rows")}


def test_where_nothing_is_entailed_there_is_no_closure() -> None:
    plain, entails = (
        explained(parse(HEAD + f"{clause} WHERE {{ ?x a <urn:Vehicle> }}"), background=KB, rules={})
        for clause in ("", "USING ENTAILMENT rho-df")
    )
    assert plain["closures"] == [] and "rules" not in plain
    assert "closure:    none: the query asks for no entailment, so nothing is derived" in written(plain).splitlines()
    assert [closure["strategy"] for closure in entails["closures"]] == ["expiration"]
    assert "closure:    expiration: " in written(entails) and "closure:    none" not in written(entails)


def test_the_rules_that_are_run_for_what_is_asked() -> None:
    told = explained(parse(HEAD + "USING ENTAILMENT rho-df WHERE { ?x a <urn:Vehicle> }"), background=KB, rules={})
    assert told["rules"]["written"] == 6
    assert sorted(rule.partition(": ")[2] for rule in told["rules"]["run"]) == [
        f"(?a {TYPE} <urn:{kind}>) -> (?a {TYPE} <urn:Vehicle>)]" for kind in ("Bus", "Car")
    ]
    assert told["rules"]["background"] == {"stated": 2, "closed": 2} and SUB in told["rules"]["presumed"]
    assert "rules:      6 written, 2 run for this query and background:" in written(told)


def test_a_large_background_is_not_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "MOST_BACKGROUND", 1)
    told = explained(parse(HEAD + "USING ENTAILMENT rho-df WHERE { ?x a <urn:Vehicle> }"), background=KB, rules={})
    assert told["rules"]["run"] is None
    assert "not worked out: the background has more than 1 triples" in written(told)


ROOT = Path(__file__).resolve().parents[2]
TEXTS = [*sorted(ROOT.glob("queries/*/query.csparql")), *sorted(ROOT.glob("csparql_spark/cli/city_files/*.csparql"))]
WHOLE = """\
PREFIX t: <urn:t#>
REGISTER QUERY q AS
SELECT ?road (COUNT(*) AS ?n) (AVG(?kmh) * 2 AS ?twice)
FROM STREAM <urn:s> [RANGE 4s STEP 2s]
WHERE { ?car t:on/t:part ?road ; a t:Car ; t:kmh ?kmh . OPTIONAL { ?road t:in+ ?place FILTER(?place != t:here || ?kmh > 5) }
        ?car !t:off ?x . FILTER(?kmh > 10 && ?kmh < 90 || ?kmh = 99) FILTER(?kmh != 50) VALUES ?road { t:a } }
GROUP BY ?road (FLOOR(?kmh) AS ?floor) (?kmh / 2) HAVING (COUNT(*) > 1 && MAX(?kmh) < 99) ORDER BY DESC(COUNT(*)) ?road
LIMIT 1 OFFSET 3"""
PLAN = """\
  slice 1 row at most, after the first 3
    project ?road ?n ?twice
      order by DESC(COUNT(*)), ?road
        extend (AVG(?kmh) * 2 AS ?twice)
          extend (COUNT(*) AS ?n)
            filter where COUNT(*) > 1 && MAX(?kmh) < 99"""


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_explanation_shows_what_the_user_wrote(path: Path) -> None:
    """No names that are not in the text, but those of nodes on a path; no IRI that its prefixes shorten; no
    wrong plurals."""
    query = parse(path.read_text(), base="http://demo.test/")
    shown = written(explained(query, background={}, rules={}))
    explanation = shown.partition("evaluation: ")[2]
    own = {*re.findall(r"\?\w+", query.body), "?s", "?o"}  # the ends of a path in what is read
    assert set(re.findall(r"\?\w+", explanation.partition("rules: ")[0])) <= own
    apart = {f"<{graph}>" for graph in query.named_graphs}  # which are written in full
    apart |= {f"<{window.stream}>" for window in query.windows}
    assert set(re.findall(r"<[^>\s]*[#/]\w+>", explanation)) <= apart
    assert not re.search(r"\b1 (?:keys|rows|triples|graphs|rules|more \w+ of \S+ have)\b", shown)
    assert "it is so" not in shown


def test_a_whole_plan() -> None:
    shown = written(explained(parse(WHOLE), background={}, rules={})).partition("plan:\n")[2]
    assert shown.startswith(PLAN), shown
    assert "_:step_" in shown and "!=" in shown
    assert "along t:in+: one step, or more" in shown
    assert "left join where ?place != t:here || ?kmh > 5" in shown
    assert "where ?kmh > 10 && ?kmh < 90 || ?kmh = 99" in shown or "(?kmh > 10 && ?kmh < 90 || ?kmh = 99)" in shown
    assert "1 row of ?road" in shown and "extend (FLOOR(?kmh) AS ?floor)" in shown


def test_a_users_variable_keeps_its_name_whatever_it_is() -> None:
    text = (
        HEAD.replace("?x", "?set_1 (COUNT(*) AS ?n)")
        + "WHERE { ?set_1 <urn:p> ?step_1 FILTER(?step_1 > 1) } GROUP BY ?set_1"
    )
    shown = written(explained(parse(text), background={}, rules={})).partition("plan:\n")[2]
    assert shown.splitlines() == [
        "  project ?set_1 ?n",
        "    extend (COUNT(*) AS ?n)",
        "      group by ?set_1: COUNT(*)",
        "        scan ?set_1 <urn:p> ?step_1 where ?step_1 > 1",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<urn:s> <http://e.org/x#p> ?o", "<urn:s> e:p ?o"),
        ("?s <http://e.org/x#a/b> ?o", "?s <http://e.org/x#a/b> ?o"),
        (f"?s {TYPE} <http://e.org/x#C>", "?s a e:C"),
        ("?s <http://e.org/x#p> <http://e.org/x#.>", "?s e:p <http://e.org/x#.>"),
        ('?s <urn:p> "7"^^<http://www.w3.org/2001/XMLSchema#integer>', "?s <urn:p> 7"),
        ('?s <urn:p> "7.50"^^<http://www.w3.org/2001/XMLSchema#decimal>', "?s <urn:p> 7.50"),
        ('?s <urn:p> "a <b> c"@en', '?s <urn:p> "a <b> c"@en'),
    ],
)
def test_iris_are_shortened_as_the_text_has_them(text: str, shown: str) -> None:
    assert Shortened("PREFIX e: <http://e.org/x#>\nSELECT ?s { }").pattern(text) == shown
