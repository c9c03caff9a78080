"""Answers: what a query said, at its newest instant or at another one, or as it goes on saying it.

    GET /queries/HotRooms/answers                                   the newest instant, in a format by Accept
    GET /queries/HotRooms/answers?at=1700000000000&format=csv       another instant, another format
    GET /queries/HotRooms/answers    Accept: text/event-stream      server-sent events

Events begin after `Last-Event-ID` (or `?lastEventId=`), at `?from=beginning`, after `?from=<instant>`, or with the
newest answer (`?from=latest`, and by default). What a client has seen counts more than what its URL asks for: a browser
that reconnects sends both.

Before its first instant a query has no answer: 204, with Retry-After and the sentence in X-CSPARQL-Status.
"""

from __future__ import annotations

import math
from email.utils import formatdate

from flask import Blueprint, Response, request

from csparql_spark.rdf.stamps import parse_stamp
from csparql_spark.store import QueryRecord, StoredAnswer

from csparql_spark.server.backend import Backend
from csparql_spark.server.fanout import Full, instants_of
from csparql_spark.server.instants import holding, whole
from csparql_spark.server.problems import Problem, sentence
from csparql_spark.server.registering import found
from csparql_spark.server.spelling import spelled
from csparql_spark.server.subscription import BEGINNING, Start, Subscription, start_after

EVENTS = "text/event-stream"


def routes(backend: Backend) -> Blueprint:
    blueprint = Blueprint("answers", __name__)

    @blueprint.get("/queries/<name:name>/answers")
    def answers(name: str) -> Response:
        query = found(backend, name)
        if prefers_events():
            return subscribe(query)
        if "at" in request.args:
            parts = told_at(query, request.args["at"])
        else:
            parts = backend.answers.latest(query.id)
        return told(query, parts) if parts else waiting(query)

    def told_at(query: QueryRecord, text: str) -> list[StoredAnswer]:
        instant = instant_of("at", text)
        parts = backend.answers.at(query.id, instant)
        if not parts:
            bounds = backend.answers.bounds(query.id)
            kept = f"answers are kept from {bounds[0]} to {bounds[1]}" if bounds else "it has no answers yet"
            raise Problem("no-answer", f"The query {query.name} has no answer at {instant}: {kept}.", query=query.name,
                          at=instant, oldest=bounds and bounds[0], latest=bounds and bounds[1])
        return parts

    def waiting(query: QueryRecord) -> Response:
        failure = backend.answers.failure(query.id)
        if failure is not None:
            raise Problem("query-failed", f"The query {query.name} failed at {failure[0]}, before it had an answer: "
                          f"{sentence(failure[1])}", query=query.name, at=failure[0], reason=failure[1])
        grid, now = instants_of(query), backend.writer.clock.now()
        seconds = 1 if grid is None else math.ceil((grid.after(now) + 1 - now) / 1000)
        return Response(status=204, headers={"Retry-After": str(seconds), "Cache-Control": "no-store",
                                             "X-CSPARQL-Status": "waiting for the first instant"})

    def subscribe(query: QueryRecord) -> Response:
        start = asked_start(query)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Accept"}
        if request.method == "HEAD":
            return Response(b"", headers=headers, content_type=EVENTS)
        try:
            channel = backend.fanout.join(query)
        except Full:
            places = backend.settings.subscribers
            raise Problem("too-many-subscribers", f"All {places} places for subscribers are taken: try again later, or "
                          "GET the newest answer without text/event-stream.",
                          headers={"Retry-After": "10"}, limit=places) from None
        subscription = Subscription(channel, start, fanout=backend.fanout, registry=backend.registry,
                                    answers=backend.answers, heartbeat_seconds=backend.settings.heartbeat_seconds)
        response = Response(iter(subscription), headers=headers, content_type=EVENTS)
        response.call_on_close(subscription.close)
        return response

    return blueprint


def told(query: QueryRecord, parts: list[StoredAnswer]) -> Response:
    """The response with what a query said at an instant."""
    answer, instant = whole(parts), parts[0].instant
    headers = {"X-CSPARQL-Instant": str(instant), "X-CSPARQL-Query": str(query.id)}
    if 0 <= instant < 1 << 47:
        headers["Last-Modified"] = formatdate(instant / 1000, usegmt=True)
    return spelled(answer, extra={"query": query.name, "at": instant, **holding(answer)}, headers=headers)


def prefers_events() -> bool:
    """Whether the client names text/event-stream, and prefers nothing else to it."""
    if "format" in request.args:
        return False
    weights = {media_type.lower(): weight for media_type, weight in request.accept_mimetypes}
    wanted = weights.pop(EVENTS, 0)
    return wanted > 0 and wanted >= max(weights.values(), default=0)


def asked_start(query: QueryRecord) -> Start:
    event_id = request.headers.get("Last-Event-ID") or request.args.get("lastEventId")
    if event_id:
        return start_after(event_id.strip(), query)
    begin = request.args.get("from", "latest")
    if begin == "latest":
        return Start(None)
    return Start(BEGINNING if begin == "beginning" else instant_of("from", begin, "beginning, latest, "))


def instant_of(argument: str, text: str, others: str = "") -> int:
    try:
        # A plus sign in the query of a URL is a space by now; no instant has a space.
        return parse_stamp(text.replace(" ", "+"))
    except ValueError as error:
        raise Problem("bad-instant", f"{argument}={text[:100]} is no instant: {error}. Write {others}epoch "
                      "milliseconds or an xsd:dateTime such as 2023-11-14T22:13:20Z.") from None
