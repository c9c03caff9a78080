"""Room: how many streams, queries, graphs and rule sets a server keeps. Who would bring one more is told so.

    writer.append(draft, every(absent(…), room(backend, "queries")))        # raises Problem: limit-reached

The count is taken in the log's own order, so however many come at once, there are never more.
"""

from __future__ import annotations

import sqlite3

from csparql_spark.log import Refused
from csparql_spark.log.sqlite.writer import Guard
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.problems import Problem

# What is counted, how, and what it is called.
COUNTED = {
    "streams": ("SELECT count(*) FROM streams", "streams"),
    "queries": ("SELECT count(*) FROM queries", "queries"),
    "graphs": ("SELECT count(*) FROM settings WHERE kind = 'background'", "background graphs"),
    "rules": ("SELECT count(*) FROM settings WHERE kind = 'rules'", "rule sets"),
}


class Full(Refused):
    """There are as many as there may be."""


def room(backend: Backend, what: str) -> Guard:
    """A guard that lets an entry in only while there is room for what it makes. Raises `Full`."""
    most, (count, _) = getattr(backend.settings, f"most_{what}"), COUNTED[what]

    def check(connection: sqlite3.Connection) -> None:
        if connection.execute(count).fetchone()[0] >= most:
            raise Full(what)
    return check


def full(backend: Backend, what: str) -> Problem:
    most, (_, name) = getattr(backend.settings, f"most_{what}"), COUNTED[what]
    return Problem("limit-reached", f"This server keeps at most {most} {name}: delete some first, or let whoever runs "
                   f"it change the setting most-{what}.", limit=most)
