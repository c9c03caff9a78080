"""The naive twin of the parser: pyoxigraph's objects, one quad at a time."""

from __future__ import annotations

import pyoxigraph as ox


def quads(body: bytes, format: ox.RdfFormat, base: str | None = None) -> list[tuple[str, str, str, str | None]]:
    """The quads as term strings; a graph is None where there is none."""
    rows = []
    for quad in ox.parse(body, format=format, base_iri=base):
        graph = None if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)
        rows.append((str(quad.subject), str(quad.predicate), str(quad.object), graph))
    return rows


def push(body: bytes, format: ox.RdfFormat, prefix: str, base: str | None = None) -> list[tuple[str, str, str]]:
    """The triples of a push, blank nodes being numbered as they come up."""
    numbers: dict[str, int] = {}

    def renamed(term: str) -> str:
        return f"_:{prefix}{numbers.setdefault(term, len(numbers))}" if term.startswith("_:") else term

    return [tuple(renamed(term) for term in quad[:3]) for quad in quads(body, format, base)]
