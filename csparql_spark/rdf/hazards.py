"""Hazards: which bodies may take long to read, or need much more memory than they have, and which cannot.

What cannot is read where it comes in; the rest is read by a child that may be killed (see `asking.guarded`).

    hazardous(b"<urn:a> <urn:p> 1 .", RdfFormat.TURTLE)            # False
    hazardous(b'{"@context": …, "@graph": [{"@context": …', RdfFormat.JSON_LD)        # True
    usual_needs(10_000_000, RdfFormat.TURTLE)                    # UsualNeeds(seconds=3.1, memory=300_000_000)

The parsers do not recurse, or are given nothing that nests deeply (see `bounds`). What is left grows with the body: in
N-Triples, N-Quads and plain Arrow by a factor; in Turtle and TriG a prefix stands for as much as the rest of the body,
and a bracket takes 50 bytes; RDF/XML compares each attribute of an element with the others; JSON-LD reads a context
that is scoped to a type or to a property once for each node. So each format has a size up to which its worst is a
fraction of a second and some 40 MB, and whether it may be JSON-LD's worst is told by looking for a few words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from csparql_spark.rdf.arrow import expanded
from csparql_spark.rdf.formats import RdfFormat
from csparql_spark.rdf.pushes import AnyFormat, PushFormat

LARGEST: dict[AnyFormat, int] = {
    RdfFormat.N_TRIPLES: 4 << 20,
    RdfFormat.N_QUADS: 4 << 20,
    PushFormat.ARROW: 8 << 20,
    PushFormat.NDJSON: 1 << 20,
    RdfFormat.TURTLE: 256 << 10,
    RdfFormat.TRIG: 256 << 10,
    RdfFormat.RDF_XML: 64 << 10,
    RdfFormat.JSON_LD: 64 << 10,
}
# What bodies as people send them need at most of the processor, in seconds for a megabyte on a slow machine, and how
# many times their size of memory.
_USUAL: dict[AnyFormat, tuple[float, int]] = {
    RdfFormat.N_TRIPLES: (0.15, 9),
    RdfFormat.N_QUADS: (0.15, 9),
    PushFormat.ARROW: (0.15, 9),
    PushFormat.NDJSON: (0.4, 14),
    RdfFormat.TURTLE: (0.3, 21),
    RdfFormat.TRIG: (0.3, 21),
    RdfFormat.RDF_XML: (0.5, 40),
    RdfFormat.JSON_LD: (0.5, 40),
}
_AT_LEAST = 0.25, 32 << 20  # and so much of each for any
MOST_CONTEXTS = 4 << 10  # bytes of JSON-LD that may have contexts in contexts
_CONTEXT = b"@context"
_HIDDEN = re.compile(rb"\\u00[4-7]")  # an escape for a letter, which nobody needs
_TRIPLE = b'{"s":'


class UsualNeeds(NamedTuple):
    """Seconds of the processor, and bytes."""

    seconds: float
    memory: int


def usual_needs(size: int, format: AnyFormat) -> UsualNeeds:
    """What reading a body of so many bytes needs, if it is none that was made to be hard to read."""
    seconds, factor = _USUAL[format]
    return UsualNeeds(_AT_LEAST[0] + seconds * size / 1e6, _AT_LEAST[1] + factor * size)


def hazardous(body: bytes, format: AnyFormat) -> bool:
    """Whether the body may be more than can be read in the way of others."""
    if len(body) > LARGEST[format]:
        return True
    if format is PushFormat.ARROW:
        return expanded(body) > LARGEST[format]
    if format is RdfFormat.JSON_LD:
        return _scoped(body)
    if format is PushFormat.NDJSON:
        triples = body.count(b"\n" + _TRIPLE) + body.startswith(_TRIPLE)
        if triples >= body.count(b"\n"):  # the line that is begun after the last feed is one of JSON-LD, at most
            return _scoped(body[body.rfind(b"\n") + 1 :])
        return len(body) > LARGEST[RdfFormat.JSON_LD] or any(map(_scoped, body.split(b"\n")))
    return False


def _scoped(body: bytes) -> bool:
    """Whether JSON-LD may have contexts in contexts, and so much of it that this matters."""
    return len(body) > MOST_CONTEXTS and (body.count(_CONTEXT) > 1 or _HIDDEN.search(body) is not None)
