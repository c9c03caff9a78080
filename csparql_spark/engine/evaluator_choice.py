"""Evaluator choice: which evaluator answers a query, and why; what it asks for. It is decided from the text, once.

    maintained   the matches move with the window; an answer costs what changed, and says until when its rows hold
    snapshot     the body is matched anew in a store that is kept in step

    why_snapshot(query)                    # None, or the reason in words

Who compares the two (see `testing`) may decide it: `SNAPSHOT` and `INCREMENTAL` in the place of `AUTO`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from csparql_spark.answers.incremental import why_not
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.plan import plan_of
from csparql_spark.engine.dataset import names_of
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.rules.rule import Atom
from csparql_spark.remembering import bounded

AUTO, SNAPSHOT, INCREMENTAL = EVALUATORS = ("auto", "snapshot", "incremental")


def why_snapshot(query: ContinuousQuery) -> str | None:
    """Why a query is answered by the snapshot evaluator; None if its answers are maintained."""
    return _why_not_with(names_of(query))(query.body)


@lru_cache(64)
def _why_not_with(graphs: tuple[str, ...]) -> Callable[[str], str | None]:
    """Why bodies are not maintained over datasets with these named graphs."""
    return bounded(most=1024, longest=2048)(lambda body: why_not(plan_of(body), body, graphs))


def asked_for(plan: Plan) -> set[Atom] | None:
    """The triple patterns that a plan asks for; None if that is any."""
    if plan.reads is None:
        return None
    return {
        Atom(*(f"?{node[2:]}" if node.startswith("_:") else node for node in pattern))
        for patterns in plan.reads
        for pattern in patterns
    }
