"""Readers: which registered queries read a stream, a graph or a rule set. What is read cannot be deleted.

    writer.append(Draft("drop", subject=iri), unread(lambda asked: iri in streams_of(asked)))     # raises InUse
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Refused
from csparql_spark.log.sqlite.writer import Guard
from csparql_spark.store import QueryRecord
from csparql_spark.store.registry import queries_in

MOST_NAMED = 10


class InUse(Refused):
    """`queries` read it."""

    def __init__(self, queries: list[str]) -> None:
        super().__init__(queries)
        self.queries = queries

    def __str__(self) -> str:
        """The first names, and what to do with them: the middle of a sentence."""
        more = f" and {len(self.queries) - MOST_NAMED} more" if len(self.queries) > MOST_NAMED else ""
        these = "these queries" if len(self.queries) > 1 else "this query"
        return f"{', '.join(self.queries[:MOST_NAMED])}{more}: delete {these} first"


def unread(reads: Callable[[ContinuousQuery], bool], *, but: str | None = None) -> Guard:
    """A guard that lets an entry in only while no query reads it, but the one of a name."""
    def check(connection: sqlite3.Connection) -> None:
        readers = [query.name for query in queries_in(connection)
                   if query.name != but and (asked := asked_of(query)) is not None and reads(asked)]
        if readers:
            raise InUse(readers)
    return check


def asked_of(query: QueryRecord) -> ContinuousQuery | None:
    """What a registered query asks for; None if its text cannot be read any more. Such a query reads nothing: the
    engine has failed it."""
    try:
        return read(query.text, query.base, query.compiled)
    except LanguageError:
        return None


def streams_of(asked: ContinuousQuery) -> dict[str, None]:
    return dict.fromkeys(window.stream for window in asked.windows)


def graphs_of(asked: ContinuousQuery) -> dict[str, None]:
    return dict.fromkeys((*asked.graphs, *asked.named_graphs))
