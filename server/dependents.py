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
KINDS = ("streams", "graphs", "rules")


def readers(refused: Refused) -> str:
    """The names of the first queries that read what must be unread, and what to do with them: the middle of a
    sentence."""
    names = refused.readers
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    these = "these queries" if len(names) > 1 else "this query"
    return f"{', '.join(names[:MOST_NAMED])}{more}: delete {these} first"


def reads_of(query: QueryRegistered) -> Reads:
    """What a registration reads, for the log's guards. They are decided while everybody who writes waits: so a text is
    only read for it if its entry has neither a form of it that can be used, nor what it reads."""
    if query.reads is not None:
        streams, graphs, rules = (frozenset(query.reads[kind]) for kind in KINDS)
        return Reads(streams, graphs, rules)
    asked = asked_of(query)
    if asked is None:
        return Reads()
    return Reads(frozenset(streams_of(asked)), frozenset(graphs_of(asked)), frozenset(asked.entailment))


def reads_beside(asked: ContinuousQuery) -> dict[str, list[str]]:
    """What a query reads, as it stands in the log beside a text that has no form there."""
    names = streams_of(asked), graphs_of(asked), asked.entailment
    return {kind: sorted(set(some)) for kind, some in zip(KINDS, names, strict=True)}


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
