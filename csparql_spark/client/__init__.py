"""A client of the server, with nothing but the standard library.

    from csparql_spark.client import IRI, Client

    client = Client("http://127.0.0.1:8000")            # token=open("lab.token").read().strip(), where one is asked for
    client.create_stream("temp", clock="event", delay="2s")
    client.push("temp", [(IRI("http://ex.org/kitchen"), IRI("http://ex.org/celsius"), 21.5, 1700000000000)])
    client.register("Hot", "REGISTER QUERY Hot AS SELECT ?room ?c FROM STREAM <…> [RANGE 5s STEP 1s] WHERE { … }")
    for answer in client.subscribe("Hot"):
        for row in answer.rows:
            print(answer.at, row["room"], row["c"].to_python())

Requests that can be sent twice are sent again when the connection breaks or the server is not there for a moment, with
growing pauses, for `patience` seconds; a push can, for it carries an idempotency key. A subscription comes back by
itself with the last event it has seen, so that no answer is missed and none is told twice. What the server refuses is a
`ProblemError`, with the server's code and sentence, and line and column where there are any. Times are milliseconds
since 1970, ISO text, or a datetime with a time zone.

- `terms`, `times`   terms and times as Python values
- `answer`           what a query said at an instant
- `asking`           one request, sent again while that makes sense
- `waiting`          what is said of a server that does not answer
- `following`        the events of queries over one connection after another
- `changes`          what they say otherwise than before, and the whole answers that it is folded into
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from email.message import Message
from typing import Any
from urllib.parse import urlencode

from csparql_spark.client.answer import Answer, answer_of
from csparql_spark.client.asking import TEMPORARY, ProblemError, Unreachable, Wire, pauses, segment, stranger
from csparql_spark.client.changes import AnswerFold, Change, ChangedRows, folded
from csparql_spark.client.following import Event, follow
from csparql_spark.client.terms import IRI, BlankNode, Literal, Term, Triple, quad
from csparql_spark.client.times import Time, place

__all__ = [
    "IRI",
    "Answer",
    "AnswerFold",
    "BlankNode",
    "Change",
    "ChangedRows",
    "Client",
    "Event",
    "Literal",
    "ProblemError",
    "Term",
    "Triple",
    "Unreachable",
]

RESULTS, TRIPLES = "application/sparql-results+json", "application/n-triples"
FORMATS = {
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "turtle": "text/turtle",
    "ttl": "text/turtle",
    "trig": "application/trig",
    "jsonld": "application/ld+json",
    "rdfxml": "application/rdf+xml",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
}


class Client:
    """May be used by several threads: each has its own connection."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        token: str | None = None,
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        waiting: Callable[[str], None] | None = None,
    ) -> None:
        """`waiting` is told, once for each outage that lasts for more than a second, what is waited for, and until
        when; from a thread of its own."""
        self._wire = Wire(url, token, timeout=timeout, patience=patience, waiting=waiting)
        self.url = self._wire.url

    # Streams

    def create_stream(
        self, name: str, clock: str = "arrival", delay: str | int | timedelta = 0, **settings: Any
    ) -> dict[str, Any]:
        """Make a stream, or do nothing if it is there and the same; its description. A delay is in ms, or as 2s."""
        return self.make_stream(name, clock, delay, **settings)[0]

    def make_stream(
        self, name: str, clock: str = "arrival", delay: str | int | timedelta = 0, **settings: Any
    ) -> tuple[dict[str, Any], bool]:
        """As `create_stream`, and whether it is new."""
        length = delay // timedelta(milliseconds=1) if isinstance(delay, timedelta) else delay
        asked = {"clock": clock, **({"delay": length} if length else {}), **settings}
        status, _, reply = self._wire.ask("PUT", f"/streams/{segment(name)}", json.dumps(asked), "application/json")
        return self._read(status, reply), status == 201

    def stream(self, name: str) -> dict[str, Any]:
        """The description of a stream, with what is kept of it, and the queries that read it."""
        return self._json("GET", f"/streams/{segment(name)}")

    def push(
        self,
        stream: str,
        data: str | bytes | Iterable[Triple],
        format: str = "turtle",
        *,
        key: str | None = None,
        encoding: str | None = None,
    ) -> dict[str, Any]:
        """Push into a stream (its name or its IRI); what the server says of it, once it is durable.

        `data` is a document in the format (a name in `FORMATS`, or a media type), or triples (subject, predicate,
        object) or (…, timestamp) of `IRI`, `BlankNode`, `Literal` and Python values; the text of a subject or
        predicate is an IRI, that of an object a literal.
        """
        if not isinstance(data, (str, bytes)):
            data, format = "".join(map(quad, data)) or "\n", "nq"  # no triples are a document, too
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        if encoding:
            headers["Content-Encoding"] = encoding
        return self._json("POST", f"/streams/{segment(stream)}", data, FORMATS.get(format, format), headers)

    def delete_stream(self, name: str) -> None:
        self._json("DELETE", f"/streams/{segment(name)}")

    # Queries

    def register(self, name: str, text: str) -> dict[str, Any]:
        """Register a query, or do nothing if the same is there; its description."""
        return self._json("PUT", f"/queries/{segment(name)}", text, "application/sparql-query")

    def replace(self, name: str, text: str, version: int | None = None) -> dict[str, Any]:
        """Put another text in the place of the query's, in place of that `version`, or (None) of whatever there is; its
        description. Its subscribers go on. Another version in its place is a `ProblemError` (412), which names it; the
        same call again, after a connection that broke, is told the same again."""
        headers = {"If-Match": "*" if version is None else f'"{version}"'}
        return self._json("PUT", f"/queries/{segment(name)}", text, "application/sparql-query", headers)

    def queries(self) -> list[dict[str, Any]]:
        """The descriptions of all queries."""
        return self._json("GET", "/queries")["queries"]

    def pause(self, name: str) -> dict[str, Any]:
        return self._json("POST", f"/queries/{segment(name)}/pause")

    def resume(self, name: str) -> dict[str, Any]:
        return self._json("POST", f"/queries/{segment(name)}/resume")

    def delete(self, name: str, version: int | None = None) -> None:
        """Delete a query; with a `version`, only if that is what there is."""
        headers = None if version is None else {"If-Match": f'"{version}"'}
        self._json("DELETE", f"/queries/{segment(name)}", headers=headers)

    def answers(self, name: str, at: Time | None = None, version: int | None = None) -> Answer | None:
        """The answer at the newest instant, or at another one, of the query as it is, or of another `version` that is
        kept; None before the first."""
        given = {"at": None if at is None else place(at), "version": version}
        asked = urlencode({name: value for name, value in given.items() if value is not None})
        path = f"/queries/{segment(name)}/answers{asked and '?'}{asked}"
        accept = f"{RESULTS}, application/n-triples;q=0.5"
        status, headers, body = self._wire.ask("GET", path, headers={"Accept": accept})
        if status == 204:
            return None
        if RESULTS in headers.get("Content-Type", ""):
            return answer_of(json.loads(body), name)
        self._refuse_strangers(status, headers)
        return Answer(name, int(headers.get("X-CSPARQL-Instant", "0")), triples=body.decode())

    def query(self, text: str) -> Answer:
        """Ask a question once, over background graphs and what streams hold now."""
        accept = {"Accept": f"{RESULTS}, application/n-triples;q=0.5"}
        status, headers, body = self._wire.ask("POST", "/sparql", text, "application/sparql-query", accept)
        if RESULTS in headers.get("Content-Type", ""):
            return answer_of(json.loads(body), None)
        self._refuse_strangers(status, headers)
        return Answer(None, None, triples=body.decode())

    # Background

    def graph_put(self, iri: str, data: str | bytes, format: str = "turtle") -> dict[str, Any]:
        """A background graph is this from now on."""
        return self._json("PUT", f"/graphs?{urlencode({'graph': iri})}", data, FORMATS.get(format, format))

    def graph_delete(self, iri: str) -> None:
        self._json("DELETE", f"/graphs?{urlencode({'graph': iri})}")

    def rules_put(self, name: str, text: str) -> dict[str, Any]:
        """A rule set is this from now on."""
        return self._json("PUT", f"/rules/{segment(name)}", text, "text/plain")

    def rules_delete(self, name: str) -> None:
        self._json("DELETE", f"/rules/{segment(name)}")

    def health(self) -> dict[str, Any]:
        return self._json("GET", "/health")

    # Events

    def subscribe(
        self,
        *names: str,
        start: Time = "latest",
        last: str | None = None,
        notice: Callable[[Event], None] | None = None,
    ) -> Iterator[Answer]:
        """The answers of the queries as they become true, from `start` (latest, beginning, an instant) or behind the
        event `last`, for ever: it comes back when the connection breaks, and ends when all queries are deleted.

        `notice` is told of every event that is no answer: of a gap with the reason "restored", too, after which
        instants are told again, since a copy of the server's database was put back. Without it a query that fails is a
        `ProblemError`.
        """
        for event in self.events(*names, start=start, last=last):
            if event.kind == "answer":
                yield answer_of(event.data, id=event.id)
            else:
                noticed(event, notice)

    def follow(
        self,
        *names: str,
        changes: bool | str = True,
        start: Time = "latest",
        last: str | None = None,
        notice: Callable[[Event], None] | None = None,
    ) -> Iterator[Change]:
        """What the queries say otherwise than before, beginning with a whole of each, and of each version where one is
        replaced; the rest as in `subscribe`.
        `changes`: True, or "all": also at which instants nothing has changed.

        `change.whole` is the whole answer, folded here. Where a change does not follow what was told before (after a
        connection that broke, at times), the whole is asked for; where a gap is told, a whole follows.
        """
        if changes not in (True, "all"):
            raise ValueError(f'changes is {changes!r}, and can be True or "all"; wholes are what `subscribe` tells')
        events = follow(self._wire, names, start=start, last=last, changes="all" if changes == "all" else "yes")
        return folded(events, self._kept, lambda event: noticed(event, notice))

    def _kept(self, query: str, version: int | None, at: int) -> dict[str, Any] | None:
        """The whole of an instant, as events have it; None if it cannot be had any more. Who follows a query waits for
        the server as long as it takes."""
        path, growing = f"/queries/{segment(query)}/answers?from={at}&to={at}", pauses()
        if version is not None:
            path += f"&version={version}"
        while True:
            try:
                status, _, body = self._wire.ask("GET", path)
            except Unreachable:
                time.sleep(next(growing))
            except ProblemError as problem:
                if problem.status not in TEMPORARY:
                    return None
                time.sleep(next(growing))
            else:
                return next((whole for whole in self._read(status, body) if "problem" not in whole), None)

    def events(self, *names: str, start: Time = "latest", last: str | None = None) -> Iterator[Event]:
        """All events of the queries, or of all queries if none is named; comes back when the connection breaks."""
        return follow(self._wire, names, start=start, last=last)

    # The wire

    def _json(
        self,
        method: str,
        path: str,
        body: str | bytes | None = None,
        kind: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        status, _, content = self._wire.ask(method, path, body, kind, headers)
        return self._read(status, content) if content.strip() else {}

    def _read(self, status: int, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError as error:
            raise stranger(self.url, status) from error

    def _refuse_strangers(self, status: int, headers: Message) -> None:
        if TRIPLES not in headers.get("Content-Type", ""):
            raise stranger(self.url, status)

    def close(self) -> None:
        """Close the connection of this thread."""
        self._wire.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def noticed(event: Event, notice: Callable[[Event], None] | None) -> None:
    """Tell of an event that is no answer. Where nobody wants to know, that a query fails is a `ProblemError`."""
    if notice is not None:
        notice(event)
    elif event.kind == "problem":
        detail = f"The query {event.data.get('query')} has failed: {event.data.get('reason')}"
        raise ProblemError(409, {"code": "query-failed", "detail": detail, **event.data})
