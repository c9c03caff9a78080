"""The W3C's query evaluation tests, by the incremental evaluator: it says what the snapshot evaluator says."""

from __future__ import annotations

import numpy as np
import pytest

from csparql_spark.answers.incremental import Incremental, Shared, why_not
from csparql_spark.answers.over_ids import Unsupported
from csparql_spark.answers.snapshot import Dataset, Snapshot
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.language import parse
from csparql_spark.windows.content import Content

from ..w3c import ROOT, Case, cases
from .streams import LIMIT, plan_of, said_here

CASES = list(cases("QueryEvaluationTest"))

pytestmark = pytest.mark.skipif(not CASES, reason=f"the W3C's tests are not at {ROOT}: clone w3c/rdf-tests there")


def body_of(case: Case) -> str:
    return parse(case.query, base=case.base + case.files["query"]).body


def reason(body: str) -> str | None:
    try:
        return why_not(plan_of(body), body)
    except Unsupported as error:
        return str(error)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_both_evaluators_say_the_same(case: Case) -> None:
    body = body_of(case)
    if (elsewhere := reason(body)) is not None:
        assert elsewhere.strip()
        return
    plan, content = plan_of(body), Content()
    facts = Expiration(content.dictionary)
    shared = Shared(facts.moving, content)
    query = Incremental(plan, body, shared)
    query.move(after=0)
    files = case.files.get("data") or [path.name for path in sorted(case.path(".").glob("*.ttl"))]
    for number, name in enumerate(files):  # one file after the other: each is a change
        chunk = case.graph(name, number)
        ids = content.dictionary.encode(chunk.terms)
        facts.insert(ids[chunk.s], ids[chunk.p], ids[chunk.o], np.full(len(chunk), number + 1))
        for after in range(number + 1):
            query.move(after=after)
            snapshot = Snapshot(plan, content)
            visible = facts.visible(after)
            snapshot.move(Dataset((visible.s, visible.p, visible.o)))
            assert query.answer(limit=LIMIT).to_bytes() == said_here(snapshot).to_bytes(), (after, body)


def test_most_of_what_looks_at_one_graph_is_answered_incrementally() -> None:
    taken = sum(reason(body_of(case)) is None for case in CASES)
    assert taken > len(CASES) // 2, (taken, len(CASES))
