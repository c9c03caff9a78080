"""Answers: what a query said, at its newest instant or at another one, or as it goes on saying it.

    GET /queries/HotRooms/answers                                   the newest instant, in a format by Accept
    GET /queries/HotRooms/answers?at=1700000000000&format=csv       another instant, another format
    GET /queries/HotRooms/answers?from=…&to=…&limit=100             all instants between the two, both counted
    GET /queries/HotRooms/answers    Accept: text/event-stream      server-sent events
    GET /queries/HotRooms/answers?version=17                        what another version of the query has said

With `?changes` each of them tells what has changed: events, a range, which begins with a whole, and the newest instant
or that of `at`, whose change is since the one before.

A range is an array of what events hold, or (application/x-ndjson) a line for each; it is sent as it is read, at most
`limit` instants, and a Link header with rel="next" says where it goes on. Where it asks for what is kept no longer,
X-CSPARQL-Forgotten says up to when that is gone. In the place of an answer that is damaged on the disk there is
{"query", "at", "problem"}.

Events begin after `Last-Event-ID` (or `?lastEventId=`), at `?from=beginning`, after `?from=<instant>`, or with the
newest answer (`?from=latest`, and by default). What a client has seen counts more than what its URL asks for: a browser
that reconnects sends both.

Where a query is replaced, events go on; everything else is asked of the version that there is, or of the one that
`version` names, as long as its answers are kept.

Before its first instant a query has no answer: 204, with Retry-After and the sentence in X-CSPARQL-Status. That says
`failed`, `paused` or `replaced` beside the newest answer of a query that answers no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from email.utils import formatdate
from itertools import chain
from urllib.parse import quote, urlencode

from flask import Blueprint, Response, request

from csparql_spark.answers.formats import ND_JSON, PLAIN_JSON
from csparql_spark.asking.timeline import written
from csparql_spark.rdf.stamps import parse_stamp
from csparql_spark.server.http.holdings import Holding, Holdings
from csparql_spark.server.http.negotiation import asked_type, spelled
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes.description import MOST_SHOWN, status_of
from csparql_spark.server.routes.events import EVENTS, asked_changes, last_event_id, subscribed
from csparql_spark.server.routes.health import engine_now, starts
from csparql_spark.server.routes.registration import found_version
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.server.subscribers import instants
from csparql_spark.server.subscribers.changes import WholeParts, change_envelopes, change_since, delta_pieces, kept
from csparql_spark.server.subscribers.fanout import instants_of
from csparql_spark.server.subscribers.instants import whole, windows_of
from csparql_spark.server.subscribers.subscription import (
    FIRST,
    KEEPING,
    LATEST,
    SubscriptionStart,
    Wishes,
    after_instant,
    start_after,
)
from csparql_spark.server.subscribers.voices import AskedChanges
from csparql_spark.server.threads import Threads
from csparql_spark.store import QueryRecord, StoredAnswer
from csparql_spark.store.order import AnswerOrder

RANGES = (PLAIN_JSON, ND_JSON, "application/ndjson")
USUAL_INSTANTS, MOST_INSTANTS = 100, 1000
END = 1 << 62
LONGEST_BOUNDS = 4096  # of a header; SPARQL JSON says it at any length
HELD = 3  # times the bytes of an answer are held while it is read
HELD_OF_TWO = 10  # and while it is compared with another one
GATHERED = 64 << 10  # bytes of a range that are sent together
IRI_SIGNS = "/:?#[]@!$&'()*+,;=%~"


def routes(settings: Settings, stores: Stores, threads: Threads, holdings: Holdings) -> Blueprint:
    """The routes of one resource; the functions between them belong to them alone."""
    blueprint = Blueprint("answers", __name__)
    names = stores.names

    @blueprint.get("/queries/<name:name>/answers")
    def answers(name: str) -> Response:
        query = found_version(stores, name)
        if prefers_events():
            if "version" in request.args:
                raise Problem("bad-setting", "Events follow a query from one version to the next: leave version= out.")
            start = asked_start(threads.fanout.order, query)
            return subscribed(settings, threads, [query.name], start, Wishes(changes=asked_changes()))
        if not request.args.keys().isdisjoint(("from", "to", "limit")):
            return range_of(query)
        instant = instant_of("at", request.args["at"]) if "at" in request.args else None
        if asked_changes() is not AskedChanges.NONE:
            return change_of(query, instant)
        holding = holdings.take(HELD * stores.answers.size(query.id, instant))
        try:
            parts = stores.answers.latest(query.id) if instant is None else parts_at(query, instant)
            if not parts:
                return waiting(query)
            response = answer_response(query, parts, holding)
            if instant is None and (status := halted(query)):
                response.headers["X-CSPARQL-Status"] = status
            return response
        except BaseException:
            holding.release()
            raise

    def range_of(query: QueryRecord) -> Response:
        if "at" in request.args:
            raise Problem(
                "bad-setting", "at= asks for one instant, and from=, to= and limit= for several: leave one out."
            )
        low, high, limit = asked_range()
        media_type = asked_type("a range of answers", RANGES)
        found = stores.answers.instants(query.id, low, high, limit + 1)
        headers = {"Cache-Control": "no-store", "Vary": "Accept"}
        if len(found) > limit:
            given = {**request.args.to_dict(), "from": str(found.pop()), "limit": str(limit)}
            headers["Link"] = f'<{names.query_url(query.name)}/answers?{urlencode(given)}>; rel="next"'
        if (gone := threads.fanout.order.gone(query.id)) is not None and low <= gone[1]:
            headers["X-CSPARQL-Forgotten"] = forgotten(query, gone[1])
        changes = asked_changes()
        at_once = HELD if changes is AskedChanges.NONE else HELD_OF_TWO
        holding = holdings.take(at_once * stores.answers.largest(query.id, found))
        if changes is not AskedChanges.NONE:
            answers = kept(stores.answers, query, found)
            envelopes = change_envelopes(query, answers, every=changes is AskedChanges.ALL)
        else:
            envelopes = (
                instants.envelope_pieces(query.name, parts, windows_of(query, parts[0].instant))
                for parts in stores.answers.each(query.id, found)
            )
        body = array(envelopes) if media_type == PLAIN_JSON else lines(envelopes)
        response = Response(body, headers=headers, content_type=media_type)
        response.call_on_close(holding.release)
        return response

    def change_of(query: QueryRecord, instant: int | None) -> Response:
        """What has changed at an instant, the newest one if it is None, since the one before."""
        media_type = asked_type("what has changed", RANGES)
        if instant is None:
            bounds = stores.answers.bounds(query.id)
            if bounds is None:
                return waiting(query)
            instant = bounds[1]
        before = threads.fanout.order.instant_before(query.id, instant)
        both = [instant] if before is None else [before, instant]
        holding = holdings.take(HELD_OF_TWO * stores.answers.largest(query.id, both))
        try:
            body = None if before is None else changed_since(query, instant, before)
            if body is None:
                now = parts_at(query, instant)
                base = [] if before is None else stores.answers.at(query.id, before)
                *_, body = change_envelopes(query, map(WholeParts, filter(None, [base, now])), every=True)
            pieces = gathered(chain(body, [b"\n"]))
            headers = {"Cache-Control": "no-store", **identity(query, instant)}
            response = Response(pieces, headers=headers, content_type=media_type)
        except BaseException:
            holding.release()
            raise
        response.call_on_close(holding.release)
        return response

    def changed_since(query: QueryRecord, instant: int, before: int) -> Iterator[bytes] | None:
        """What has changed since the instant before, if it is stored so."""
        delta = change_since(stores.answers, query.id, instant, before)
        return None if delta is None else delta_pieces(query, delta, instant, before)

    def forgotten(query: QueryRecord, last: int) -> str:
        """Up to which instant answers are gone, which is the oldest that is there, and how many are kept."""
        bounds = stores.answers.bounds(query.id)
        oldest = f"; oldest={bounds[0]}" if bounds else ""
        return f"{last}{oldest}; {KEEPING}={settings.keep_answers}"

    def to_come(query: QueryRecord, instant: int, bounds: tuple[int, int] | None) -> str:
        """Why an instant after the newest answer has none."""
        if query.ended is not None:
            return f"the version {query.id} was replaced before that, or says it in a moment"
        timeline, grid = f"{names.query_url(query.name)}/timeline", instants_of(query)
        newest = f"; the newest answer is that of {written(bounds[1])}" if bounds else ""
        if stores.answers.failure(query.id) is not None:
            return f"the query has failed, and answers no more{newest}: {timeline} tells why"
        if grid is not None and grid.at_or_after(instant) != instant:
            return f"that is none of its instants, the next one is {written(grid.after(instant))}{newest}"
        return f"that instant has not been answered yet{newest}: {timeline} tells what it waits for"

    def parts_at(query: QueryRecord, instant: int) -> list[StoredAnswer]:
        parts = stores.answers.at(query.id, instant)
        if not parts:
            bounds = stores.answers.bounds(query.id)
            gone = threads.fanout.order.gone(query.id)
            elsewhere = [
                version
                for version, _ in stores.registry.registrations(query.name, MOST_SHOWN)
                if version != query.id and stores.answers.size(version, instant)
            ]
            if elsewhere:
                known = f"the version {elsewhere[0]} of the query has: ask with &version={elsewhere[0]}"
            elif bounds is None or instant > bounds[1]:
                known = to_come(query, instant, bounds)
            else:
                known = f"answers are kept from {written(bounds[0])} to {written(bounds[1])}"
            if gone is not None and instant <= gone[1]:
                known += (
                    f", older ones no longer (the server's setting {KEEPING} says how many: {settings.keep_answers})"
                )
            raise Problem(
                "no-answer",
                f"The query {query.name} has no answer at {written(instant)}: {known}.",
                query=query.name,
                at=instant,
                oldest=bounds and bounds[0],
                latest=bounds and bounds[1],
            )
        return parts

    def halted(query: QueryRecord) -> str | None:
        """Why the newest answer stays the newest one; None while others follow it."""
        status = status_of(stores, query)
        return None if status == "running" else status

    def waiting(query: QueryRecord) -> Response:
        refuse_failed(stores, query)
        if query.ended is not None:
            return Response(status=204, headers={"Cache-Control": "no-store", "X-CSPARQL-Status": "replaced"})
        grid, now = instants_of(query), stores.now()
        seconds = 1 if grid is None else math.ceil((grid.after(now) + 1 - now) / 1000)
        if starts(engine_now(stores, threads.ticker), now):
            status = "the engine is starting"
        elif stores.waiting.of(query.id):
            status = "its background is being closed under its rules"
        else:
            status = "waiting for the first instant"
        headers = {"Retry-After": str(seconds), "Cache-Control": "no-store", "X-CSPARQL-Status": status}
        return Response(status=204, headers=headers)

    return blueprint


def answer_response(query: QueryRecord, parts: list[StoredAnswer], holding: Holding | None = None) -> Response:
    """The response with what a query said at an instant."""
    answer, instant = whole(parts), parts[0].instant
    headers = identity(query, instant)
    if 0 <= instant < 1 << 47:
        headers["Last-Modified"] = formatdate(instant / 1000, usegmt=True)
    windows = windows_of(query, instant)
    bounds = ", ".join(
        f"<{quote(window['stream'], safe=IRI_SIGNS)}>; opens={window['opens']}; closes={window['closes']}"
        for window in windows
    )
    if windows and len(bounds) <= LONGEST_BOUNDS:
        headers["X-CSPARQL-Windows"] = bounds.replace("opens=None; ", "")
    return spelled(
        answer,
        extra={"query": query.name, "version": query.id, "at": instant, "windows": windows},
        headers=headers,
        holding=holding,
    )


def identity(query: QueryRecord, instant: int) -> dict[str, str]:
    """What headers say of whose answer it is, and of when."""
    return {"X-CSPARQL-Instant": str(instant), "X-CSPARQL-Query": str(query.origin), "X-CSPARQL-Version": str(query.id)}


def asked_range() -> tuple[int, int, int]:
    """From when until when, and how many instants at most."""
    begin, end, limit = (request.args.get(name) for name in ("from", "to", "limit"))
    low = -END if begin in (None, "beginning") else instant_of("from", begin, "beginning, ")
    high = END if end in (None, "latest") else instant_of("to", end, "latest, ")
    if limit is None:
        return low, high, USUAL_INSTANTS
    if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and 0 < int(limit) <= MOST_INSTANTS):
        raise Problem(
            "bad-setting", f"The limit {limit[:100]!r} is not a number of instants from 1 to {MOST_INSTANTS}."
        )
    return low, high, int(limit)


def lines(documents: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    for document in documents:
        yield from gathered(chain(document, [b"\n"]))


def array(documents: Iterator[Iterator[bytes]]) -> Iterator[bytes]:
    before = b"["
    for document in documents:
        yield from gathered(chain([before], document))
        before = b",\n"
    yield b"]\n" if before != b"[" else b"[]\n"


def gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same in larger pieces."""
    some, size = [], 0
    for piece in pieces:
        some.append(piece)
        size += len(piece)
        if size > GATHERED:
            yield b"".join(some)
            some, size = [], 0
    if some:
        yield b"".join(some)


