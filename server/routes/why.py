"""Why a triple holds: GET /queries/{name}/why?triple=<s> <p> <o>, at the query's latest instant or at `at`.

The answer is a derivation for each graph of the query that holds it (its default graph, its named windows and graphs):
the rule, its premises, theirs, each with the instant until which it holds. It is made from the log, beside the engine:
from the elements that the query's windows saw, its background as it was then, and its rules as they are now.
"""

from __future__ import annotations

from flask import Blueprint, request

from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.log_view import Current
from csparql_spark.asking.why import as_json, reasons, triple_of
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes.answers import asked_instant
from csparql_spark.server.routes.registration import found, whole
from csparql_spark.server.stores import Stores


def routes(stores: Stores) -> Blueprint:
    blueprint = Blueprint("why", __name__)
    current = Current(stores.log, stores.registry)

    @blueprint.get("/queries/<name:name>/why")
    def explain(name: str) -> dict[str, object]:  # what `asking.why` says, and more
        record = found(stores, name)
        text = request.args.get("triple")
        if not text:
            raise Problem(
                "bad-triple", "Which triple? Ask with ?triple=<subject> <predicate> <object>, percent-encoded."
            )
        try:
            triple = triple_of(text)
        except Refusal as refusal:
            raise Problem("bad-triple", sentence(str(refusal))) from refusal
        instant = asked_instant(stores, record, ", so there is nothing to explain: try again after its first instant.")
        query = whole(record)
        sighting = current.sighting(record, instant)
        found_in = reasons(
            query,
            rules_of(query.entailment, current.rules(query.entailment)),
            instant,
            triple,
            lambda place: current.holding(query.windows[place], place, sighting),
            current.background(query, sighting),
        )
        return {"query": name, "at": instant, "triple": list(triple), **as_json(found_in)}

    return blueprint
