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

from collections.abc import Callable
from xml.parsers import expat

import pyarrow.compute as pc
import pyoxigraph as ox
from flask import Blueprint, Response, request

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError, UnsupportedFormat
from csparql_spark.rdf.formats import RdfFormat, format_of_media_type, parse_push
from csparql_spark.rdf.terms import valid_iri
from csparql_spark.relations.rows import Triples
from csparql_spark.store import Draft, Refused
from csparql_spark.store.registry import Setting, every, is_set, unchanged

from csparql_spark.server import bodies
from csparql_spark.server.backend import Backend
from csparql_spark.server.names import LONGEST_IRI
from csparql_spark.server.problems import Problem, of_rdf
from csparql_spark.server.readers import InUse, graphs_of, unread

KIND = "background"
OFFERED = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "jsonld": RdfFormat.JSON_LD, "rdf": RdfFormat.RDF_XML,
           "trig": RdfFormat.TRIG, "nq": RdfFormat.N_QUADS}
NAMING = (RdfFormat.N_QUADS, RdfFormat.TRIG, RdfFormat.JSON_LD)       # formats in which a body can name graphs
HOW_TO = "name one as /graphs?graph= with its percent-encoded IRI"

Change = Callable[[Chunk | None], Chunk]


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("graphs", __name__)
    names, registry, log, writer = backend.names, backend.registry, backend.log, backend.writer

    def described(graph: Setting) -> dict[str, object]:
        return {"iri": graph.name, "url": names.graph_url(graph.name), "triples": graph.rows, "changed": graph.changed}

    def unknown(iri: str) -> Problem:
        return Problem("unknown-graph", f"There is no background graph <{iri}>: create it with PUT "
                       f"{names.graph_url(iri)}.", graph=iri)

    def current(iri: str) -> tuple[int | None, Chunk | None]:
        """The place of the entry that set the graph, and its triples; nothing, if there is no such graph."""
        entry = log.last(iri, KIND, log.tail())
        return (None, None) if entry is None or entry.payload is None else (entry.seq, Chunk.from_ipc(entry.payload))

    def changed(iri: str, change: Change) -> tuple[dict[str, object], int, dict[str, str]]:
        """Make the graph what `change` makes of it; again, if somebody else was faster."""
        headers = {"Location": names.graph_url(iri)}
        while True:
            id, before = current(iri)
            now = change(before)
            if before is not None and union(before, now) == len(before) == len(now):
                graph = registry.setting(KIND, iri)
                if graph is None:
                    continue        # it has just been deleted
                return described(graph), 200, headers
            payload = now.to_ipc()
            if len(payload) > backend.settings.graph_limit:
                raise Problem("too-large", f"The graph <{iri}> would have {len(payload)} bytes, and this server keeps "
                              f"at most {backend.settings.graph_limit} of one graph: divide it into several graphs.",
                              limit=backend.settings.graph_limit)
            try:
                entry = writer.append(Draft(KIND, iri, payload, rows=len(now)), unchanged(KIND, iri, id, Refused()))
            except Refused:
                continue
            made = Setting(entry.seq, KIND, iri, entry.at, len(now))
            return described(made), 201 if id is None else 200, headers

    def brought(iri: str) -> Chunk:
        """The triples in the request."""
        try:
            format = format_of_media_type(request.headers.get("Content-Type"))
        except UnsupportedFormat as error:
            raise Problem("unsupported-format", str(error), accepted=list(error.accepted)) from None
        body = bodies.read(request.environ, backend.settings.body_limit)
        bodies.utf8(body, "The data")
        try:
            chunk = parse_push(body, format, base=iri, blank_prefix=backend.blank_prefix())
        except RdfError as error:
            raise of_rdf(error, "Nothing was changed.") from None
        refuse_names(body, format, iri)
        return distinct(chunk)

    @blueprint.get("/graphs")
    def read_graphs() -> dict[str, object] | Response:
        if not request.args:
            return {"graphs": [described(graph) for graph in registry.settings(KIND)]}
        iri = asked_graph("format")
        _, chunk = current(iri)
        if chunk is None:
            raise unknown(iri)
        format = asked_format()
        charset = "; charset=utf-8" if format.media_type.startswith("text/") else ""
        return Response(written(chunk, format), headers={"Vary": "Accept", "Cache-Control": "no-store"},
                        content_type=format.media_type + charset)

    @blueprint.put("/graphs")
    def put_graph() -> tuple[dict[str, object], int, dict[str, str]]:
        iri = asked_graph()
        new = brought(iri)
        return changed(iri, lambda before: new)

    @blueprint.post("/graphs")
    def post_graph() -> tuple[dict[str, object], int, dict[str, str]]:
        iri = asked_graph()
        new = brought(iri)
        return changed(iri, lambda before: new if before is None else distinct(Chunk.concat([before, new])))

    @blueprint.delete("/graphs")
    def delete_graph() -> tuple[str, int]:
        iri = asked_graph()
        try:
            writer.append(Draft(KIND, iri), every(is_set(KIND, iri, Refused()),
                                                  unread(lambda asked: iri in graphs_of(asked))))
        except InUse as readers:
            raise Problem("graph-in-use", f"The graph <{iri}> is read by {readers}.", graph=iri,
                          queries=readers.queries) from None
        except Refused:
            raise unknown(iri) from None
        return "", 204

    return blueprint


