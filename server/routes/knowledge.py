"""Knowledge: /kb, as clients of rsp-services know it: background graphs, in other words.

    POST /kb    action=put&iri=<graph>&serialization=<RDF>       the graph is this from now on          200
    POST /kb    action=delete&iri=<graph>                        it is deleted                          200
    POST /kb    action=update&queryBody=<SPARQL Update>          what it says is done                   200
    GET  /kb?query=<SPARQL>                                      the same as GET /sparql

RDF is read as its `contentType` says, or as the first of RDF/XML, Turtle (and so N-Triples) and JSON-LD that it is. An
update changes one graph at a time: that which it names with GRAPH or WITH, or the one of `iri`, which is its default
graph. It is worked out on a copy, in a process of its own that has the time and the memory of a question, and done if
nobody has changed the graph meanwhile; else it is worked out again, a few times. Terms that are there keep their
spelling, and blank nodes their labels. What it adds is spelled as the evaluator does ("01" is 1). Nothing is ever
fetched: LOAD and SERVICE are refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
from flask import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from csparql_spark.answers.forked import Failed, TooLarge, TooSlow, apart
from csparql_spark.answers.limits import Limits, size
from csparql_spark.asking.guarded import Pool
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError, UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat, format_of_media_type, parse_push
from csparql_spark.server.http import bodies
from csparql_spark.server.http.problems import Problem, of_rdf, sentence
from csparql_spark.server.routes.graphs import GraphBody, GraphStore, distinct, named_graph
from csparql_spark.server.routes.sparql import FORM, Questions, fields_of
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores

GUESSED = (RdfFormat.RDF_XML, RdfFormat.TURTLE, RdfFormat.JSON_LD)
MOST_TRIPLES = 200_000  # in all the graphs that an update may look at
MOST_TRIES = 8  # of an update whose graph others change meanwhile
NOWHERE, ANY = ox.DefaultGraph(), ox.NamedNode("urn:x")
XSD_STRING = ox.NamedNode("http://www.w3.org/2001/XMLSchema#string")
# The letters that a keyword which makes the evaluator fetch something begins with, wherever they are.
_FETCHING = re.compile(r"s(?=ervice)|l(?=oad)", re.IGNORECASE)


class GraphChange(NamedTuple):
    graph: str
    removed: list[int]  # places of triples
    added: str  # N-Triples, in which blank nodes of the graph have their labels


class BadUpdate(Exception):
    """An update that cannot be done; the text says why."""


class ChangedBody(TypedDict):
    """What an update has done; `changed` is None if it was nothing."""

    changed: GraphBody | None
    added: int
    removed: int


class DeletedBody(TypedDict):
    iri: str
    deleted: bool


class Updates:
    """Updates of background graphs, each worked out on a copy and done if nobody was faster."""

    def __init__(self, settings: Settings, stores: Stores, graphs: GraphStore) -> None:
        self._limit, self._stores, self._graphs = settings.query_limit, stores, graphs

    def do(self, text: str, iri: str | None) -> ChangedBody:
        """`iri` names the graph that the update means where it names none. Raises `Problem`."""
        if len(text.encode()) > self._limit:
            raise Problem(
                "too-large", f"The update is larger than {self._limit} bytes: send it in parts.", limit=self._limit
            )
        default = None if iri is None else named_graph(iri)
        limits = Limits.from_environment(os.environ)
        for _ in range(MOST_TRIES):
            before = self._before(default)
            there = {name: chunk.to_ntriples() for name, (_, chunk) in before.items() if chunk is not None}
            changes = confined(text, there, default, limits)
            if not changes:
                return {"changed": None, "added": 0, "removed": 0}
            if len(changes) > 1:
                raise Problem(
                    "bad-update",
                    f"The update changes {len(changes)} graphs, "
                    f"{', '.join(f'<{change.graph}>' for change in changes[:5])}: send one for each of them, "
                    "because changes of several graphs cannot be done at once.",
                )
            (change,) = changes
            id, chunk = before.get(change.graph, (None, None))
            made = self._graphs.set_if(change.graph, id, self._replaced(chunk, change))
            if made is not None:
                return {
                    "changed": self._graphs.described(made),
                    "added": change.added.count("\n"),
                    "removed": len(change.removed),
                }
        raise Problem(
            "bad-update",
            f"The update was worked out {MOST_TRIES} times, and each time somebody else had changed the graph "
            "meanwhile: nothing was changed; send it again.",
            status=409,
        )

    def _before(self, default: str | None) -> dict[str, tuple[int | None, Chunk | None]]:
        """All background graphs, each with the place of the entry that set it."""
        before = {name: self._graphs.current(name) for name in self._graphs.names()}
        if default is not None:
            before.setdefault(default, (None, None))
        size = sum(len(chunk) for _, chunk in before.values() if chunk is not None)
        if size > MOST_TRIPLES:
            raise Problem(
                "too-large",
                f"The background has {size} triples, and updates look at {MOST_TRIPLES} at "
                "most: PUT or POST the graph to /graphs instead.",
                limit=MOST_TRIPLES,
            )
        return before

    def _replaced(self, chunk: Chunk | None, change: GraphChange) -> Chunk:
        rest = Chunk.empty() if chunk is None else chunk.take(np.delete(np.arange(len(chunk)), change.removed))
        new = parse_push(
            change.added.encode(), RdfFormat.N_TRIPLES, base=None, blank_prefix=self._stores.blank_prefix()
        )
        return distinct(Chunk.concat([rest, labelled(new, change.added, blank_nodes(chunk))]))


def blank_nodes(chunk: Chunk | None) -> set[str]:
    return set() if chunk is None else {term for term in chunk.terms.to_pylist() if term.startswith("_:")}


def labelled(new: Chunk, lines: str, known: set[str]) -> Chunk:
    """The triples of these lines, in which the blank nodes that are known keep the labels that they have there."""
    terms = new.terms.to_pylist()
    for line, s, o in zip(lines.split("\n"), new.s.tolist(), new.o.tolist(), strict=False):
        subject, _, object = line.removesuffix(" .").split(" ", 2)
        for place, written_ in ((s, subject), (o, object)):
            if written_ in known:
                terms[place] = written_
    return Chunk.from_columns(pa.array(terms, pa.string()), new.s, new.p, new.o)


def confined(text: str, graphs: dict[str, bytes], default: str | None, limits: Limits) -> list[GraphChange]:
    """What an update changes, worked out where it can be ended. Raises `Problem`."""

    def work() -> bytes:
        try:
            return json.dumps([None, worked_out(text, graphs, default)]).encode()
        except BadUpdate as error:
            return json.dumps([str(error), []]).encode()

    try:
        why, changes = json.loads(apart(work, seconds=limits.seconds, room=limits.bytes))
    except TooSlow:
        raise Problem(
            "too-many-rows",
            f"The update takes longer than {limits.seconds:g} s of processor time, which is the limit: connect all "
            "parts of its WHERE by variables, or send it in parts. Nothing was changed.",
        ) from None
    except TooLarge:
        raise Problem(
            "too-many-rows",
            f"The update needs more memory than the {size(limits.bytes)} that a question may have: let it make less, "
            "or send it in parts. Nothing was changed.",
        ) from None
    except Failed as error:
        raise Problem("bad-update", f"The update cannot be done: {sentence(str(error))}") from None
    if why is not None:
        raise Problem("bad-update", why)
    return [GraphChange(*change) for change in changes]


def routes(settings: Settings, stores: Stores, pool: Pool) -> Blueprint:
    blueprint = Blueprint("knowledge", __name__)
    graphs = GraphStore(settings, stores)
    updates, questions = Updates(settings, stores, graphs), Questions(stores, pool)

    @blueprint.post("/kb")
    def change() -> ChangedBody | GraphBody | DeletedBody:
        if request.mimetype != FORM:
            raise Problem(
                "unsupported-format",
                f"/kb is told what to do in a form: send action=put, delete or update as {FORM}.",
                accepted=[FORM],
            )
        fields = fields_of(bodies.utf8(bodies.read(request.environ, settings.body_limit), "The form"))
        action = fields.get("action")
        if action == "update":
            return updates.do(given(fields, "queryBody"), fields.get("iri") or None)
        iri = named_graph(given(fields, "iri"))
        if action == "put":
            new = brought(given(fields, "serialization"), fields.get("contentType"), iri, stores.blank_prefix)
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


def brought(text: str, media_type: str | None, iri: str, blank_prefix: Callable[[], str]) -> Chunk:
    """The triples of a text, by its media type or, without one, by the first format that it is."""
    try:
        formats = (format_of_media_type(media_type),) if media_type else GUESSED
    except UnsupportedFormat as error:
        raise Problem("unsupported-format", str(error), accepted=list(error.accepted)) from None
    failure: RdfError | None = None
    for format in formats:
        try:
            return distinct(parse_push(text.encode(), format, base=iri, blank_prefix=blank_prefix()))
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


def harmless(text: str) -> str:
    """The update with an escape for a letter of each SERVICE and LOAD. In an IRI or a string the escape is the letter;
    a keyword with an escape in it is none. So nobody has to know where in a text strings and comments begin and end."""
    return _FETCHING.sub(lambda match: f"\\u{ord(match[0]):04X}", text)


def worked_out(text: str, graphs: dict[str, bytes], default: str | None) -> list[GraphChange]:
    """What an update changes, graph by graph, each given as N-Triples; in `default` is what it says of no graph. Raises
    `BadUpdate`."""
    store = ox.Store()
    # The store spells some literals in its own way: what it has is compared with what it had, not with what we have.
    places: dict[str, dict[ox.Triple, list[int]]] = {}
    for name, lines in graphs.items():
        place = NOWHERE if name == default else ox.NamedNode(name)
        store.bulk_extend(
            ox.Quad(quad.subject, quad.predicate, quad.object, place)
            for quad in ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)
        )
        places[name] = originals(lines)
    before = set(store)
    try:
        store.update(harmless(text), base_iri=default)
    except (SyntaxError, ValueError, OSError) as error:
        hint = (
            (
                " SERVICE and LOAD are not followed here: nothing is ever fetched; and a prefixed name with these "
                "letters has to be written as an IRI."
            )
            if _FETCHING.search(text)
            else ""
        )
        raise BadUpdate(f"The update cannot be done: {sentence(str(error))}{hint}") from None
    after = set(store)
    if default is None and any(quad.graph_name == NOWHERE for quad in after):
        raise BadUpdate(
            "The update says something of no graph, and this server has no default graph: "
            "write GRAPH <…> { … } or WITH <…>, or send the graph's IRI as iri."
        )
    changes: dict[str, tuple[list[int], list[ox.Triple]]] = {}
    for quad in before ^ after:
        if not isinstance(quad.graph_name, ox.NamedNode | ox.DefaultGraph):
            raise BadUpdate("The update makes a graph without an IRI: name it.")
        name = quad.graph_name.value if isinstance(quad.graph_name, ox.NamedNode) else default or ""
        removed, added = changes.setdefault(name, ([], []))
        if quad in after:
            added.append(quad.triple)
        else:
            removed.extend(places[name][quad.triple])
    return [GraphChange(name, sorted(removed), written(added)) for name, (removed, added) in sorted(changes.items())]


def originals(lines: bytes) -> dict[ox.Triple, list[int]]:
    """The places of a graph's triples by what the store makes of them."""
    found: dict[ox.Triple, list[int]] = {}
    known: dict[ox.Literal, ox.Literal] = {}
    for place, quad in enumerate(ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)):
        object = quad.object
        if isinstance(object, ox.Literal) and object.language is None and object.datatype != XSD_STRING:
            if object not in known:
                known[object] = as_stored(object)
            object = known[object]
        found.setdefault(ox.Triple(quad.subject, quad.predicate, object), []).append(place)
    return found


def as_stored(literal: ox.Literal) -> ox.Literal:
    """The literal as the store spells it."""
    store = ox.Store()
    store.add(ox.Quad(ANY, ANY, literal, NOWHERE))
    (quad,) = store
    return quad.object


def written(triples: list[ox.Triple]) -> str:
    return (ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"").decode() if triples else ""
