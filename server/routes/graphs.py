"""Graphs: what is known besides the streams. Queries read them with FROM <iri> and FROM NAMED <iri>.

    GET    /graphs                     which there are
    PUT    /graphs?graph=<iri>         RDF: the graph is this from now on           201; 200 if there was one
    POST   /graphs?graph=<iri>         RDF: the graph has this, too                 201; 200 if there was one
    GET    /graphs?graph=<iri>         its triples, in a format by Accept or ?format=
    DELETE /graphs?graph=<iri>         204; 409 while a query reads it

This is the SPARQL 1.1 Graph Store HTTP Protocol, with graphs named in the URL's query; there is no default graph. A
graph is a set of triples: what it has already changes nothing, and an act that changes nothing leaves no entry in the
log. A change is seen at the next instant of the queries that read the graph. Blank nodes belong to the request that
brought them. Bodies name no graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypedDict

from flask import Blueprint, Response, request

from csparql_spark.answers.graph_text import ChunkText
from csparql_spark.disk.damage import Damaged
from csparql_spark.log import Refused
from csparql_spark.log.contents import GraphSet, draft_of
from csparql_spark.log.guards import Every, IsSet, Unchanged, Unread
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import NamesGraphs, RdfError, UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat, format_of_media_type
from csparql_spark.rdf.terms import valid_iri
from csparql_spark.relations.rows import Triples
from csparql_spark.server.dependents import readers
from csparql_spark.server.http import bodies
from csparql_spark.server.http.holdings import Holdings
from csparql_spark.server.http.names import LONGEST_IRI
from csparql_spark.server.http.negotiation import drawn
from csparql_spark.server.http.problems import Problem, of_rdf
from csparql_spark.server.quotas import room, tell_if_full
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.reading import BodyReader
from csparql_spark.server.stores import Stores
from csparql_spark.store.registry import KnowledgeRecord

KIND: Final = "background"
HOW_TO = "name one as /graphs?graph= with its percent-encoded IRI"

ChunkChange = Callable[[Chunk | None], Chunk]


class GraphBody(TypedDict):
    """What there is to say of a background graph."""

    iri: str
    url: str
    triples: int
    changed: int


class GraphStore:
    """The background graphs, as entries of the log make them."""

    def __init__(self, settings: Settings, stores: Stores) -> None:
        self._settings, self._stores = settings, stores

    def names(self) -> list[str]:
        return [graph.name for graph in self._stores.registry.settings(KIND)]

    def described(self, graph: KnowledgeRecord) -> GraphBody:
        return {
            "iri": graph.name,
            "url": self._stores.names.graph_url(graph.name),
            "triples": graph.rows,
            "changed": graph.changed,
        }

    def unknown(self, iri: str) -> Problem:
        return Problem(
            "unknown-graph",
            f"There is no background graph <{iri}>: create it with PUT {self._stores.names.graph_url(iri)}.",
            graph=iri,
        )

    def current(self, iri: str) -> tuple[int | None, Chunk | None]:
        """The place of the entry that set the graph, and its triples; nothing, if there is no such graph."""
        entry = self._stores.log.last(iri, KIND, self._stores.log.tail())
        return (None, None) if entry is None or entry.payload is None else (entry.seq, Chunk.from_ipc(entry.payload))

    def size(self, iri: str) -> int:
        """Bytes of the graph as it is kept; 0 if there is none."""
        graph = self._stores.registry.setting(KIND, iri)
        return 0 if graph is None else self._stores.log.size(graph.id)

    def changed(self, iri: str, change: ChunkChange, *, anew: bool = False) -> tuple[GraphBody, int, dict[str, str]]:
        """Make the graph what `change` makes of it; again, if somebody else was faster. `anew`: whatever it was, and
        be it damaged."""
        headers = {"Location": self._stores.names.graph_url(iri)}
        while True:
            try:
                id, before = self.current(iri)
            except Damaged:
                if not anew:
                    raise
                id, before = self._stores.log.last_as_is(iri, KIND, self._stores.log.tail()).seq, None
            now = change(before)
            if before is not None and union(before, now) == len(before) == len(now):
                graph = self._stores.registry.setting(KIND, iri)
                if graph is None:
                    continue  # it has just been deleted
                return self.described(graph), 200, headers
            made = self.set_if(iri, id, now)
            if made is not None:
                return self.described(made), 201 if id is None else 200, headers

    def set_if(self, iri: str, id: int | None, now: Chunk, others: Iterable[Unchanged] = ()) -> KnowledgeRecord | None:
        """Make the graph this, if it still is what the entry `id` made of it (None: not there), and `others` are what
        they were; None if not."""
        settings, payload = self._settings, now.to_ipc()
        if len(payload) > settings.graph_limit:
            raise Problem(
                "too-large",
                f"The graph <{iri}> would have {len(payload)} bytes, and this server keeps "
                f"at most {settings.graph_limit} of one graph: divide it into several graphs.",
                limit=settings.graph_limit,
            )
        guard = Every((Unchanged(KIND, iri, id), *others, *([room(self._settings, "graphs")] if id is None else [])))
        try:
            entry = self._stores.writer.append(draft_of(GraphSet(payload, len(now)), iri), guard)
        except Refused as refused:
            tell_if_full(refused)
            return None
        return KnowledgeRecord(entry.seq, KIND, iri, entry.at, len(now))

    def delete(self, iri: str, id: int | None = None, others: Iterable[Unchanged] = ()) -> bool:
        """`id`: only if the graph still is what that entry made of it, and `others` are what they were; whether it was
        so."""
        still = [] if id is None else [Unchanged(KIND, iri, id)]
        try:
            self._stores.writer.append(
                draft_of(GraphSet(None), iri), Every((*still, *others, IsSet(KIND, iri), Unread("graphs", (iri,))))
            )
            return True
        except Refused as refused:
            if isinstance(refused.guard, Unchanged):
                return False
            if isinstance(refused.guard, Unread):
                raise Problem(
                    "graph-in-use",
                    f"The graph <{iri}> is read by {readers(refused)}.",
                    graph=iri,
                    queries=list(refused.readers),
                ) from None
            raise self.unknown(iri) from None


def brought(reader: BodyReader, body: bytes, format: RdfFormat, iri: str) -> Chunk:
    """The triples that a body says of a graph, each once. Raises `RdfError`, `Problem`."""
    try:
        return distinct(reader.graph(body, format, iri))
    except NamesGraphs:
        raise Problem(
            "bad-graph",
            "The body names graphs, and the URL names the one that it is for: send the triples "
            "of that graph, without its name. Nothing was changed.",
        ) from None


def routes(settings: Settings, stores: Stores, reader: BodyReader, holdings: Holdings) -> Blueprint:
    blueprint = Blueprint("graphs", __name__)
    graphs = GraphStore(settings, stores)

    def sent(iri: str) -> Chunk:
        """The triples in the request."""
        try:
            format = format_of_media_type(request.headers.get("Content-Type"))
        except UnsupportedFormat as error:
            raise bodies.strange(error, request.headers.get("Content-Type")) from None
        body = bodies.read(request.environ, settings.body_limit)
        bodies.refuse_no_utf8(body, "The data")
        try:
            return brought(reader, body, format, iri)
        except RdfError as error:
            raise of_rdf(error, "Nothing was changed.") from None

    @blueprint.get("/graphs")
    def read_graphs() -> dict[str, list[GraphBody]] | Response:
        if not request.args:
            return {"graphs": [graphs.described(graph) for graph in stores.registry.settings(KIND)]}
        iri = asked_graph("format")
        holding = holdings.take(graphs.size(iri))
        try:
            _, chunk = graphs.current(iri)
            if chunk is None:
                raise graphs.unknown(iri)
            return drawn(ChunkText(chunk), "a graph", holding=holding)
        except BaseException:
            holding.release()
            raise

    @blueprint.put("/graphs")
    def put_graph() -> tuple[GraphBody, int, dict[str, str]]:
        iri = asked_graph()
        new = sent(iri)
        return graphs.changed(iri, lambda before: new, anew=True)

    @blueprint.post("/graphs")
    def post_graph() -> tuple[GraphBody, int, dict[str, str]]:
        iri = asked_graph()
        new = sent(iri)
        return graphs.changed(iri, lambda before: new if before is None else distinct(Chunk.concat([before, new])))

    @blueprint.delete("/graphs")
    def delete_graph() -> tuple[str, int]:
        iri = asked_graph()
        graphs.delete(iri)
        return "", 204

    return blueprint


def asked_graph(*others: str) -> str:
    """The graph that the URL names."""
    if "default" in request.args:
        raise Problem(
            "bad-graph", f"This server has no default graph, because a query says itself what it reads: {HOW_TO}."
        )
    strange = sorted(request.args.keys() - {"graph", *others})
    if strange:
        raise Problem("bad-setting", f"A graph has no setting {strange[0][:100]!r}: {HOW_TO}.")
    iris = request.args.getlist("graph")
    if len(iris) != 1:
        raise Problem("bad-graph", f"The URL names {len(iris) or 'no'} graph{'s' if len(iris) > 1 else ''}: {HOW_TO}.")
    return named_graph(iris[0])


def named_graph(iri: str) -> str:
    if ":" not in iri or len(iri) > LONGEST_IRI or not valid_iri(iri):
        raise Problem(
            "bad-graph",
            f"{iri[:200]!r} cannot name a graph: write a percent-encoded absolute IRI of at "
            f"most {LONGEST_IRI} characters, without angle brackets.",
        )
    return iri


def distinct(chunk: Chunk) -> Chunk:
    """The set of the triples of a chunk, without stamps."""
    triples = Triples.of(*(ids.astype("int64") for ids in (chunk.s, chunk.p, chunk.o)))
    return Chunk.from_columns(chunk.terms, triples.s, triples.p, triples.o)


def union(one: Chunk, other: Chunk) -> int:
    """How many triples two sets have together."""
    return len(distinct(Chunk.concat([one, other])))
