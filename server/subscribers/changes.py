"""Changes: what changes from one instant of a query to a later one, spelled for those who asked for that.

    change_text(delta_of(before, now), at=17_000)      # b'"added":{"bindings":[…],"until":[…]},"removed":…,"until":…'

The change of a table has three members, each with `bindings` as in SPARQL JSON: `added`, `removed`, and `until` with
the rows that stay and hold till another time. Beside them `until` says till when each row holds (of a removed one, as
it was told; null: for ever), `was` till when it did, and `revoked` which rows went before that. Rows of a list (ORDER
BY) have `places`: removed ones before, the others now. Of a graph `added` and `removed` are N-Triples, and of an ASK
there is `boolean`. What nobody has said until when it holds has no `until`.

What has changed is stored, from one answer to the next (see `store.keyframes`), and told as it is to who knows the one
before. For others, and where a whole is stored, two answers are compared. That takes ten times their bytes: those of
more than `MOST_COMPARED` are told whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol

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
from csparql_spark.server.subscribers.instants import MOST_TOLD
from csparql_spark.store import AnswerStore, QueryRecord, StoredAnswer
from csparql_spark.store.chains import ChainReader

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


class TellableAnswer(Protocol):
    """An answer among others of its query: what is asked for is read."""

    @property
    def instant(self) -> int: ...
    def parts(self) -> Sequence[StoredAnswer]:
        """Empty if it has been forgotten."""

    def change_since(self, instant: int) -> Delta | None:
        """What has changed since an earlier one, if it is stored so."""


class WholeParts(NamedTuple):
    """One that has been read."""

    read: Sequence[StoredAnswer]

    @property
    def instant(self) -> int:
        return self.read[0].instant

    def parts(self) -> Sequence[StoredAnswer]:
        return self.read

    def change_since(self, instant: int) -> Delta | None:
        return None


@dataclass(frozen=True)
class KeptAnswer:
    """One in the store. `reader`: goes from one to the next."""

    answers: AnswerStore
    reader: ChainReader
    query: int
    instant: int

    def parts(self) -> Sequence[StoredAnswer]:
        return self.reader.at(self.instant)

    def change_since(self, instant: int) -> Delta | None:
        return change_since(self.answers, self.query, self.instant, instant)


def kept(answers: AnswerStore, query: QueryRecord, instants: Iterable[int]) -> Iterator[KeptAnswer]:
    """The answers of a query at these instants, which go up."""
    reader = answers.reader(query.id)
    return (KeptAnswer(answers, reader, query.id, instant) for instant in instants)


def change_since(answers: AnswerStore, query: int, instant: int, since: int) -> Delta | None:
    """What has changed from an instant to a later one, if it is stored so, and can be told."""
    stored = answers.change(query, instant, MOST_TOLD)
    return None if stored is None or stored.since != since else stored.delta


def change_envelopes(
    query: QueryRecord, answers: Iterable[TellableAnswer], *, every: bool
) -> Iterator[Iterator[bytes]]:
    """Answers one after the other, in their order: a whole, and then what has changed since the one before it that is
    told. `every`: also where that is nothing. What is damaged is told, and a whole follows."""
    asked = asked_of(query)
    last: TellableAnswer | None = None  # since `told` nothing has changed up to it
    told = 0
    for one in answers:
        try:
            delta = None if last is None else _change(asked, last, one)
        except Damaged:
            delta = None
        if delta is not None:
            last = one
            if delta.empty and not every:
                continue
            yield delta_pieces(query, delta, one.instant, told)
        elif parts := one.parts():
            last = None if any(part.damage is not None for part in parts) else one
            yield instants.envelope_pieces(query.name, parts, instants.windows_of(query, one.instant), order_of(query))
        else:
            continue
        told = one.instant


def _change(asked: ContinuousQuery | None, last: TellableAnswer, one: TellableAnswer) -> Delta | None:
    """What has changed from one answer to the next; None if one of them is forgotten. Raises `Damaged`."""
    stored = one.change_since(last.instant)
    if stored is not None:
        return stored
    before = last.parts()
    now = one.parts() if before else ()
    return _compared(asked, instants.whole(before), instants.whole(now)) if now else None


def delta_pieces(query: QueryRecord, delta: Delta, at: int, since: int) -> Iterator[bytes]:
    """A change as an object of JSON, also where nothing has changed."""
    delta = fleeting(asked_of(query), delta)
    return chain([change_head(query, at, since)], _members(delta, at), [b"}"])


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
    return delta_body(query, delta, at, since)


def delta_body(query: QueryRecord, delta: Delta, at: int, since: int) -> bytes | None:
    """A change as an object of JSON; None if nothing has changed. Raises `TooLargeToTell`."""
    if delta.empty:
        return None
    return b"%b,%b}" % (change_head(query, at, since), change_text(fleeting(asked_of(query), delta), at))


def change_head(query: QueryRecord, at: int, since: int) -> bytes:
    """What an object says of a change before its members, without the brace at its end."""
    return _json({"query": query.name, "version": query.id, "at": at, "since": since})[:-1]


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
    return fleeting(asked, delta_of(base, now, listed=asked is not None and asked.listed))


def fleeting(asked: ContinuousQuery | None, delta: Delta) -> Delta:
    """The change of a query's answers, knowing whether they are of their instants alone."""
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
