"""Instants: what a query said at one instant, put together from its parts and spelled for those who asked.

    whole(parts)                                     # an Answer
    event("HotRooms", parts)                         # b'id: 17-1700000000000\\nevent: answer\\ndata: {"query":…}\\n\\n'

In an event, `results` is a whole SPARQL JSON document (with `head`), and of a graph `triples` is N-Triples text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.formats import JSON, write
from csparql_spark.store import StoredAnswer
from csparql_spark.windows.content import ALWAYS as FOR_EVER


def whole(parts: Sequence[StoredAnswer]) -> Answer:
    """The answer of one instant: the parts of a table or a graph one after the other; yes, if any part says so."""
    answers = [Answer.from_bytes(part.payload) for part in parts]
    first = answers[0]
    if len(answers) == 1:
        return first
    if first.kind == "boolean":
        return Answer.boolean(any(answer.truth for answer in answers))
    if first.kind == "graph":
        return Answer.graph(b"".join(answer.ntriples for answer in answers))
    tables = [answer.table for answer in answers]
    columns = [pa.concat_arrays(column) for column in zip(*(table.columns for table in tables))]
    return Answer.bindings(first.table.variables, columns, sum(map(len, tables)))


def event(name: str, parts: Sequence[StoredAnswer]) -> bytes:
    """The answer as a server-sent event."""
    query, instant = parts[0].query, parts[0].instant
    answer = whole(parts)
    if answer.ntriples is not None:
        data = _json({"query": name, "at": instant, "triples": answer.ntriples.decode()})
    else:
        head = _json({"query": name, "at": instant, **holding(answer)})
        data = head[:-1] + b',"results":' + write(answer, JSON) + b"}"
    return b"id: %d-%d\nevent: answer\ndata: %b\n\n" % (query, instant, data)


def holding(answer: Answer) -> dict[str, object]:
    """Until when each row of an answer holds, in the order of the rows (null: for ever); nothing if that is not known.
    A boolean has one: until when it is true."""
    if answer.until is None:
        return {}
    return {"until": [None if instant == FOR_EVER else instant for instant in answer.until.tolist()]}


def notice(kind: str, data: Mapping[str, object]) -> bytes:
    """An event that is no answer. It has no id: a client that resumes goes on after the last answer it has seen."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _json(data))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
