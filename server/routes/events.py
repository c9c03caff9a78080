"""Events: the answers of many queries over one connection, as they become true.

    GET /events?query=HotRooms&query=ColdRooms        these queries
    GET /events                                       all queries that there are, and those that come later

They begin after `Last-Event-ID` (or `?lastEventId=`), at `?from=beginning`, after `?from=<id>`, or with the newest
answer of each query (`?from=latest`, and by default). What a client has seen counts more than what its URL asks for: a
browser that reconnects sends both. Queries may have been added to the URL meanwhile, or deleted and registered again:
their answers since then are told, too. What is told, and how, says `subscription`; with
`?changes` it is what has changed, in place of whole answers (see `voices`).

A client that comes back for queries that are all gone gets 204, which tells a browser to come back no more.
"""

from __future__ import annotations

import socket
from collections.abc import Collection

from flask import Blueprint, Response, request

from csparql_spark.server.http.connections import hand_over
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.routes.registration import found
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.server.subscribers.delivery import Delivery
from csparql_spark.server.subscribers.fanout import TooManySubscribers
from csparql_spark.server.subscribers.subscription import (
    FIRST,
    LATEST,
    Subscription,
    SubscriptionStart,
    Wishes,
    start_after,
)
from csparql_spark.server.subscribers.voices import AskedChanges
from csparql_spark.server.threads import Threads

EVENTS = "text/event-stream"
MOST_QUERIES = 1000
CHANGES = {
    **dict.fromkeys(("", "yes", "true", "1"), AskedChanges.CHANGED),
    "all": AskedChanges.ALL,
    **dict.fromkeys(("no", "false", "0"), AskedChanges.NONE),
}


def routes(settings: Settings, stores: Stores, threads: Threads) -> Blueprint:
    blueprint = Blueprint("events", __name__)

    @blueprint.get("/events")
    def events() -> Response:
        if request.accept_mimetypes and not request.accept_mimetypes[EVENTS]:
            raise Problem(
                "not-acceptable", f"Events come as {EVENTS}: name it in Accept, or leave Accept out.", accepted=[EVENTS]
            )
        names = asked_names()
        start = asked_start()
        if names is not None and not start.returning and not start.restored:
            for name in names:
                found(stores, name)
        if names is not None and start.returning and not start.restored and threads.fanout.is_over(names, start.after):
            return Response(status=204, headers={"Cache-Control": "no-store"})
        return subscribed(settings, threads, names, start, Wishes(progress=True, changes=asked_changes()))

    def asked_start() -> SubscriptionStart:
        event_id = last_event_id()
        if event_id:
            return start_after(event_id, threads.fanout.order)
        begin = request.args.get("from", "latest").strip()
        if begin in ("latest", "beginning"):
            return LATEST if begin == "latest" else FIRST
        return start_after(begin, threads.fanout.order)

    return blueprint


def asked_names() -> list[str] | None:
    """The queries that the URL names; None for all."""
    names = list(dict.fromkeys(request.args.getlist("query")))
    if len(names) > MOST_QUERIES:
        raise Problem(
            "bad-setting",
            f"One connection takes {MOST_QUERIES} queries by name, and these are "
            f"{len(names)}: leave query= out to hear all.",
            limit=MOST_QUERIES,
        )
    return names or None


def asked_changes() -> AskedChanges:
    """Whether the client asks for changes: `?changes`, or `?changes=all` if also where nothing has changed."""
    asked = request.args.get("changes")
    if asked is None:
        return AskedChanges.NONE
    try:
        return CHANGES[asked.strip().lower()]
    except KeyError:
        raise Problem(
            "bad-setting",
            f"changes={asked[:100]} is nothing that can be asked for: write ?changes to be told what has changed, "
            "?changes=all to be told also at which instants nothing has, and leave it out to be told whole answers.",
        ) from None


def last_event_id() -> str:
    """The id of the last event that the client has seen; empty if there is none."""
    return (request.headers.get("Last-Event-ID") or request.args.get("lastEventId") or "").strip()


def subscribed(
    settings: Settings, threads: Threads, names: Collection[str] | None, start: SubscriptionStart, wishes: Wishes
) -> Response:
    """The response that goes on for as long as both sides like."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Accept"}
    if request.method == "HEAD":
        return Response(b"", headers=headers, content_type=EVENTS)
    try:
        subscription = Subscription(
            threads.fanout,
            names,
            start,
            heartbeat_seconds=settings.heartbeat_seconds,
            slow_instants=settings.slow_instants,
            wishes=wishes,
        )
    except TooManySubscribers:
        raise Problem(
            "too-many-subscribers",
            f"All {settings.subscribers} places for subscribers are taken: try again "
            "later, or GET the newest answer without text/event-stream.",
            headers={"Retry-After": "10"},
            limit=settings.subscribers,
        ) from None
    if hand_over(request.environ, Delivered(threads.delivery, subscription)):
        return Response(iter(()), headers=headers, content_type=EVENTS)
    response = Response(iter(subscription), headers=headers, content_type=EVENTS)
    response.call_on_close(subscription.close)
    return response


class Delivered:
    """A subscription that waits for its connection."""

    def __init__(self, delivery: Delivery, subscription: Subscription) -> None:
        self._delivery, self._subscription = delivery, subscription

    def take(self, connection: socket.socket) -> None:
        self._delivery.take(connection, self._subscription)

    def close(self) -> None:
        self._subscription.close()
