"""Pausing: a query answers no more, and goes on when it is told to.

    POST /queries/HotRooms/pause       200, with the description of the query; so it is when it was paused already
    POST /queries/HotRooms/resume      200; it goes on with the first instant that has not passed
    PUT  /queries/HotRooms?paused=true registers it paused: no instant passes before it is

Both are entries of the log, and so have a place between its instants: what has passed before a pause is answered, what
passes before the resume is not, ever. What is pushed meanwhile is in the windows of the instants that follow. A stream
that a paused query makes stands still, and so do the queries that read it.
"""

from __future__ import annotations

from flask import Blueprint

from csparql_spark.log import Refused
from csparql_spark.log.guards import IsPaused
from csparql_spark.server.http.problems import Problem, sentence
from csparql_spark.server.routes.description import QueryBody, advice, described, made_streams
from csparql_spark.server.routes.registration import found
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store import QueryRecord


def routes(stores: Stores, threads: Threads) -> Blueprint:
    blueprint = Blueprint("pausing", __name__)

    @blueprint.post("/queries/<name:name>/pause")
    def pause_query(name: str) -> QueryBody:
        return described(stores, pause(stores, threads, name), made_streams(stores.registry))

    @blueprint.post("/queries/<name:name>/resume")
    def resume_query(name: str) -> QueryBody:
        return described(stores, resume(stores, threads, name), made_streams(stores.registry))

    return blueprint


def pause(stores: Stores, threads: Threads, name: str) -> QueryRecord:
    """The query of that name, paused from now on. Raises `Problem`."""
    return _set_paused(stores, threads, name, True)


def resume(stores: Stores, threads: Threads, name: str) -> QueryRecord:
    """The query of that name, which goes on. Raises `Problem`."""
    return _set_paused(stores, threads, name, False)


def _set_paused(stores: Stores, threads: Threads, name: str, paused: bool) -> QueryRecord:
    while True:
        query = found(stores, name)
        failure = stores.answers.failure(query.id)
        if failure is not None:
            mend = advice(stores.names.query_url(name), query)
            raise Problem(
                "query-failed",
                f"The query {name} failed at {failure[0]}, and answers no more: {sentence(failure[1])} {mend}",
                query=name,
                at=failure[0],
                reason=failure[1],
            )
        if query.paused == paused:
            return query
        try:
            stores.writer.append(query.pause(paused), IsPaused(query.id, not paused))
        except Refused:
            continue  # somebody was quicker, with this or another change
        threads.queries_changed()
