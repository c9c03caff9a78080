"""The vocabulary: the words that somebody who writes a query may want, for completion.

    GET /vocabulary     {"prefixes": {"s": "http://example.org/sensors#"}, "streams": […], "graphs": […], "rules": […],
                         "properties": [{"iri": "http://example.org/sensors#celsius", "count": 1200}], "classes": […],
                         "keywords": ["AGGREGATE", …]}

Properties and classes are those that were seen: in the newest chunks of the streams and in the background graphs, most
frequent first, within bounds. What is seen changes slowly and the scan costs something, so it is kept for some seconds.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from flask import Blueprint

from csparql_spark.entailment.rules.sets import NAMES
from csparql_spark.language.queries.grammar import KEYWORDS
from csparql_spark.language.queries.prologue import USUAL
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.stores import Stores

FRESH_SECONDS = 5.0
MOST_WORDS = 500
MOST_PREFIXES = 500
PROLOGUE = 8192  # characters of a query's text in which prefixes are looked for
LONGEST_WORD = 2000
MOST_BYTES = 64 << 20  # of entries that are looked at in one scan
NEWEST_ENTRIES = 400  # of the log, whatever they are
MOST_TRIPLES = 200_000  # that are looked at in one scan
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_DECLARED = re.compile(r"\bPREFIX\s+([\w.-]*):\s*<([^<>\"{}|^`\\\s]*)>", re.IGNORECASE)


class WordBody(TypedDict):
    iri: str
    count: int


class WordsBody(TypedDict):
    """What was seen, most frequent first."""

    properties: list[WordBody]
    classes: list[WordBody]


class VocabularyBody(WordsBody):
    prefixes: dict[str, str]
    streams: list[str]
    graphs: list[str]
    rules: list[str]
    keywords: list[str]


def routes(stores: Stores) -> Blueprint:
    blueprint = Blueprint("vocabulary", __name__)
    lock = threading.Lock()
    words: tuple[float, WordsBody] = (-FRESH_SECONDS, {"properties": [], "classes": []})

    def recent() -> WordsBody:
        nonlocal words
        with lock:
            if time.monotonic() - words[0] >= FRESH_SECONDS:
                words = time.monotonic(), words_now(stores)
            return words[1]

    @blueprint.get("/vocabulary")
    def vocabulary() -> VocabularyBody:
        registry = stores.registry
        return {
            "prefixes": prefixes_of(stores),
            "streams": [stream.iri for stream in registry.streams()],
            "graphs": [graph.name for graph in registry.settings("background")],
            "rules": [*NAMES, *(rules.name for rules in registry.settings("rules"))],
            **recent(),
            "keywords": sorted(KEYWORDS),
        }

    return blueprint


def prefixes_of(stores: Stores) -> dict[str, str]:
    """The usual prefixes, and what registered queries declare: of two IRIs under one prefix the newest."""
    prefixes = dict(USUAL)
    for query in stores.registry.queries()[-MOST_PREFIXES:]:
        prefixes.update((name, iri) for name, iri in _DECLARED.findall(query.text[:PROLOGUE]) if ":" in iri)
    return dict(list(prefixes.items())[-MOST_PREFIXES:])


def words_now(stores: Stores) -> WordsBody:
    """The properties and classes in what there is now, with how many triples have them."""
    properties: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    left = MOST_TRIPLES
    for chunk in chunks_of(stores):
        properties.update(counted(chunk, chunk.p))
        typed = chunk.p == chunk.terms.index(TYPE).as_py()
        classes.update(counted(chunk, chunk.o[typed]))
        left -= len(chunk)
        if left <= 0:
            break
    return {"properties": most(properties), "classes": most(classes)}


def chunks_of(stores: Stores) -> Iterator[Chunk]:
    """The background graphs that are small enough to be looked at, and the newest chunks, newest first."""
    log, tail, left = stores.log, stores.log.tail(), MOST_BYTES
    for graph in stores.registry.settings("background"):
        if graph.rows > MOST_TRIPLES or (size := log.size(graph.id)) > left:
            continue
        left -= size
        entry = log.last_as_is(graph.name, "background", tail)
        if entry is not None and entry.payload is not None:
            yield Chunk.from_ipc(entry.payload)
    outline = log.outline(max(0, tail - NEWEST_ENTRIES), NEWEST_ENTRIES)
    for chunk in reversed([entry for entry in outline if entry.kind == "chunk" and entry.rows <= MOST_TRIPLES]):
        if (size := log.size(chunk.seq)) > left:
            continue
        left -= size
        for entry in log.read(chunk.seq - 1, chunk.seq):
            if entry.payload is not None:
                yield Chunk.from_ipc(entry.payload)


def counted(chunk: Chunk, ids: np.ndarray) -> dict[str, int]:
    """How often each IRI among the terms with these ids occurs."""
    counts = np.bincount(ids, minlength=len(chunk.terms))
    used = np.flatnonzero(counts)
    used = used[pc.binary_length(chunk.terms.take(pa.array(used))).to_numpy() <= LONGEST_WORD]
    terms = chunk.terms.take(used).to_pylist()
    return {term[1:-1]: int(count) for term, count in zip(terms, counts[used].tolist()) if term.startswith("<")}


def most(counter: Counter[str]) -> list[WordBody]:
    return [{"iri": iri, "count": count} for iri, count in counter.most_common(MOST_WORDS)]
