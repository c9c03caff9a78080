"""Plans: what a continuous query asks for, in the terms of the evaluator; and what cannot be answered, refused by name.

For example:

    plan(parse("REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE { ?s <urn:p> 1 }"))
    # Plan(form="SELECT", variables=("s",), reads=((("?s", "<urn:p>", '"1"^^<…integer>'),),), …)
"""

from __future__ import annotations

from csparql_spark.answers.over_ids import Plan, Unsupported, over_ids
from csparql_spark.language import ContinuousQuery
from csparql_spark.remembering import bounded

__all__ = ["MOST_PATTERNS", "Plan", "Unsupported", "plan", "plan_of"]

MOST_PATTERNS = 50  # planning a join of some hundred would take seconds, at the first instant of every start


def plan(query: ContinuousQuery) -> Plan:
    """The plan of a query; raises `Unsupported`."""
    return plan_of(query.body)


@bounded(most=1024, longest=2048)  # many queries ask the same of windows of their own
def plan_of(body: str) -> Plan:
    made = over_ids(body)
    longest = max((len(group) for group in made.reads or ()), default=0)
    if longest > MOST_PATTERNS:
        raise Unsupported(f"a graph pattern has {longest} triples: {MOST_PATTERNS} can be joined, at most")
    return made
