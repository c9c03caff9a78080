"""Instants: what a query said at one instant, put together from its parts and spelled for those who asked.

    whole(parts)                                     # a Result
    envelope("HotRooms", parts, windows)           # b'{"query":"HotRooms","at":1700000000000,"windows":…,"results":…}'
    event("48213", "HotRooms", parts, windows)       # b'id: 48213\\nevent: answer\\ndata: {"query":…}\\n\\n'

In an event, `results` is a whole SPARQL JSON document (with `head`), and of a graph `triples` is N-Triples text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pyarrow as pa

from csparql_spark.answers.bindings import Result
from csparql_spark.answers.formats import JSON, write
from csparql_spark.disk.damage import Damaged
from csparql_spark.language import Window
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.dependents import asked_of
from csparql_spark.server.http.problems import sentence
from csparql_spark.store import QueryRecord, StoredAnswer
from csparql_spark.windows.rule import bounds_of


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
    answers = [Result.from_bytes(part.payload) for part in parts]
    first = answers[0]
    if len(answers) == 1:
        return first
    if first.kind == "boolean":
        return Result.boolean(any(answer.truth for answer in answers))
    if first.kind == "graph":
        return Result.graph(b"".join(answer.ntriples or b"" for answer in answers))
    tables = [answer.table for answer in answers if answer.table is not None]
    columns = [pa.concat_arrays(column) for column in zip(*(table.columns for table in tables))]
    return Result.bindings(tables[0].variables, columns, sum(map(len, tables)))


def event(id: str, name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds] = ()) -> bytes:
    """The answer as a server-sent event."""
    return b"id: %b\nevent: answer\ndata: %b\n\n" % (id.encode(), envelope(name, parts, windows))


def envelope(name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds] = ()) -> bytes:
    """The answer with all that is said of it: one JSON object, in one line. `windows`: what it was seen through."""
    answer = whole(parts)
    head = {"query": name, "at": parts[0].instant, **({"windows": list(windows)} if windows else {})}
    if answer.ntriples is not None:
        return _json({**head, "triples": answer.ntriples.decode()})
    return _json({**head, **holding(answer)})[:-1] + b',"results":' + write(answer, JSON) + b"}"


def envelope_or_problem(name: str, parts: Sequence[StoredAnswer], windows: Sequence[WindowBounds]) -> bytes:
    """The envelope of an answer, or in its place what is the matter with it: for who is told many of them."""
    try:
        return envelope(name, parts, windows)
    except Damaged as damaged:
        return _json({"query": name, "at": parts[0].instant, "problem": sentence(str(damaged))})


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


def holding(answer: Result) -> dict[str, list[int | None]]:
    """Until when each row of an answer holds, in the order of the rows (null: for ever); nothing if that is not known.
    A boolean has one: until when it is true."""
    if answer.until is None:
        return {}
    return {"until": [None if instant == ALWAYS else instant for instant in answer.until.tolist()]}


def notice(kind: str, data: Mapping[str, object]) -> bytes:
    """An event that is no answer. It has no id of its own: a client that resumes goes on after the last one it has
    seen."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _json(data))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
