"""The W3C's query evaluation tests as registered queries: the data comes through a stream, and what is asked of it is
asked of one window that sees it all, whichever evaluator it is for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from csparql_spark.answers.bindings import Result
from csparql_spark.asking.replay import Script, answer
from csparql_spark.language import ContinuousQuery, Window, parse, show
from csparql_spark.rdf.chunk import Chunk
from tests.answers.test_w3c import BY_VALUE, by_value, valued
from tests.w3c import ROOT, Case, agrees, cases, expected

STREAM = "urn:stream"


def query_of(case: Case) -> ContinuousQuery:
    return parse(case.query, base=case.base + case.files["query"])


def chunk_of(case: Case) -> Chunk:
    """The data of a test, as what came at one instant."""
    chunk = Chunk.concat([case.graph(name, number) for number, name in enumerate(case.files["data"])])
    return dataclasses.replace(chunk, t=np.full(len(chunk), 1000))


def fits(case: Case) -> bool:
    """Whether a test looks at a default graph alone, in which there is something. The others ask about named graphs,
    which are no streams."""
    query = query_of(case)
    return not (
        not case.files.get("data")
        or case.files.get("graphData")
        or query.graphs
        or query.named_graphs
        or not len(chunk_of(case))
    )


CASES = [case for case in cases("QueryEvaluationTest") if fits(case)]

pytestmark = pytest.mark.skipif(not CASES, reason=f"the W3C's tests are not at {ROOT}: clone w3c/rdf-tests there")


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_window_is_asked_what_the_w3c_asks_of_a_graph(case: Case) -> None:
    windows = (Window(STREAM, range=1000, step=1000),)
    text = show(dataclasses.replace(query_of(case), name="q", windows=windows))
    entries = Script.of(text, streams={STREAM: chunk_of(case)}, base=case.base + case.files["query"]).entries()
    said = list(answer(entries))
    assert [(one.instant, one.part) for one in said] == [(1000, 0), (2000, 0)], said
    found, wanted = Result.from_bytes(said[0].payload), expected(case)
    if case.name in BY_VALUE:
        found, wanted = by_value(found), (wanted[0], [valued(row) for row in wanted[1]])
    assert agrees(found, wanted), (found.table.rows() if found.table is not None else found, wanted)


def test_most_of_them_fit() -> None:
    assert len(CASES) > 0.8 * len(list(cases("QueryEvaluationTest")))
