"""Knowledge: /kb, as clients of rsp-services know it: background graphs, in other words.

    POST /kb    action=put&iri=<graph>&serialization=<RDF>       the graph is this from now on          200
    POST /kb    action=delete&iri=<graph>                        it is deleted                          200
    POST /kb    action=update&queryBody=<SPARQL Update>          what it says is done                   200
    GET  /kb?query=<SPARQL>                                      the same as GET /sparql

RDF is read as its `contentType` says, or as the first of RDF/XML, Turtle (and so N-Triples) and JSON-LD that it is. An
update changes one graph at a time: that which it names with GRAPH or WITH, or the one of `iri`, which is its default
graph. It is worked out in a guarded child, from the graphs that it may look at, and done if nobody has changed one
of them meanwhile; else it is worked out again, a few times. Terms keep their spelling, and blank nodes their labels
(see `asking.update`). Nothing is ever fetched: LOAD and SERVICE are refused.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TypedDict

from flask import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from csparql_spark.answers.limits import Limits, TooManyRows, TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.allowance import Allowance
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.pool import Place
from csparql_spark.asking.log_view import Current
from csparql_spark.asking.update import Update
from csparql_spark.language import LanguageError
from csparql_spark.log.guards import Unchanged
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError, UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat, format_of_media_type
from csparql_spark.server.http import bodies
from csparql_spark.server.http.forms import FORM, fields_of
from csparql_spark.server.http.holdings import Holdings
from csparql_spark.server.http.problems import Problem, of_language, of_rdf, sentence
from csparql_spark.server.routes.graphs import KIND, GraphBody, GraphStore, brought, named_graph
from csparql_spark.server.routes.sparql import Questions
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.reading import BodyReader
from csparql_spark.server.stores import Stores

GUESSED = (RdfFormat.RDF_XML, RdfFormat.TURTLE, RdfFormat.JSON_LD)
LANE = "updates"
MOST_TRIES = 3  # of an update whose graphs others change meanwhile


class ChangedBody(TypedDict):
    """What an update has done; `changed` is None if it was nothing, or the graph is no more."""

    changed: GraphBody | None
    added: int
    removed: int


class DeletedBody(TypedDict):
    iri: str
    deleted: bool


class Updates:
    """Updates of background graphs, each worked out in a child and done if nobody was faster: with none of the graphs
    that it has looked at."""

    def __init__(self, settings: Settings, stores: Stores, graphs: GraphStore, pool: Pool) -> None:
        self._limit, self._stores, self._graphs, self._pool = settings.query_limit, stores, graphs, pool
        self._current = Current(stores.log, stores.registry)

    def do(self, text: str, iri: str | None) -> ChangedBody:
        """`iri` names the graph that the update means where it names none. Raises `Problem`."""
        if len(text.encode()) > self._limit:
            raise Problem(
                "too-large", f"The update is larger than {self._limit} bytes: send it in parts.", limit=self._limit
            )
        default = None if iri is None else named_graph(iri)
        limits = Limits.from_environment(os.environ)
        try:
            with self._pool.place(LANE) as place:
                wanted = json.loads(place.run(limits, work.graphs_of_update, text, default))
                for _ in range(MOST_TRIES):
                    done = self._tried(place, Update(text, {}, default, base=default), wanted, limits)
                    if done is not None:
                        return done
        except LanguageError as error:
            raise of_language(error, "bad-update") from None
        except Refusal as refusal:
            raise Problem("bad-update", sentence(str(refusal))) from None
        except TooMuch as error:
            code = "too-many-rows" if isinstance(error, TooManyRows) else "too-much"
            raise Problem(code, f"The update cannot be done: {error}. Nothing was changed.") from error
        raise Problem(
            "bad-update",
            f"The update was worked out {MOST_TRIES} times, and each time somebody else had changed a graph "
            "that it looks at: nothing was changed; send it again.",
            status=409,
        )

    def _tried(self, place: Place, update: Update, wanted: list[str] | None, limits: Limits) -> ChangedBody | None:
        """What the update has done; None if somebody else was faster."""
        ids, graphs = self._before(wanted)
        asked = replace(update, graphs=graphs, blank_prefix=self._stores.blank_prefix(), instant=self._stores.now())
        changes = work.changes_in(place.run(limits, work.updated, asked, limits))
        if not changes:
            return {"changed": None, "added": 0, "removed": 0}
        if len(changes) > 1:
            first = ", ".join(f"<{change.graph}>" for change in changes[:5])
            raise Problem(
                "bad-update",
                f"The update changes {len(changes)} graphs, {first}{', and others' if len(changes) > 5 else ''}: send "
                "one for each of them (CLEAR GRAPH <…>, say, for CLEAR ALL), "
                "because changes of several graphs cannot be done at once.",
            )
        (change,) = changes
        counts: ChangedBody = {"changed": None, "added": change.added, "removed": change.removed}
        # Where it stands in the log it has to mean what it meant here: so nothing that it has looked at may be another.
        # Of what was not there yet when it looked at all graphs, nothing can be said.
        looked = {*ids, *(wanted or ())} - {change.graph}
        others = [Unchanged(KIND, name, ids.get(name)) for name in sorted(looked)]
        if change.now is None:
            return counts if self._graphs.delete(change.graph, ids.get(change.graph), others) else None
        made = self._graphs.set_if(named_graph(change.graph), ids.get(change.graph), change.now, others)
        return None if made is None else {**counts, "changed": self._graphs.described(made)}

    def _before(self, wanted: list[str] | None) -> tuple[dict[str, int], dict[str, Chunk]]:
        """The graphs that an update may look at (None: all), and the places of the entries that set them."""
        current = self._current.within(
            Allowance(
                self._pool.memory,
                "the update may look at",
                "name them in it, or PUT or POST the graph to /graphs instead",
            )
        )
        ids: dict[str, int] = {}
        graphs: dict[str, Chunk] = {}
        for name in self._graphs.names() if wanted is None else wanted:
            if (found := current.version(name)) is not None:
                ids[name], graphs[name] = found
        return ids, graphs


def routes(settings: Settings, stores: Stores, reader: BodyReader, pool: Pool, holdings: Holdings) -> Blueprint:
    blueprint = Blueprint("knowledge", __name__)
    graphs = GraphStore(settings, stores)
    updates, questions = Updates(settings, stores, graphs, pool), Questions(stores, pool, holdings)

    @blueprint.post("/kb")
    def change() -> ChangedBody | GraphBody | DeletedBody:
        if request.mimetype != FORM:
            raise Problem(
                "unsupported-format",
                f"/kb is told what to do in a form: send action=put, delete or update as {FORM}.",
                accepted=[FORM],
            )
        fields = fields_of(bodies.read(request.environ, settings.body_limit))
        action = fields.get("action")
        if action == "update":
            return updates.do(given(fields, "queryBody"), fields.get("iri") or None)
        iri = named_graph(given(fields, "iri"))
        if action == "put":
            new = guessed(reader, given(fields, "serialization"), fields.get("contentType"), iri)
            return graphs.changed(iri, lambda before: new, anew=True)[0]
        if action == "delete":
            graphs.delete(iri)
            return {"iri": iri, "deleted": True}
        raise Problem("bad-setting", f"There is no action {str(action)[:100]!r}: there are put, delete and update.")

    @blueprint.get("/kb")
    def ask_by_get() -> Response:
        if not request.args.get("query"):
            raise Problem("bad-setting", "There is no query: ask with GET /kb?query= and the percent-encoded SPARQL.")
        return questions.answer(request.args["query"], request.args)

    return blueprint


def guessed(reader: BodyReader, text: str, media_type: str | None, iri: str) -> Chunk:
    """The triples of a text, by its media type or, without one, by the first format that it is."""
    try:
        formats = (format_of_media_type(media_type),) if media_type else GUESSED
    except UnsupportedFormat as error:
        raise Problem("unsupported-format", str(error), accepted=list(error.accepted)) from None
    failure: RdfError | None = None
    for format in formats:
        try:
            return brought(reader, text.encode(), format, iri)
        except RdfError as error:
            # What Turtle says of a text tells most people more than what XML says of it.
            failure = error if failure is None or format is RdfFormat.TURTLE else failure
    assert failure is not None
    raise of_rdf(failure, "Nothing was changed.")


def given(fields: MultiDict[str, str], name: str) -> str:
    if not fields.get(name):
        raise Problem(
            "bad-setting",
            f"The form has no field {name}: it has action and, for put, iri and "
            "serialization; for delete, iri; for update, queryBody.",
        )
    return fields[name]
