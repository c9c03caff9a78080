"""Changes: what changes from one instant of a query to a later one, spelled for those who asked for that.

    change_text(delta_of(before, now), at=17_000)      # b'"added":{"bindings":[…],"until":[…]},"removed":…,"until":…'

The change of a table has three members, each with `bindings` as in SPARQL JSON: `added`, `removed`, and `until` with
the rows that stay and hold till another time. Beside them `until` says till when each row holds (of a removed one, as
it was told; null: for ever), `was` till when it did, and `revoked` which rows went before that. Rows of a list (ORDER
BY) have `places`: removed ones before, the others now. Of a graph `added` and `removed` are N-Triples, and of an ASK
there is `boolean`. What nobody has said until when it holds has no `until`.

To compare two answers takes ten times their bytes. Those that are stored in more than `MOST_COMPARED` are told whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.delta import Delta, delta_of
from csparql_spark.answers.formats import binding_pieces, until_pieces
from csparql_spark.answers.row_text import text_size
from csparql_spark.disk.damage import Damaged
from csparql_spark.language import ContinuousQuery
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.dependents import asked_of
from csparql_spark.server.subscribers import instants
from csparql_spark.store import QueryRecord, StoredAnswer

MOST_COMPARED = 16 << 20  # bytes


def order_of(query: QueryRecord) -> instants.RowOrder:
    """How the rows of its answers are told apart, if they are tables."""
    asked = asked_of(query)
    return instants.RowOrder((), False) if asked is None else instants.RowOrder(asked.key, asked.listed)


def change_pieces(delta: Delta, at: int) -> Iterator[bytes]:
    """The members of a change at an instant, without the braces around them."""
    if delta.kind == "boolean":
        yield from _of_truth(delta.truth)
        return
    if delta.kind == "graph":
        yield from _of_graph(delta)
        return
    yield b'"added":{"bindings":['
    yield from binding_pieces(delta.added)
    yield b"]"
    yield from _until(delta.added)
    yield from _numbers("places", delta.added_places)
    yield b'},"removed":{"bindings":['
    yield from binding_pieces(delta.removed)
    yield b"]"
    if delta.removed.until is not None:
        yield from _until(delta.removed)
        yield b',"revoked":' + _json(delta.revoked(at).tolist())
    yield from _numbers("places", delta.removed_places)
    yield b'},"until":{"bindings":['
    yield from binding_pieces(delta.stayed)
    yield b"]"
    if len(delta.stayed):
        yield from _until(delta.stayed)
        if delta.was_timed:
            yield from _numbers("was", delta.was, forever=ALWAYS)
    yield from _numbers("places", delta.stayed_places)
    yield b"}"


def change_envelopes(
    query: QueryRecord, answers: Iterator[Sequence[StoredAnswer]], *, every: bool
) -> Iterator[Iterator[bytes]]:
    """Answers one after the other, in their order: a whole, and then what has changed since the one before it that is
    told. `every`: also where that is nothing. What is damaged is told, and a whole follows."""
    asked = asked_of(query)
    before: tuple[int, Result] | None = None
    for parts in answers:
        at = parts[0].instant
        try:
            now = instants.whole(parts)
        except Damaged:
            before = None
        else:
            if before is not None:
                since, base = before
                delta = _compared(asked, base, now)
                if delta.empty and not every:
                    continue
                before = at, now
                yield chain([change_head(query, at, since)], _members(delta, at), [b"}"])
                continue
            before = at, now
        yield instants.envelope_pieces(query.name, parts, instants.windows_of(query, at), order_of(query))


def change_body(
    query: QueryRecord, before: Sequence[StoredAnswer], parts: Sequence[StoredAnswer], since: int
) -> bytes | None:
    """What has changed from one answer to a later one, as an object of JSON; None if nothing has. Where there is none
    before, or it cannot be told, it is the whole. `since`: at which instant it was told what the former says. Raises
    `Damaged` and `TooLargeToTell`."""
    at = parts[0].instant
    delta = delta_from(query, before, parts)
    if delta is None:
        return instants.envelope(query.name, parts, instants.windows_of(query, at), order_of(query))
    if delta.empty:
        return None
    return b"%b,%b}" % (change_head(query, at, since), change_text(delta, at))


def change_head(query: QueryRecord, at: int, since: int) -> bytes:
    """What an object says of a change before its members, without the brace at its end."""
    return _json({"query": query.name, "at": at, "since": since})[:-1]


def delta_from(query: QueryRecord, before: Sequence[StoredAnswer], parts: Sequence[StoredAnswer]) -> Delta | None:
    """What has changed from one answer of a query to a later one; None where there is none before, or it is damaged, or
    they are too large to be compared. Raises `Damaged`."""
    if not before or max(sum(part.size for part in some) for some in (before, parts)) > MOST_COMPARED:
        return None
    try:
        base = instants.whole(before)
    except Damaged:
        return None
    asked = asked_of(query)
    return _compared(asked, base, instants.whole(parts))


def _compared(asked: ContinuousQuery | None, base: Result, now: Result) -> Delta:
    delta = delta_of(base, now, listed=asked is not None and asked.listed)
    return delta._replace(fleeting=asked is not None and asked.output != "RSTREAM")


def _members(delta: Delta, at: int) -> Iterator[bytes]:
    before = b","
    for piece in change_pieces(delta, at):
        yield before + piece
        before = b""


def change_text(delta: Delta, at: int) -> bytes:
    """The same as a whole. Raises `TooLargeToTell`."""
    tables = [part.table for part in (delta.added, delta.removed, delta.stayed)]
    instants.refuse_large(sum(text_size(table) for table in tables if table is not None))
    return b"".join(change_pieces(delta, at))


def _of_graph(delta: Delta) -> Iterator[bytes]:
    yield b'"added":"'
    yield from instants.graph_pieces(delta.added.triples)
    yield b'","removed":"'
    yield from instants.graph_pieces(delta.removed.triples)
    yield b'"'


def _of_truth(truth: Result | None) -> Iterator[bytes]:
    if truth is not None:
        yield b'"boolean":' + _json(truth.truth)
        yield from _until(truth)


def _until(answer: Result) -> Iterator[bytes]:
    if answer.until is not None:
        yield b',"until":'
        yield from until_pieces(answer)


def _numbers(name: str, numbers: np.ndarray | None, forever: int | None = None) -> Iterator[bytes]:
    if numbers is not None:
        yield b',"%b":%b' % (name.encode(), _json([None if one == forever else one for one in numbers.tolist()]))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