def prefers_events() -> bool:
    """Whether the client names text/event-stream, and prefers nothing else to it."""
    if "format" in request.args:
        return False
    weights = {media_type.lower(): weight for media_type, weight in request.accept_mimetypes}
    wanted = weights.pop(EVENTS, 0)
    return wanted > 0 and wanted >= max(weights.values(), default=0)


def asked_start(order: AnswerOrder, query: QueryRecord) -> SubscriptionStart:
    event_id = last_event_id()
    if event_id:
        return start_after(event_id, order)
    begin = request.args.get("from", "latest")
    if begin in ("latest", "beginning"):
        return LATEST if begin == "latest" else FIRST
    return after_instant(query.id, instant_of("from", begin, "beginning, latest, "), order)


def asked_instant(stores: Stores, query: QueryRecord, otherwise: str) -> int:
    """The instant that a request asks about with `at`: the newest one, if it does not say. `otherwise` goes on after
    "has no answer yet"."""
    at = request.args.get("at", "latest")
    if at != "latest":
        return instant_of("at", at, "latest, ")
    bounds = stores.answers.bounds(query.id)
    if bounds is None:
        refuse_failed(stores, query)
        raise Problem("no-answer", f"The query {query.name} has no answer yet{otherwise}", query=query.name)
    return bounds[1]


def refuse_failed(stores: Stores, query: QueryRecord) -> None:
    """Raises `Problem` if a query that has no answer will never have one."""
    failure = stores.answers.failure(query.id)
    if failure is not None:
        raise Problem(
            "query-failed",
            f"The query {query.name} failed at {failure[0]}, before it had an answer: {sentence(failure[1])}",
            query=query.name,
            at=failure[0],
            reason=failure[1],
        )


def instant_of(argument: str, text: str, others: str = "") -> int:
    try:
        # A plus sign in the query of a URL is a space by now; no instant has a space.
        return parse_stamp(text.replace(" ", "+"))
    except ValueError as error:
        raise Problem(
            "bad-instant",
            f"{argument}={text[:100]} is no instant: {error}. Write {others}epoch "
            "milliseconds or an xsd:dateTime such as 2023-11-14T22:13:20Z.",
        ) from None
