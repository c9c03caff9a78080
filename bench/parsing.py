"""Parsing: pushes into chunks, beside a loop over the same triples in Python; and the text of a query."""

from __future__ import annotations

import time

import pyoxigraph

from bench.latency import QUERY, body
from csparql_spark.language import parse
from csparql_spark.rdf.formats import format_of_media_type, parse_push


def measure(triples: int) -> dict[str, float]:
    """Triples a second, and ms for a query."""
    text = body(triples, 0)
    format = format_of_media_type("application/n-triples")
    count = len(parse_push(text, format, base=None, blank_prefix="b"))
    chunks = _seconds(lambda: parse_push(text, format, base=None, blank_prefix="b"))
    loop = _seconds(
        lambda: [
            (str(t.subject), str(t.predicate), str(t.object))
            for t in pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES)
        ]
    )
    query = QUERY.format(stream="urn:stream")
    return {
        "chunks_per_s": count / chunks,
        "loop_per_s": count / loop,
        "query_ms": 1000 * _seconds(lambda: parse(query), 20),
    }


def _seconds(work: object, times: int = 5) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best
