"""The lines of a body of N-Triples or N-Quads, as columns of ids: quickly where they are canonical beyond doubt.

    read = columns(b'<urn:a> <urn:p> "x" .\\n', named=False)
    read.s, read.o, read.terms.data.tobytes(), read.terms.offsets     # [0], [2], b'<urn:a><urn:p>"x"', [0, 7, 14, 17]
    columns(b"<urn:a> <p> 1 .", named=False)                          # None

`None` says nothing about the body: only that it has to be read by somebody who knows all of the syntax. That is the
twin's answer to every body. What is read here is what a parser would take, and a serializer write as it was: single
spaces, absolute IRIs of usual characters, no escapes but the short ones of literals, no comments.

Ids are given in order of first appearance in subjects, predicates and objects; graph names have ids of their own, -1
where a line has none. Memory is linear in the body. Whoever sends a body cannot make it slow: see `terms.h`.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.lines import columns
else:
    from csparql_spark.kernel.twin.lines import columns

__all__ = ["columns"]
