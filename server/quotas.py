"""Quotas: how many streams, queries, graphs and rule sets a server keeps. Who would bring one more is told so.

    try:
        writer.append(draft, Every((Absent(…), room(settings, "queries"))))
    except Refused as refused:
        tell_if_full(refused)                     # raises Problem: limit-reached

The count is taken in the log's own order, so however many come at once, there are never more.
"""

from __future__ import annotations

from csparql_spark.log import Refused
from csparql_spark.log.guards import QuotaKind, Room
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.settings import Settings

NAMES = {"streams": "streams", "queries": "queries", "graphs": "background graphs", "rules": "rule sets"}


def room(settings: Settings, things: QuotaKind) -> Room:
    """The guard that lets an entry in only while there is room for what it makes."""
    return Room(things, getattr(settings, f"most_{things}"))


def tell_if_full(refused: Refused) -> None:
    """Raises `Problem` if an entry was refused because there was no room for what it would have made."""
    guard = refused.guard
    if isinstance(guard, Room):
        raise Problem(
            "limit-reached",
            f"This server keeps at most {guard.most} {NAMES[guard.things]}: delete some "
            f"first, or let whoever runs it change the setting most-{guard.things}.",
            limit=guard.most,
        ) from None
