"""Media types: what answers and graphs can be written as.

JSON, CSV, TURTLE             # "application/sparql-results+json", "text/csv", "text/turtle"
raise Unwritable("…")         # an answer that a format has no way to express; the text says what to ask for instead
"""

from __future__ import annotations

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv", "text/tab-separated-values"
ND_JSON = "application/x-ndjson"
N_TRIPLES, TURTLE, JSON_LD = "application/n-triples", "text/turtle", "application/ld+json"
N_QUADS, TRIG, RDF_XML = "application/n-quads", "application/trig", "application/rdf+xml"
PLAIN_JSON = "application/json"  # what a browser shows; it saves the others as files


class Unwritable(ValueError):
    """An answer that a format has no way to express."""
