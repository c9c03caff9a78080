"""Spelling: an answer in the format that a client asks for, by Accept or by ?format=.

    spelled(answer, extra={"query": "HotRooms", "at": 17000}, headers={"X-CSPARQL-Instant": "17000"})
"""

from __future__ import annotations

from collections.abc import Mapping

from flask import Response, request

from csparql_spark.answers import formats
from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.formats import CSV, JSON, JSON_LD, N_TRIPLES, OFFERED, TSV, TURTLE, XML

from csparql_spark.server.problems import Problem

SHORT_NAMES = {"json": JSON, "xml": XML, "csv": CSV, "tsv": TSV, "nt": N_TRIPLES, "ttl": TURTLE, "jsonld": JSON_LD}


def spelled(answer: Answer, *, extra: Mapping[str, object] | None = None,
            headers: Mapping[str, str] | None = None) -> Response:
    """The response with an answer. `extra` are members that SPARQL JSON gets."""
    offered = OFFERED[answer.kind]
    asked = request.args.get("format")
    accept = request.headers.get("Accept")
    media_type = SHORT_NAMES.get(asked, asked) if asked else formats.negotiate(accept, answer.kind)
    if media_type not in offered:
        wish = f"The format {asked!r} is none of them" if asked else f"None of them is in {accept!r}"
        short = [name for name, full in SHORT_NAMES.items() if full in offered]
        raise Problem("not-acceptable", f"{wish}: this answer can be had as {', '.join(offered)} by Accept, or with "
                      f"?format= and one of {', '.join(short)}.", accepted=list(offered), formats=short)
    try:
        body = formats.write(answer, media_type, extra=extra)
    except formats.Unwritable as error:
        raise Problem("not-acceptable", str(error), accepted=list(offered)) from None
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    return Response(body, headers={**(headers or {}), "Cache-Control": "no-store", "Vary": "Accept"},
                    content_type=media_type + charset)
