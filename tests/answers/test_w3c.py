"""The W3C's query evaluation tests: what a query says over a dataset, by the snapshot evaluator."""

from __future__ import annotations

import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.values import number, number_term
from csparql_spark.asking.one_shot import Question, ask
from csparql_spark.language import parse

from ..w3c import ROOT, Case, agrees, cases, expected

CASES = list(cases("QueryEvaluationTest"))

pytestmark = pytest.mark.skipif(not CASES, reason=f"the W3C's tests are not at {ROOT}: clone w3c/rdf-tests there")

# What is computed has a value, and several spellings: 2.0 and 2 are the same decimal.
BY_VALUE = {
    f"sparql11/{name}"
    for name in (
        "cast/cast-float",
        "cast/cast-double",
        "cast/cast-decimal",
        "csv-tsv-res/tsv03",
        "functions/plus-1-corrected",
        "functions/coalesce01",
    )
}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_answers_are_those_of_the_w3c(case: Case) -> None:
    default, named = case.files.get("data") or [], [graph["file"] for graph in case.files.get("graphData", [])]
    read = parse(case.query, base=case.base + case.files["query"])
    if (default or named) and not (read.graphs or read.named_graphs):
        files, dataset = [*default, *named], [[case.base + name for name in names] for names in (default, named)]
    else:  # the dataset is what the query's FROM and FROM NAMED say
        files, dataset = [path.name for path in sorted(case.path(".").glob("*.ttl"))], (None, None)
    graphs = {case.base + name: case.graph(name, number) for number, name in enumerate(files)}
    answer = ask(
        Question(
            case.query, graphs, base=case.base + case.files["query"], default_graphs=dataset[0], named_graphs=dataset[1]
        )
    )
    wanted = expected(case)
    if case.name in BY_VALUE:
        answer, wanted = by_value(answer), (wanted[0], [valued(row) for row in wanted[1]])
    assert agrees(answer, wanted), (answer.table.rows() if answer.table is not None else answer, wanted)


def by_value(answer: Result) -> Result:
    return Result.from_rows(answer.table.variables, map(valued, answer.table.rows()))


def valued(row: dict[str, str]) -> dict[str, str]:
    """The row with each number in our spelling."""
    return {name: number_term(found) if (found := number(term)) else term for name, term in row.items()}
