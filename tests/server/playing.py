"""Playing the parts of others: the engine that writes answers, and a client that reads server-sent events."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import NamedTuple

from csparql_spark.answers.bindings import Result
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import InstantAnswer, QueryFailure
from csparql_spark.schedule.routing import Router
from csparql_spark.server.backend import Backend
from csparql_spark.store import AnswerStore, QueryRecord, StoredAnswer
from csparql_spark.store.measures import Cost

BASE = "http://csparql.test"
# On the event clock no ticks are logged, so that places in the log are the same at every run.
TEXT = f"REGISTER QUERY q AS SELECT ?s ?n FROM STREAM <{BASE}/streams/s> [RANGE 2s STEP 1s] WHERE {{ ?s <urn:n> ?n }}"


def registered(client, text: str = TEXT, name: str = "q") -> int:
    """Create the stream and register the query; the query's id."""
    assert client.put("/streams/s?clock=event").status_code in (200, 201)
    response = client.put(f"/queries/{name}", data=text)
    assert response.status_code == 201, response.text
    return response.json["id"]


class Engine:
    """Writes answers, as the engine does: from outside, into the same store."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.store = AnswerStore(backend.stores.database, backend.directory.bell("answers"))

    def answer(self, query: int, instant: int, *answers: Result) -> None:
        self.store.write(
            [StoredAnswer(query, instant, part, len(answer), answer.to_bytes()) for part, answer in enumerate(answers)]
        )

    def count(self, query: int, *instants: int) -> None:
        """At each instant, the answer that its number is itself."""
        self.store.write([StoredAnswer(query, instant, 0, 1, number(instant).to_bytes()) for instant in instants])

    def run(self) -> list[Cost]:
        """Answer everything that is in the log, through the pipeline, and write it down; what it has cost."""
        log, costs = self.backend.stores.log, []
        router = Router(lambda graph: log.last(graph, "background", log.tail()))
        groups: dict[str, Group] = {}
        maintenance = self.backend.settings.maintenance
        for entry in log.read(0, log.tail()):
            for row in router.route(entry):
                group = groups.setdefault(row.group, Group(row.group))
                group.maintain(maintenance)
                told = list(group.feed([row]))
                self.store.write(
                    [StoredAnswer(*one[:5], listed=one.listed) for one in told if isinstance(one, InstantAnswer)],
                    [tuple(one) for one in told if isinstance(one, QueryFailure)],
                )
        for group in groups.values():
            report = group.costs()
            costs += [] if report is None else [Cost(**cost) for cost in json.loads(report.payload)]
        return costs

    def fail(self, query: int, instant: int, reason: str) -> None:
        self.store.write([], [(query, instant, reason)])


def number(instant: int) -> Result:
    return Result.from_rows(("n",), [{"n": f'"{instant}"'}])


def record(query: int, name: str = "q", text: str = TEXT) -> QueryRecord:
    return QueryRecord(query, name, 0, text, None)


class Event(NamedTuple):
    kind: str
    data: dict[str, object]
    id: str | None = None


def parsed(text: str) -> Iterator[Event | int]:
    """The events in a stream of text; a number is the time to wait before reconnecting, an event of no kind an id
    alone. Comments are left out."""
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "retry" in fields:
            yield int(fields["retry"])
        elif fields.keys() == {"id"}:
            yield Event("", {}, fields["id"])
        elif fields:
            yield Event(fields["event"], json.loads(fields["data"]), fields.get("id"))


class Listener:
    """A subscriber over a real connection."""

    def __init__(self, port: int, path: str = "/queries/q/answers", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", path, headers={"Accept": "text/event-stream", **sent})
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()

    def next(self) -> Event | None:
        """The next event; None at the end."""
        block = ""
        while line := self.response.readline().decode():
            block += line
            if line == "\n":
                events = [event for event in parsed(block) if isinstance(event, Event) and event.kind]
                if events:
                    return events[0]
                block = ""
        return None

    def take(self, count: int) -> list[Event]:
        return [self.next() for _ in range(count)]

    def close(self) -> None:
        self.response.close()
        self.connection.close()
