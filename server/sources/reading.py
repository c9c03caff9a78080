"""Reading: what came becomes triples, here or in a child that may be killed.

    reader = BodyReader(stores, pool)
    reader.push(body, PushFormat.NDJSON, iri)           # and what was left out. Raises RdfError, Problem, Crowded
    reader.graph(body, RdfFormat.TURTLE, iri)           # the chunk of a graph, which is a set

A small body of which it is sure that it can do no harm (see `rdf.hazards`) is read where it came in, which costs
nothing. Others go to a child as they are, and come back as a chunk: at first with the time that a body of that size and
format needs usually, and, should that not do, once more with the time and the memory of a question. So who is slow
keeps nobody waiting but others who are, and one client, or stream, no other beyond its share of the time.
That child has met what users send: what it says is looked at before it is believed (`work.chunk_in`). A push of which
nothing is left, because nothing maps its keys (see `rdf.unmapped`), is none.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.asking.guarded import Pool, work
from csparql_spark.asking.guarded.pool import BODY, Place
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError
from csparql_spark.rdf.formats import RdfFormat, parse_graph
from csparql_spark.rdf.hazards import hazardous, usual_needs
from csparql_spark.rdf.pushes import AnyFormat, Pushed, read_pushed
from csparql_spark.rdf.unmapped import mended, told
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.stores import Stores


class BodyReader:
    def __init__(self, stores: Stores, pool: Pool) -> None:
        self._stores, self._pool = stores, pool

    def push(self, body: bytes, format: AnyFormat, iri: str) -> Pushed:
        """What a push says, whose relative IRIs start from that of its stream."""
        prefix = self._stores.blank_prefix()
        if hazardous(body, format):
            reply = self._guarded(work.pushed, body, format, iri, prefix, "send it in parts, or as N-Quads")
            found = work.pushed_in(reply)
        else:
            found = read_pushed(body, format, base=iri, blank_prefix=prefix)
        if found.unmapped and not len(found.chunk):
            shown = mended(body)
            more = f" With one it would be: {shown}" if shown else ""
            raise RdfError(f"Nothing is left of the body: {told(found.unmapped)}{more}")
        return found

    def graph(self, body: bytes, format: RdfFormat, iri: str) -> Chunk:
        """The triples of a graph, of which some may be there twice."""
        prefix = self._stores.blank_prefix()
        if hazardous(body, format):
            advice = "send it as N-Triples, in parts: the first with PUT, the others with POST"
            return work.chunk_in(self._guarded(work.brought, body, format, iri, prefix, advice))
        return parse_graph(body, format, base=iri, blank_prefix=prefix)

    def _guarded(
        self, function: Callable[..., bytes], body: bytes, format: AnyFormat, iri: str, prefix: str, advice: str
    ) -> bytes | bytearray:
        limits = Limits.from_environment(os.environ)
        needs = usual_needs(len(body), format)

        def read(place: Place) -> bytes | bytearray:
            return place.run(limits, function, work.SentBody(body), format, iri, prefix)

        try:
            return self._pool.attempt(BODY, read, sent=needs.memory, seconds=needs.seconds, part=iri)
        except TooMuch as error:
            raise Problem("too-much", f"The data cannot be read: {error}; {advice}. Nothing of it was kept.") from error
