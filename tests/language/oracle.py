"""Another reader of SPARQL 1.1: rdflib's parser and algebra, to compare ours with.

    algebra_of("SELECT ?s { ?s ?p 01 }").algebra.p.p.triples         terms keep the lexical forms of the text

It recurses, once per bracket and once per triple pattern, and runs with room for `DEEPEST` frames.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import rdflib
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import Query as QueryRule
from rdflib.plugins.sparql.sparql import Query

DEEPEST = 12_000

# A term is what the text says: "01" is not "1". rdflib decides this for the whole process.
rdflib.NORMALIZE_LITERALS = False


def algebra_of(body: str) -> Query:
    """The algebra of a body; raises whatever rdflib raises."""
    with _room():
        # Not parseQuery: it expands \\u sequences, also where a string has an escaped backslash before a "u".
        return translateQuery(QueryRule.parse_string(body, parse_all=True))


@contextmanager
def _room() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
