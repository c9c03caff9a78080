"""Instants: what a query said at one instant, put together from its parts and spelled for those who asked.

    whole(parts)                                     # a Result
    envelope("HotRooms", parts, windows)             # b'{"query":"HotRooms","version":17,"at":…,"windows":…,…}'
    event("48213", "HotRooms", parts, windows)       # b'id: 48213\\nevent: answer\\ndata: {"query":…}\\n\\n'

In an event, `results` is a whole SPARQL JSON document (with `head`), and of a graph `triples` is N-Triples text. What
is told as a whole, as events are, is not larger than `MOST_TOLD`: a table has each term once, and its text as often as
there are rows with it. What is larger can be read piece by piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, NotRequired, TypedDict

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.answers.formats import JSON, pieces, together, until_pieces
from csparql_spark.answers.row_text import text_size
from csparql_spark.disk.damage import Damaged
from csparql_spark.language import Window
from csparql_spark.server.dependents import asked_of
from csparql_spark.server.http.problems import sentence
from csparql_spark.store import QueryRecord, StoredAnswer
from csparql_spark.windows.rule import bounds_of

PIECE = 1 << 20  # bytes of a graph that are written at once
MOST_TOLD = 64 << 20  # bytes of an answer, as it is stored and as text, that is told as a whole


class TooLargeToTell(Exception):
    """An answer that is not told as a whole, since nobody knows how large it would be as text."""


class RowOrder(NamedTuple):
    """What is told of a table that changes are folded into: the columns that tell its rows apart, and whether they are
    in an order of their own."""

    key: tuple[str, ...]
    listed: bool


class WindowBounds(TypedDict):
    """Where a window opens and closes at an instant: elements stamped opens < t <= closes are seen."""

    stream: str
    name: NotRequired[str]
    opens: int | None
    closes: int


def whole(parts: Sequence[StoredAnswer]) -> Result:
    """The answer of one instant: the parts of a table or a graph one after the other; yes, if any part says so. Raises
    `Damaged` if a part is."""
    for part in parts:
        if part.damage is not None:
            raise Damaged(part.damage)
    answers = [part.result for part in parts]
    first = answers[0]
    if len(answers) == 1:
        return first
    if first.kind == "boolean":
        return Result.boolean(any(answer.truth for answer in answers))
    if first.kind == "graph":
        return Result.graph(b"".join(answer.ntriples or b"" for answer in answers))
    return Result.from_table(Bindings.concat([answer.table for answer in answers if answer.table is not None]))


def event(id: str, name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds] = ()) -> bytes:
    """The answer as a server-sent event. Raises `Damaged` and `TooLargeToTell`."""
    return together(chain([f"id: {id}\nevent: answer\ndata: ".encode()], _told(name, parts, windows), [b"\n\n"]))


def keyframe(
    id: str, name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds], order: RowOrder
) -> bytes:
    """The same as one that changes begin with."""
    begin = f"id: {id}\nevent: keyframe\ndata: ".encode()
    return together(chain([begin], _told(name, parts, windows, order), [b"\n\n"]))


def envelope(
    name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds] = (), order: RowOrder | None = None
) -> bytes:
    """The answer with all that is said of it: one JSON object, in one line. `windows`: what it was seen through;
    `order`: how its rows are told apart, if that is to be told. Raises `Damaged` and `TooLargeToTell`."""
    return together(_told(name, parts, windows, order))


def _told(
    name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds], order: RowOrder | None = None
) -> Iterator[bytes]:
    size = sum(part.size for part in parts)
    refuse_large(size)
    answer = whole(parts)
    table = answer.table
    # No cell has more text than all that is stored: of most answers nothing has to be counted.
    if table is not None and table.length * len(table.variables) * size > MOST_TOLD:
        refuse_large(text_size(table))
    return _envelope(answer, _head(name, parts[0], windows, order if table is not None else None))


def refuse_large(size: int) -> None:
    """Raises `TooLargeToTell`."""
    if size > MOST_TOLD:
        raise TooLargeToTell


def _head(
    name: str, part: StoredAnswer, windows: Sequence[WindowBounds], order: RowOrder | None = None
) -> dict[str, object]:
    head: dict[str, object] = {"query": name, "version": part.query, "at": part.instant}
    if windows:
        head["windows"] = list(windows)
    if order is not None:
        head["key"] = list(order.key)
        if order.listed:
            head["listed"] = True
    return head


def _envelope(answer: Result, head: Mapping[str, object]) -> Iterator[bytes]:
    yield _json(head)[:-1]
    if answer.ntriples is not None:
        yield b',"triples":"'
        yield from graph_pieces(answer.ntriples)
        yield b'"}'
        return
    if answer.until is not None:
        yield b',"until":'
        yield from until_pieces(answer)
    yield b',"results":'
    yield from pieces(answer, JSON)
    yield b"}"


def graph_pieces(ntriples: bytes) -> Iterator[bytes]:
    """A graph as a string of JSON, without the quotes."""
    for begin in range(0, len(ntriples), PIECE):
        # A character may be cut in two: Latin-1 has one for each byte, and JSON's escapes are those of ASCII.
        yield _json(ntriples[begin : begin + PIECE].decode("latin-1"))[1:-1].decode().encode("latin-1")


def envelope_pieces(
    name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds], order: RowOrder | None = None
) -> Iterator[bytes]:
    """The envelope of an answer, or in its place what is the matter with it: for who is told many of them. It may be of
    any size."""
    try:
        answer = whole(parts)
    except Damaged as damaged:
        yield _json(
            {"query": name, "version": parts[0].query, "at": parts[0].instant, "problem": sentence(str(damaged))}
        )
        return
    yield from _envelope(answer, _head(name, parts[0], windows, order if answer.table is not None else None))


def windows_of(query: QueryRecord, instant: int) -> list[WindowBounds]:
    """Where the windows of a query open and close at an instant, in the order of its text: elements stamped
    opens < t <= closes are seen. Nothing if the text cannot be read any more."""
    asked = asked_of(query)
    if asked is None:
        return []
    return [window_bounds(window, instant) for window in asked.windows]


def window_bounds(window: Window, instant: int) -> WindowBounds:
    opens, closes = bounds_of(window, instant)
    if window.name is None:
        return {"stream": window.stream, "opens": opens, "closes": closes}
    return {"stream": window.stream, "name": window.name, "opens": opens, "closes": closes}


def notice(kind: str, data: Mapping[str, object]) -> bytes:
    """An event that is no answer. It has no id of its own: a client that resumes goes on after the last one it has
    seen."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _json(data))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
