"""Messages: what a group says. Each kind is a type, and who hears them asks of which.

Its kinds:

    InstantAnswer     a query's answer at an instant, or a part of it
    QueryFailure      the instant from which a query answers no more, and why: it is said once
    BatchCosts        what the answers of a batch have cost (see `costs`); no query says that, and no answer hangs on it

    for message in group.feed(rows):
        if isinstance(message, QueryFailure):
            print(message.query, message.reason)
"""

from __future__ import annotations

from typing import NamedTuple


class InstantAnswer(NamedTuple):
    query: int
    instant: int
    part: int
    rows: int
    payload: bytes  # a `Result`; where it says what has changed since an instant, a `Delta`
    since: int | None = None
    listed: bool = False  # whether the answers of the query are in an order of their own


class QueryFailure(NamedTuple):
    query: int
    instant: int
    reason: str


class BatchCosts(NamedTuple):
    payload: bytes  # JSON


Message = InstantAnswer | QueryFailure
Report = QueryFailure | BatchCosts  # what is not an answer
