"""Why a triple holds: GET /queries/{name}/why?triple=<s> <p> <o>, at the query's latest instant or at `at`. The triple
may be written with the query's prefixes and its BASE.

The answer is a derivation for each graph of the query that holds it (its default graph, its named windows and graphs):
the rule, its premises, theirs, each with the instant until which it holds. It is made from the log, beside the engine:
from the elements that the query's windows saw, its background as it was then, and its rules as they are now. This
process reads them, within bounds; what follows is found in a guarded child (see `asking.guarded`).
"""

from __future__ import annotations

import json
import os

from flask import Blueprint, request

from csparql_spark.answers.limits import Limits
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.pool import Place
from csparql_spark.asking.log_view import Current
from csparql_spark.asking.why import held, triple_of
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes.answers import asked_instant
from csparql_spark.server.routes.registration import found, whole
from csparql_spark.server.stores import Stores

SMALLER = "ask about a query that reads smaller ones"


def routes(stores: Stores, pool: Pool) -> Blueprint:
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
        query = whole(record)
        try:
            triple = triple_of(text, query, record.base)
        except Refusal as refusal:
            raise Problem("bad-triple", sentence(str(refusal))) from refusal
        instant = asked_instant(stores, record, ", so there is nothing to explain: try again after its first instant.")

        def reasoned(place: Place) -> bytes | bytearray:
            sighting = current.sighting(record, instant)
            allowance = Allowance(pool.memory, "the query reads", SMALLER)
            reader = current.within(allowance)
            windows = held(query, lambda one: reader.holding(query.windows[one], one, sighting))
            asked = work.Asked(query, windows, reader.background(query, sighting))
            place.expect(allowance.taken)
            rules = current.rules(query.entailment)
            return place.run(Limits.from_environment(os.environ), work.reasoned, asked, instant, triple, rules)

        body = pool.attempt("why", reasoned)
        return {"query": name, "at": instant, "triple": list(triple), **json.loads(body)}

    return blueprint
