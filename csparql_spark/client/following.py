"""Following: the events of queries over one connection after another, none missed and none told twice.

    for event in follow(wire, ("Hot", "Cold"), start="latest"):
        event.kind, event.data, event.id                      # "answer", {"query": "Hot", "at": …}, "48213"

A connection that breaks is made again with the last id that came (an id may come alone, before the first answer). It is
over when all queries that were named are deleted; of all queries (none is named), never.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from csparql_spark.client.asking import TEMPORARY, ProblemError, Wire, pauses, problem_of, segment, stranger
from csparql_spark.client.times import Time, place
from csparql_spark.client.waiting import Outage

EVENTS = "text/event-stream"
SILENCE_SECONDS = 60.0  # the server says something at least every 15 seconds


@dataclass(frozen=True)
class Event:
    """A server-sent event: `kind` is answer (or keyframe, change, unchanged, for those who ask for changes), gap,
    problem, paused, resumed, registered, replaced, progress or end."""

    kind: str
    data: dict[str, Any]
    id: str | None = None


class Gone(Exception):
    """The server says that no event will come any more."""


def follow(
    wire: Wire, names: tuple[str, ...], *, start: Time = "latest", last: str | None = None, changes: str | None = None
) -> Iterator[Event]:
    """`changes`: what a URL says there, to be told changes."""
    asked = [("from", place(start, "latest", "beginning")), *([("changes", changes)] if changes else [])]
    if len(names) == 1:
        path = f"/queries/{segment(names[0])}/answers?{urlencode(asked)}"
    else:
        path = "/events?" + urlencode([*(("query", name) for name in names), *asked])
    with wire.outage() as outage:
        yield from _followed(wire, names, path, last, outage)


def _followed(wire: Wire, names: tuple[str, ...], path: str, last: str | None, outage: Outage) -> Iterator[Event]:
    left, growing, silent = set(names), pauses(), None
    retry = 1.0
    while left or not names:
        began = time.monotonic()
        outage.begin(None if last else wire.patience)
        try:
            for event in connected(wire, path, last):
                outage.over()
                growing, silent = pauses(), None
                if isinstance(event, float):
                    retry = event
                    continue
                last = event.id or last
                if not event.kind:
                    continue
                if event.kind == "end":
                    left.discard(event.data.get("query", ""))
                yield event
                if names and not left:
                    return
            pause = retry
        except Gone:
            return
        except ProblemError as problem:
            if problem.code == "unknown-query" and last is not None:  # deleted while we were away
                return
            if problem.status not in TEMPORARY:
                raise
            outage.failed(problem)
            pause = next(growing)
        except (OSError, http.client.HTTPException) as error:
            silent = silent or began
            if last is None and time.monotonic() - silent > wire.patience:
                raise wire.unreachable(error) from error
            outage.failed(error)
            pause = next(growing)
        time.sleep(pause)


def connected(wire: Wire, path: str, last: str | None) -> Iterator[Event | float]:
    """The events of one connection. A number is how long to wait before the next one; an event of no kind is an id
    alone."""
    connection = wire.connection(SILENCE_SECONDS)
    headers = {"Accept": EVENTS, "Cache-Control": "no-store", **wire.authorized()}
    if last is not None:
        headers["Last-Event-ID"] = last
    with contextlib.ExitStack() as opened:
        opened.callback(connection.close)
        connection.request("GET", wire.path(path), headers=headers)
        response = opened.enter_context(connection.getresponse())
        if response.status == 204:
            raise Gone
        if response.status != 200:
            raise problem_of(wire.url, response.status, response.read())
        if not response.headers.get("Content-Type", "").startswith(EVENTS):
            raise stranger(wire.url, response.status)
        fields: dict[str, str] = {}
        while raw := response.readline():
            line = raw.decode("utf-8").rstrip("\r\n")
            if line:
                name, _, value = line.partition(":")
                value = value.removeprefix(" ")
                fields[name] = f"{fields[name]}\n{value}" if name == "data" and "data" in fields else value
                continue
            if "retry" in fields:
                yield float(fields["retry"]) / 1000
            if "data" in fields:
                yield Event(fields.get("event", "message"), json.loads(fields["data"]), fields.get("id"))
            elif "id" in fields:
                yield Event("", {}, fields["id"])
            fields = {}
