"""One-shot questions: SPARQL 1.1 Protocol over background graphs, and over what streams hold now.

    GET  /sparql?query=SELECT…
    GET  /sparql                     what the service can do, in RDF
    POST /sparql                     application/sparql-query, or a form with query=

A query without FROM asks all background graphs. `FROM STREAM <…> [RANGE 10s]` looks at the last ten seconds of a
stream: back from now on the arrival clock, from the newest stamp on an event clock. `USING ENTAILMENT` works as in
registered queries. Nothing is registered, and the engine has no part in it. Texts are read and questions are answered
in guarded children (see `asking.guarded`): this process only finds the data, and sends it there.

What a registered query sees is a graph, too: `FROM <queries/HotRooms/window>`, in FROM NAMED and in the parameters of
the protocol by its whole IRI. It is what the query's body is matched against at its latest instant: what its windows
hold and its background, with what follows under its rules. Its named windows and graphs are there by their names.
"""

from __future__ import annotations

import json
import os

from flask import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from csparql_spark.answers.bindings import ResultKind
from csparql_spark.answers.formats import OFFERED, Unwritable
from csparql_spark.answers.graph_text import LineText
from csparql_spark.answers.limits import Limits, TooManyRows, TooMuch
from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.pool import Place
from csparql_spark.asking.log_view import Current
from csparql_spark.asking.one_shot import Question, Watched
from csparql_spark.language import ContinuousQuery
from csparql_spark.language.queries.query_cache import known, read
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.http import bodies
from csparql_spark.server.http.forms import FORM, fields_of
from csparql_spark.server.http.holdings import Holdings
from csparql_spark.server.http.negotiation import asked_type, drawn, response_of
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes.descriptors import service_descriptor
from csparql_spark.server.routes.registration import found, whole
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.windows.rule import at_once, bounds_of

QUERY = "application/sparql-query"
KINDS: dict[str, ResultKind] = {"SELECT": "bindings", "ASK": "boolean"}  # of answers; other forms give graphs


def routes(settings: Settings, stores: Stores, pool: Pool, holdings: Holdings) -> Blueprint:
    blueprint = Blueprint("sparql", __name__)
    questions = Questions(stores, pool, holdings)

    @blueprint.get("/sparql")
    def ask_by_get() -> Response:
        if "query" not in request.args:
            graphs = (graph.name for graph in stores.registry.settings("background"))
            return drawn(LineText(service_descriptor(stores.names, graphs)), "the description of the service")
        return questions.answer(request.args.get("query"), request.args)

    @blueprint.post("/sparql")
    def ask_by_post() -> Response:
        text = bodies.declared(request, settings.query_limit, (QUERY, FORM), "The query")
        if request.mimetype != FORM:
            return questions.answer(text, request.args)
        fields = fields_of(text.encode())
        return questions.answer(fields.get("query"), fields)

    return blueprint


