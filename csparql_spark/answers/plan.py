"""Plans: what a continuous query asks for, in the terms of the evaluator; and what cannot be answered, refused by name.

    plan(parse("REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE { ?s <urn:p> 1 }"))
    # Plan(form="SELECT", variables=("s",), reads=((("?s", "<urn:p>", '"1"^^<…integer>'),),), …)
"""

from __future__ import annotations

from csparql_spark.answers.over_ids import Plan, Unsupported, over_ids
from csparql_spark.language import ContinuousQuery

__all__ = ["MOST_PATTERNS", "Plan", "Unsupported", "plan"]

MOST_PATTERNS = 50       # planning a join of some hundred would take seconds, at the first instant of every start


def plan(query: ContinuousQuery) -> Plan:
    """The plan of a query; raises `Unsupported`."""
    made = over_ids(query.body)
    longest = max((len(group) for group in made.reads or ()), default=0)
    if longest > MOST_PATTERNS:
        raise Unsupported(f"a graph pattern has {longest} triples: {MOST_PATTERNS} can be joined, at most")
    return made
