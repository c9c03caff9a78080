"""Dependents: which registered queries read a stream, a graph or a rule set. What is read cannot be deleted.

try:
    writer.append(draft_of(StreamDropped(), iri), Unread("streams", (iri,)))
except Refused as refused:
    if isinstance(refused.guard, Unread):
        raise Problem(…, f"The stream is read by {readers(refused)}.")
"""

from __future__ import annotations

from csparql_spark.language import ContinuousQuery, LanguageError
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Refused
from csparql_spark.log.contents import QueryRegistered
from csparql_spark.log.guards import Reads
from csparql_spark.store import QueryRecord

MOST_NAMED = 10


def readers(refused: Refused) -> str:
    """The names of the first queries that read what must be unread, and what to do with them: the middle of a
    sentence."""
    names = refused.readers
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    these = "these queries" if len(names) > 1 else "this query"
    return f"{', '.join(names[:MOST_NAMED])}{more}: delete {these} first"


def reads_of(query: QueryRegistered) -> Reads:
    """What a registration reads, for the log's guards."""
    asked = asked_of(query)
    if asked is None:
        return Reads()
    return Reads(frozenset(streams_of(asked)), frozenset(graphs_of(asked)), frozenset(asked.entailment))


def asked_of(query: QueryRecord | QueryRegistered) -> ContinuousQuery | None:
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
