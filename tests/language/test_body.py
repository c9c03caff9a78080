from __future__ import annotations

import pytest

from csparql_spark.language import parse
from csparql_spark.language.queries.body import BodyProblem, check_evaluable


@pytest.mark.parametrize(
    "body",
    [
        "SELECT ?s { ?s }",
        "SELECT ?s {} nonsense",
        "ASK { ?s !() ?o }",
        "SELECT ?s (COUNT(*) AS ?n) { VALUES () {} ?s ?p ?o }",
    ],
)
def test_what_the_engine_refuses(body: str) -> None:
    with pytest.raises(BodyProblem, match="^The SPARQL engine refuses this query "):
        check_evaluable(body)


def test_what_the_engine_reads() -> None:
    check_evaluable("SELECT ?s { VALUES () {} ?s ?p ?o }")


def test_what_it_reads_and_cannot_call_is_no_error_of_the_text() -> None:
    assert parse("DESCRIBE <http://ex.org/a> HAVING <http://ex.org/f>()").form == "DESCRIBE"
