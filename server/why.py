"""Why a triple holds: GET /queries/{name}/why?triple=<s> <p> <o>, at the query's latest instant or at `at`.

The answer is a derivation: the rule, its premises, theirs, each with the instant until which it holds. It is made from
the log, beside the engine: from the elements that the query's windows saw, its background and its rules as they are
now.
"""

from __future__ import annotations

from flask import Blueprint, request

from csparql_spark.entailment.regimes import rules_of
from csparql_spark.pipeline.admission import Refusal, read
from csparql_spark.pipeline.current import Current
from csparql_spark.pipeline.why import as_tree, facts_of, triple_of, why

from csparql_spark.server.answers import asked_instant
from csparql_spark.server.backend import Backend
from csparql_spark.server.problems import Problem, sentence
from csparql_spark.server.registering import found


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("why", __name__)
    current = Current(backend.log, backend.registry)

    @blueprint.get("/queries/<name:name>/why")
    def explain(name: str) -> dict[str, object]:
        record = found(backend, name)
        text = request.args.get("triple")
        if not text:
            raise Problem("bad-triple", "Which triple? Ask with ?triple=<subject> <predicate> <object>, "
                          "percent-encoded.")
        try:
            triple = triple_of(text)
        except Refusal as refusal:
            raise Problem("bad-triple", sentence(str(refusal))) from refusal
        instant = asked_instant(
            backend, record, ", so there is nothing to explain: try again after its first instant.")
        query = read(record.text, record.base)
        elements = {stream: [chunk] for stream, chunk in current.seen(query.windows, instant, after=record.id).items()}
        facts = facts_of(query, instant, elements, {graph: current.graph(graph) for graph in query.graphs})
        derivation = why(rules_of(query.entailment, current.rules()), facts, triple)
        return {"query": name, "at": instant, "triple": list(triple), "holds": derivation is not None,
                "why": None if derivation is None else as_tree(derivation),
                "text": None if derivation is None else str(derivation)}

    return blueprint
