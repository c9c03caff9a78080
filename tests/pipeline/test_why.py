from __future__ import annotations

import pytest

from csparql_spark.entailment.naive import ALWAYS
from csparql_spark.entailment.regimes import rules_of
from csparql_spark.language import parse
from csparql_spark.pipeline import why as reasons
from csparql_spark.pipeline.admission import Refusal
from csparql_spark.pipeline.why import as_tree, facts_of, triple_of, why
from csparql_spark.rdf.chunk import Chunk

IS_IN = "[transitive: (?a <urn:in> ?b) (?b <urn:in> ?c) -> (?a <urn:in> ?c)]"
TRAIN, STATION, CITY = "<urn:train>", "<urn:station>", "<urn:city>"


def chunk(*elements: tuple[str, str, int]) -> Chunk:
    return Chunk.from_triples([(s, "<urn:in>", o) for s, o, _ in elements], [t for *_, t in elements])


def test_the_tree_says_until_when_each_step_holds() -> None:
    """
        ──(──●──────●──────]──▶    RANGE 10: the person enters the train at 3, the train the station at 6
          0  3      6      10
    """
    query = parse("REGISTER QUERY q AS SELECT ?x FROM <urn:g> FROM STREAM <urn:s> [RANGE 10ms STEP 1ms] "
                  "WHERE { ?x <urn:in> ?y }")
    elements = chunk(("<urn:ann>", TRAIN, 3), (TRAIN, STATION, 6), ("<urn:x>", TRAIN, 11))
    facts = facts_of(query, 10, {"urn:s": [elements]}, {"urn:g": chunk((STATION, CITY, 0))})
    assert facts == {("<urn:ann>", "<urn:in>", TRAIN): 13, (TRAIN, "<urn:in>", STATION): 16,
                     (STATION, "<urn:in>", CITY): ALWAYS}
    derivation = why(rules_of(("mine",), {"mine": IS_IN}), facts, ("<urn:ann>", "<urn:in>", CITY))
    lines = str(derivation).splitlines()
    assert lines[0] == "<urn:ann> <urn:in> <urn:city>  until 13, by transitive"
    assert sorted(line.strip() for line in lines if line.endswith("given")) == [
        "<urn:ann> <urn:in> <urn:train>  until 13, given", "<urn:station> <urn:in> <urn:city>  always, given",
        "<urn:train> <urn:in> <urn:station>  until 16, given"]
    tree = as_tree(derivation)
    assert (tree["until"], tree["rule"], len(tree["premises"])) == (13, "transitive", 2)
    assert why(rules_of(("mine",), {"mine": IS_IN}), facts, (CITY, "<urn:in>", TRAIN)) is None


def test_what_is_given_needs_no_rule() -> None:
    derivation = why((), {("<urn:a>", "<urn:p>", '"1"'): 5}, ("<urn:a>", "<urn:p>", '"1"'))
    assert as_tree(derivation) == {"triple": ["<urn:a>", "<urn:p>", '"1"'], "until": 5, "given": True}


@pytest.mark.parametrize("window, expected", [
    ("[RANGE 4ms STEP 3ms]", {3, 5, 6}),                # as of 6: (2, 6]
    ("[RANGE TRIPLES 2]", {6, 7}), ("[ELEMENTS 3]", {5, 6, 7})])
def test_what_a_window_sees_at_7(window: str, expected: set[int]) -> None:
    query = parse(f"REGISTER QUERY q AS SELECT ?x FROM STREAM <urn:s> {window} WHERE {{ ?x ?p ?y }}"
                  if "ELEMENTS" not in window else
                  f"SELECT ?x FROM NAMED WINDOW <urn:w> ON <urn:s> {window} WHERE {{ WINDOW <urn:w> {{ ?x ?p ?y }} }}")
    elements = chunk(*((f"<urn:{t}>", CITY, t) for t in (1, 3, 5, 6, 7, 8)))
    assert {int(s[5:-1]) for s, _, _ in facts_of(query, 7, {"urn:s": [elements]}, {})} == expected


def test_a_triple_is_read_as_people_write_it() -> None:
    assert triple_of('<urn:a> a "x"@EN .') == (
        "<urn:a>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", '"x"@en')
    assert triple_of("<urn:a> <urn:p> 01")[2] == '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'
    for text, reason in (("x y", "'x y' is not a triple: write its subject"), ("", "is not a triple"),
                         ("<urn:a> <urn:p> 1, 2", "holds 2 triples: ask for one")):
        with pytest.raises(Refusal, match=reason):
            triple_of(text)


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "MOST_FACTS", 1)
    facts = {(f"<urn:{i}>", "<urn:in>", CITY): 5 for i in range(2)} | {("<urn:a>", "<urn:q>", "<urn:b>"): 5}
    rules = rules_of(("mine",), {"mine": IS_IN})
    with pytest.raises(Refusal, match="2 triples can have a part in this, and at most 1 are looked at"):
        why(rules, facts, ("<urn:0>", "<urn:in>", CITY))
    # No rule makes it: there is nothing to look at.
    assert why(rules, facts, ("<urn:a>", "<urn:q>", "<urn:b>")) is not None
