"""Negotiation: an answer in the format that a client asks for, by Accept or by ?format=.

    spelled(answer, extra={"query": "HotRooms", "at": 17000}, headers={"X-CSPARQL-Instant": "17000"})
    drawn(LineText(b"<urn:a> <urn:p> <urn:b> .\\n"), "a graph")       # an RDF graph, in the RDF format asked for
    asked_type("a range of answers", ("application/json", "application/x-ndjson"))

What cannot be had is refused with a list of what can. A `?format=` goes before the Accept header, and is a short name
or a media type. A response that is large is made piece by piece, as its client takes it; until then it holds what it is
made from (see `holdings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from flask import Response, request

from csparql_spark.answers import formats
from csparql_spark.answers.bindings import Result
from csparql_spark.answers.formats import (
    CSV,
    JSON,
    JSON_LD,
    N_QUADS,
    N_TRIPLES,
    ND_JSON,
    OFFERED,
    RDF_XML,
    TRIG,
    TSV,
    TURTLE,
    XML,
)
from csparql_spark.answers.graph_text import GraphText, graph_pieces
from csparql_spark.server.http.holdings import Holding, Holdings
from csparql_spark.server.http.problems import Problem

WHOLE = 256 << 10  # bytes of a response that is made before it is sent, with its length in its head
SHORT_NAMES = {
    "json": JSON,
    "xml": XML,
    "csv": CSV,
    "tsv": TSV,
    "ndjson": ND_JSON,
    "ttl": TURTLE,
    "nt": N_TRIPLES,
    "jsonld": JSON_LD,
    "rdf": RDF_XML,
    "trig": TRIG,
    "nq": N_QUADS,
}


def spelled(
    answer: Result,
    *,
    extra: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    holding: Holding | None = None,
) -> Response:
    """The response with an answer. `extra` are members that SPARQL JSON gets, and until when the rows hold is one."""
    media_type = asked_type("this answer", OFFERED[answer.kind])
    return response(
        lambda: formats.pieces(answer, media_type, extra=extra, until=True), media_type, headers, holding=holding
    )


def response_of(
    body: bytes | bytearray, media_type: str, headers: Mapping[str, str] | None = None, *, holdings: Holdings
) -> Response:
    """The response with what was written elsewhere, of which no second copy is made."""
    if len(body) <= WHOLE:
        return _response(bytes(body), media_type, headers)
    parts = (bytes(memoryview(body)[begin : begin + WHOLE]) for begin in range(0, len(body), WHOLE))
    length = {"Content-Length": str(len(body))}
    return _response(parts, media_type, {**(headers or {}), **length}, holdings.note(len(body)))


def drawn(
    graph: GraphText,
    what: str,
    *,
    offered: Sequence[str] = (TURTLE, N_TRIPLES, JSON_LD, RDF_XML, TRIG, N_QUADS),
    headers: Mapping[str, str] | None = None,
    holding: Holding | None = None,
) -> Response:
    """The response with a graph, of which `what` is the name in a sentence."""
    media_type = asked_type(what, offered)
    return response(lambda: graph_pieces(graph, media_type), media_type, headers, holding=holding)


def asked_type(what: str, offered: Sequence[str]) -> str:
    """The media type that the client wants, of those offered; the server's favourite is the first. Raises `Problem`."""
    asked, accept = request.args.get("format"), request.headers.get("Accept", "").strip()
    if asked is not None:
        # "+" and a blank are the same in the query of a URL.
        media_type = SHORT_NAMES.get(asked, asked.replace(" ", "+").lower())
        if media_type == JSON and JSON not in offered:
            media_type = formats.PLAIN_JSON
    else:
        media_type = formats.preferred(accept, offered) or ""
    if media_type not in offered:
        wish = (
            f"The format {asked[:100]!r} is none of them"
            if asked is not None
            else f"None of them is in {accept[:200]!r}"
        )
        short = [
            name
            for name, full in SHORT_NAMES.items()
            if full in offered or full == JSON and formats.PLAIN_JSON in offered and JSON_LD not in offered
        ]
        raise Problem(
            "not-acceptable",
            f"{wish}: {what} can be had as {', '.join(offered)} by Accept, or with "
            f"?format= and one of {', '.join(short)}.",
            accepted=list(offered),
            formats=short,
        )
    return media_type


def response(
    write: Callable[[], Iterator[bytes]],
    media_type: str,
    headers: Mapping[str, str] | None = None,
    *,
    holding: Holding | None = None,
) -> Response:
    """The response with what is written piece by piece, which lets go of what it holds when it is sent, or given up."""
    try:
        parts = write()
        begun, ended = formats.beginning(parts, WHOLE)
    except formats.Unwritable as error:
        raise Problem("not-acceptable", str(error)) from None
    if not ended:
        return _response(chain(begun, parts), media_type, headers, holding)
    if holding is not None:
        holding.release()
    return _response(b"".join(begun), media_type, headers)


def _response(
    body: bytes | Iterator[bytes], media_type: str, headers: Mapping[str, str] | None, holding: Holding | None = None
) -> Response:
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    made = Response(
        body,
        headers={**(headers or {}), "Cache-Control": "no-store", "Vary": "Accept"},
        content_type=media_type + charset,
    )
    if holding is not None:
        made.call_on_close(holding.release)
    return made
