"""Descriptors in RDF: a stream as a VoCaLS stream descriptor with DCAT, and /sparql as a SPARQL service description.

    stream_descriptor(stream, names, ["HotRooms"])      # N-Triples; what `GET /streams/temp` answers as text/turtle
    service_descriptor(names, graphs)                   # what a bare `GET /sparql` answers

VoCaLS tells where a stream can be had: here, where it is pushed into, and where each query over it can be followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from csparql_spark.answers.formats import JSON_LD, N_QUADS, N_TRIPLES, RDF_XML, TRIG, TURTLE
from csparql_spark.rdf.terms import literal
from csparql_spark.server.http.names import ResourceNames
from csparql_spark.store import StreamRecord

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "dct": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "vocals": "http://w3id.org/rsp/vocals#",
    "vsd": "http://w3id.org/rsp/vocals-sd#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "formats": "http://www.w3.org/ns/formats/",
}
MEDIA = "https://www.iana.org/assignments/media-types/"
PUSHED = (N_TRIPLES, N_QUADS, TURTLE, TRIG, JSON_LD, RDF_XML)
RESULT_FORMATS = (
    "SPARQL_Results_JSON",
    "SPARQL_Results_XML",
    "SPARQL_Results_CSV",
    "SPARQL_Results_TSV",
    "Turtle",
    "N-Triples",
    "JSON-LD",
    "RDF_XML",
    "TriG",
    "N-Quads",
)


def stream_descriptor(stream: StreamRecord, names: ResourceNames, queries: Iterable[str]) -> bytes:
    """The descriptor of a stream; `queries` are the names of those that read it."""
    title = "POST elements here" if stream.producer is None else "made by a query"
    url, iri = f"<{names.stream_url(stream.iri)}>", f"<{stream.iri}>"
    if url == iri:
        url = f"<{stream.iri}#descriptor>"  # what describes, and what is described, are two
    lines = [
        _line(url, "rdf:type", _name("vocals:StreamDescriptor")),
        _line(url, "rdf:type", _name("dcat:Catalog")),
        _line(url, "dcat:dataset", iri),
        _line(iri, "rdf:type", _name("vocals:RDFStream")),
        _line(iri, "rdf:type", _name("dcat:Dataset")),
        _line(iri, "dct:title", literal(names.stream_name(stream.iri))),
        _line(iri, "dct:issued", _time(stream.created)),
        _line(iri, "vocals:hasEndpoint", "_:push"),
        _line(iri, "dcat:distribution", "_:push"),
        _line("_:push", "rdf:type", _name("vocals:StreamEndpoint")),
        _line("_:push", "rdf:type", _name("dcat:Distribution")),
        _line("_:push", "dct:title", literal(title)),
        _line("_:push", "dcat:accessURL", f"<{names.stream_url(stream.iri)}>"),
        *(_line("_:push", "dcat:mediaType", f"<{MEDIA}{media}>") for media in PUSHED),
    ]
    for number, query in enumerate(queries):
        node = f"_:query{number}"
        lines += [
            _line(iri, "vocals:hasEndpoint", node),
            _line(node, "rdf:type", _name("vocals:StreamEndpoint")),
            _line(node, "dct:title", literal(f"answers of {query}")),
            _line(node, "dcat:accessURL", f"<{names.query_url(query)}/answers>"),
            _line(node, "dcat:mediaType", f"<{MEDIA}text/event-stream>"),
        ]
    return "".join(lines).encode()


def service_descriptor(names: ResourceNames, graphs: Iterable[str]) -> bytes:
    """The description of /sparql, with the background graphs that can be asked."""
    service = f"<{names.base}/sparql>"
    lines = [
        _line(service, "rdf:type", _name("sd:Service")),
        _line(service, "sd:endpoint", service),
        _line(service, "sd:supportedLanguage", _name("sd:SPARQL11Query")),
        _line(service, "sd:feature", _name("sd:UnionDefaultGraph")),
        *(_line(service, "sd:resultFormat", _name(f"formats:{name}")) for name in RESULT_FORMATS),
        _line(service, "sd:defaultDataset", "_:all"),
        _line("_:all", "rdf:type", _name("sd:Dataset")),
        _line("_:all", "sd:defaultGraph", "_:union"),
        _line("_:union", "rdf:type", _name("sd:Graph")),
    ]
    for number, graph in enumerate(graphs):
        node = f"_:graph{number}"
        lines += [
            _line("_:all", "sd:namedGraph", node),
            _line(node, "rdf:type", _name("sd:NamedGraph")),
            _line(node, "sd:name", f"<{graph}>"),
        ]
    return "".join(lines).encode()


def _line(subject: str, predicate: str, object: str) -> str:
    return f"{subject} {_name(predicate)} {object} .\n"


def _name(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"<{PREFIXES[prefix]}{local}>"


def _time(at: int) -> str:
    text = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f'"{text}"^^<{PREFIXES["xsd"]}dateTime>'
