from __future__ import annotations

import pytest

from csparql_spark.language.body import BodyProblem, algebra_of, check_evaluable


def test_algebra() -> None:
    algebra = algebra_of("SELECT ?s { ?s ?p 01 }")
    assert algebra.algebra.name == "SelectQuery"
    assert [str(triple[2]) for triple in algebra.algebra.p.p.triples] == ["01"]


@pytest.mark.parametrize(("body", "offset"), [("SELECT ?s { ?s }", 12), ("SELECT ?s {} nonsense", 13)])
def test_what_is_no_sparql(body: str, offset: int) -> None:
    with pytest.raises(BodyProblem) as caught:
        algebra_of(body)
    assert (caught.value.code, caught.value.offset) == ("not-sparql", offset)


def test_too_much_for_the_parser() -> None:
    with pytest.raises(BodyProblem) as caught:
        algebra_of("SELECT * {" + "?s ?p ?o ." * 3000 + "}")
    assert caught.value.code == "too-large"


def test_what_the_engine_refuses() -> None:
    check_evaluable("SELECT ?s { VALUES () {} ?s ?p ?o }")
    with pytest.raises(BodyProblem) as caught:
        check_evaluable("SELECT ?s (COUNT(*) AS ?n) { VALUES () {} ?s ?p ?o }")
    assert caught.value.code == "not-sparql"