def asked_graph(*others: str) -> str:
    """The graph that the URL names."""
    if "default" in request.args:
        raise Problem("bad-graph", "This server has no default graph, because a query says itself what it reads: "
                      f"{HOW_TO}.")
    strange = sorted(request.args.keys() - {"graph", *others})
    if strange:
        raise Problem("bad-setting", f"A graph has no setting {strange[0][:100]!r}: {HOW_TO}.")
    iris = request.args.getlist("graph")
    if len(iris) != 1:
        raise Problem("bad-graph", f"The URL names {len(iris) or 'no'} graph{'s' if len(iris) > 1 else ''}: {HOW_TO}.")
    (iri,) = iris
    if ":" not in iri or len(iri) > LONGEST_IRI or not valid_iri(iri):
        raise Problem("bad-graph", f"{iri[:200]!r} cannot name a graph: write a percent-encoded absolute IRI of at "
                      f"most {LONGEST_IRI} characters, without angle brackets.")
    return iri


def refuse_names(body: bytes, format: RdfFormat, iri: str) -> None:
    """Raises `Problem` if the body, which parses, names graphs: to merge them into one is not what anybody means."""
    if format not in NAMING or not body.strip():
        return
    try:
        # Whatever is in a named graph is nothing that N-Triples can say.
        ox.serialize(ox.parse(body.removeprefix(b"\xef\xbb\xbf"), format=format.oxigraph, base_iri=iri),
                     format=ox.RdfFormat.N_TRIPLES)
    except ValueError:
        raise Problem("bad-graph", "The body names graphs, and the URL names the one that it is for: send the triples "
                      "of that graph, without its name. Nothing was changed.") from None


def distinct(chunk: Chunk) -> Chunk:
    """The set of the triples of a chunk, without stamps."""
    triples = Triples.of(*(ids.astype("int64") for ids in (chunk.s, chunk.p, chunk.o)))
    return Chunk.from_columns(chunk.terms, triples.s, triples.p, triples.o)


def union(one: Chunk, other: Chunk) -> int:
    """How many triples two sets have together."""
    return len(distinct(Chunk.concat([one, other])))


def asked_format() -> RdfFormat:
    short = request.args.get("format")
    accepted = [format.media_type for format in OFFERED.values()]
    if short is not None:
        found = OFFERED.get(short)
        wish = f"The format {short[:100]!r} is none of them"
    else:
        accept = request.headers.get("Accept", "").strip() or "*/*"
        best = request.accept_mimetypes.best_match(accepted) if accept != "*/*" else accepted[0]
        found = next((format for format in OFFERED.values() if format.media_type == best), None)
        wish = f"None of them is in {accept[:200]!r}"
    if found is None:
        raise Problem("not-acceptable", f"{wish}: a graph can be had as {', '.join(accepted)} by Accept, or with "
                      f"?format= and one of {', '.join(OFFERED)}.", accepted=accepted, formats=list(OFFERED))
    return found


def written(chunk: Chunk, format: RdfFormat) -> bytes:
    """The triples in a format. N-Quads and TriG have them in the default graph, as bodies must."""
    if format in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS):
        return chunk.to_ntriples()
    if format is RdfFormat.RDF_XML:
        # In XML a label must be a name, which begins with a letter.
        labelled = pc.replace_substring_regex(chunk.terms, "^_:", "_:b")
        chunk = Chunk(labelled, chunk.s, chunk.p, chunk.o, chunk.t)
    text = ox.serialize(ox.parse(chunk.to_ntriples(), format=ox.RdfFormat.N_TRIPLES), format=format.oxigraph)
    if format is RdfFormat.RDF_XML:
        try:
            expat.ParserCreate(namespace_separator=" ").Parse(text, True)
        except expat.ExpatError:
            raise Problem("not-acceptable", "The graph has a predicate or a character that XML has no way to write: "
                          "ask for Turtle or N-Triples.") from None
    return text
