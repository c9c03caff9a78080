from __future__ import annotations

import pytest

from csparql_spark.language import parse
from csparql_spark.pipeline import explaining
from csparql_spark.pipeline.explaining import explained, written
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import RDF
from csparql_spark.testing import replay

TYPE, SUB = f"<{RDF}type>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
KB = {"urn:kb": Chunk.from_triples([("<urn:Car>", SUB, "<urn:Vehicle>"), ("<urn:Bus>", SUB, "<urn:Vehicle>")])}
HEAD = "REGISTER QUERY q AS SELECT ?x FROM <urn:kb> FROM STREAM <urn:s> [RANGE 4s STEP 2s] "


@pytest.mark.parametrize("text, because", [
    (HEAD + "WHERE { ?x a <urn:Car> FILTER(?x != <urn:y>) }", None),
    (HEAD + "WHERE { ?x <urn:p>+ ?y }", None),
    (HEAD + "WHERE { ?x <urn:p> ?y FILTER EXISTS { ?y <urn:p>* ?z } }", "a path that may have no length within EXISTS"),
    (HEAD + "WHERE { ?x <urn:p> ?y BIND(NOW() AS ?now) }",
     "NOW, RAND, UUID, STRUUID and BNODE say something else at each instant"),
    ("SELECT ?x FROM STREAM <urn:s> [RANGE TRIPLES 3] WHERE { ?x ?p ?y }",
     "when an element leaves a window that counts is not known before"),
    ("SELECT ?x FROM STREAM <urn:s> [RANGE 4s STEP 2s] FROM STREAM <urn:t> [RANGE 4s STEP 3s] WHERE { ?x ?p ?y }",
     "its windows are seen as of different instants"),
    ("SELECT ?x FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT4S] WHERE { WINDOW <urn:w> { ?x ?p ?y } }",
     "named windows and graphs are not maintained")])
def test_which_evaluator_and_why(text: str, because: str | None) -> None:
    told = explained(parse(text), background=KB, rules={})
    assert told["evaluator"] == ("maintained" if because is None else "snapshot")
    assert (told["because"] or "").startswith(because or "")
    assert (because or "evaluation: maintained") in written(told)


@pytest.mark.parametrize("where, said", [
    ("{ ?x <urn:p> ?y FILTER EXISTS { ?y <urn:q> ?z } }", "rows say until when they hold"),
    ("{ ?x <urn:p> ?y FILTER NOT EXISTS { ?y <urn:q> ?z } }", "with NOT EXISTS, until when rows hold is not known"),
    ("{ ?x <urn:p> ?y OPTIONAL { ?y <urn:q> ?z } MINUS { ?y <urn:r> ?w } }",
     "with MINUS and OPTIONAL, until when rows hold is not known"),
    ("{ { ?x <urn:p> ?y } UNION { ?x <urn:q>+ ?y } }", "rows say until when they hold"),
    ("{ ?x <urn:p> ?y } ORDER BY ?y LIMIT 3", "with LIMIT or OFFSET, until when rows hold is not known"),
    ("{ ?x <urn:p> ?y } GROUP BY ?x", "with aggregates, until when rows hold is not known")])
def test_whether_rows_say_until_when_they_hold(where: str, said: str) -> None:
    text = HEAD + f"WHERE {where}"
    told = explained(parse(text), background={}, rules={})
    assert f"evaluation: maintained (matches move with the window; {said})" in written(told).splitlines()
    data = "".join(f"<urn:x> <urn:{p}> <urn:x> <urn:t:{t}> .\n" for t, p in enumerate("pqr", 1000))
    instants = replay(text.replace("FROM <urn:kb> ", ""), streams={"urn:s": data})
    assert {instant.until is not None for instant in instants} == {said.startswith("rows")}


def test_the_rules_that_are_run_for_what_is_asked() -> None:
    told = explained(parse(HEAD + "USING ENTAILMENT rho-df WHERE { ?x a <urn:Vehicle> }"), background=KB, rules={})
    assert told["rules"]["written"] == 6
    assert sorted(rule.partition(": ")[2] for rule in told["rules"]["run"]) == [
        f"(?a {TYPE} <urn:{kind}>) -> (?a {TYPE} <urn:Vehicle>)]" for kind in ("Bus", "Car")]
    assert told["rules"]["background"] == {"stated": 2, "closed": 2} and SUB in told["rules"]["presumed"]
    assert "rules:      6 written, 2 run for this query and background:" in written(told)


def test_a_large_background_is_not_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "MOST_BACKGROUND", 1)
    told = explained(parse(HEAD + "USING ENTAILMENT rho-df WHERE { ?x a <urn:Vehicle> }"), background=KB, rules={})
    assert told["rules"]["run"] is None
    assert "not worked out: the background has more than 1 triples" in written(told)