class Questions:
    """Answers questions over what is stored now, given their texts and the parameters of the protocol."""

    def __init__(self, stores: Stores, pool: Pool, holdings: Holdings) -> None:
        self._pool, self._holdings = pool, holdings
        self._stores, self._current = stores, Current(stores.log, stores.registry)
        self._base = f"{stores.names.base}/"

    def answer(self, text: str | None, parameters: MultiDict[str, str]) -> Response:
        """Raises `Problem`."""
        if not text:
            raise Problem("bad-body", "There is no query: send it as query=, or as the body of a POST.")
        limits = Limits.from_environment(os.environ)
        try:
            return self._pool.attempt("sparql", lambda place: self._answered(place, text, parameters, limits))
        except TooManyRows as error:
            raise Problem("too-many-rows", f"The question cannot be answered: {error}.") from error
        except TooMuch as error:
            raise Problem("too-much", f"The question cannot be answered: {error}.") from error
        except Unwritable as error:
            raise Problem("not-acceptable", str(error)) from None

    def _answered(self, place: Place, text: str, parameters: MultiDict[str, str], limits: Limits) -> Response:
        query = known(text, self._base)
        if query is None:
            query = read(text, self._base, json.loads(place.run(limits, work.compiled_form, text, self._base)))
        if query.name is not None or query.output != "RSTREAM":
            raise Problem(
                "refused",
                "A question that is asked once has no name and no ISTREAM or DSTREAM: leave "
                "REGISTER … AS out, or register it with PUT /queries/{name}.",
            )
        default_graphs, named_graphs = (
            parameters.getlist(name) or None for name in ("default-graph-uri", "named-graph-uri")
        )
        background = {setting.name: setting.rows for setting in self._stores.registry.settings("background")}
        wanted = {*(default_graphs or ()), *(named_graphs or ())}
        if default_graphs is None and named_graphs is None:
            wanted = {*query.graphs, *query.named_graphs}
        if not wanted and not query.windows:
            wanted = {*background}
        queries = {
            graph: name
            for graph in wanted - background.keys()
            if (name := self._stores.names.query_of_window(graph)) is not None
        }
        allowance = Allowance(self._pool.memory, "the question asks", "name fewer of them with FROM", place.expect)
        allowance.foresee(sum(background[graph] for graph in wanted & background.keys()))
        current = self._current.within(allowance)
        watched = {graph: self._watched(current, name) for graph, name in queries.items()}
        instant, streams = self._streams(current, query)
        if watched and not query.windows:
            instant = max(one.instant for one in watched.values())
        regimes = {*query.entailment, *(regime for one in watched.values() for regime in one.query.entailment)}
        question = Question(
            text,
            {graph: work.sent_graph(current.payload(graph)) for graph in sorted(wanted & background.keys())},
            self._base,
            default_graphs,
            named_graphs,
            streams=streams,
            watched=watched,
            rules=current.rules(regimes) if regimes else {},
            instant=instant,
        )
        media_type = asked_type("this answer", OFFERED[KINDS.get(query.form, "graph")])
        body = place.run(limits, work.answered, question, limits, media_type)
        headers = {"X-CSPARQL-Instant": str(instant)} if query.windows or watched else None
        return response_of(body, media_type, headers, holdings=self._holdings)

    def _watched(self, current: Current, name: str) -> Watched:
        """What a registered query needs to see what it saw at its latest instant."""
        record = found(self._stores, name)
        failure = self._stores.answers.failure(record.id)
        if failure is not None:
            raise Problem(
                "query-failed",
                f"The query {name} failed at {failure[0]}, and sees nothing any more: {sentence(failure[1])}",
                query=name,
                at=failure[0],
                reason=failure[1],
            )
        bounds = self._stores.answers.bounds(record.id)
        if bounds is None:
            raise Problem(
                "no-answer",
                f"The query {name} has no answer yet, so there is no instant at which it has "
                "seen something: ask again after its first instant.",
                query=name,
            )
        return current.watched(record, whole(record), bounds[1])

    def _streams(self, current: Current, query: ContinuousQuery) -> tuple[int, dict[str, Chunk]]:
        """The instant to look at, and what the query's windows may see there."""
        if not query.windows:
            return self._stores.now(), {}
        streams = {stream.iri: stream for stream in self._stores.registry.streams()}
        now = self._stores.now()
        chunks: dict[str, Chunk] = {}
        instants = []
        for window in query.windows:
            if window.stream not in streams:
                raise self._stores.names.no_stream(window.stream)
            newest = current.newest(window.stream)
            instants.append(now if streams[window.stream].clock == "arrival" or newest is None else newest)
        instant = max(instants)
        for window in query.windows:
            low = bounds_of(at_once(window), instant).low
            chunk = current.elements(window.stream, low=low, high=instant)
            known = chunks.get(window.stream)
            chunks[window.stream] = chunk if known is None or len(chunk) > len(known) else known
        return instant, chunks
