"""A trial: a poison is put, registered and pushed beside healthy queries, asked once, and deleted; what was seen.

    seen = Trial(server, healthy, poison).made()
    seen.outcome, seen.sentence                 # "failed", "its answer takes longer than 2 s of processor time, …"
    seen.unexpected, seen.broken                # nothing, and [], if everything held

What was refused on the way is the outcome; what had to be taken away is taken away in any case. How late is too late is
counted in the time that the machine has for the server: half of the processors taken by others is twice the time.
"""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.poison.healthy import LATE_SECONDS, Healthy
from tests.poison.poison import GRAPH, NAME, OWN_STREAM, Poison, limits
from tests.poison.recipes import Document, document, made
from tests.poison.server import WatchedServer

LIMIT_SECONDS = 2.0
LATEST_SECONDS = 2 * LIMIT_SECONDS + 10
# Ten times the limit on the clock, of the one that is suspected and of those that were beside it.
PATIENCE_SECONDS = 60.0
ANSWER_SECONDS = 75.0
FREED_SECONDS = 10.0
MOST_ABOVE, NEAR = 3 * 1024, 512  # MiB
QUERY = {"Content-Type": "application/sparql-query"}


@dataclass
class Seen:
    poison: str
    outcome: str = "nothing"
    sentence: str = ""
    asked: str = ""
    lag: float = 0.0
    late: int = 0
    above: float = 0.0
    freed: float = 0.0
    left: float = 1.0  # of the processors, by others
    seconds: float = 0.0
    unexpected: str = ""
    broken: list[str] = field(default_factory=list)  # after which nobody knows what the server is like


@dataclass(frozen=True)
class Told:
    status: int
    said: dict

    @property
    def refused(self) -> bool:
        return 400 <= self.status < 500

    @property
    def sentence(self) -> str:
        return str(self.said.get("detail", ""))


class Trial:
    def __init__(self, server: WatchedServer, healthy: Healthy, poison: Poison) -> None:
        self._server, self._healthy, self._poison = server, healthy, poison
        self._seen = Seen(poison.name)
        self._refusal: str | None = None

    def made(self) -> Seen:
        seen, begun, now = self._seen, time.monotonic(), int(time.time() * 1000)
        before = self._server.memory()
        self._server.peak()
        processors = self._server.processors
        try:
            self._prepared()
            self._outcome()
            self._asked_once()
        finally:
            self._deleted(before)
        seen.above = self._server.peak() - before
        if not self._healthy.reached(int(time.time() * 1000), (LATEST_SECONDS + 5) / self._server.left(processors)):
            seen.broken.append("the healthy queries say nothing any more")
        seen.left = self._server.left(processors)
        health = self._healthy.since(now, LATE_SECONDS / seen.left)
        seen.lag, seen.late = health.lag, health.late
        seen.broken += health.broken
        self._judge()
        seen.seconds = time.monotonic() - begun
        return seen

    def _judge(self) -> None:
        seen, poison = self._seen, self._poison
        if seen.outcome not in poison.expected:
            seen.unexpected = f"it should be {poison.expect}, and is {seen.outcome}: {seen.sentence}"
        elif seen.outcome != "answers" and not limits(seen.sentence) & poison.limits:
            seen.unexpected = f"it should say that the limit is {poison.says}: {seen.sentence}"
        if seen.lag > LATEST_SECONDS / seen.left:
            seen.broken.append(f"a healthy answer came {seen.lag:.1f} s late, with {seen.left:.0%} of the processors")
        if seen.late > 1:
            seen.broken.append(f"healthy answers were late {seen.late} times")
        if seen.above > MOST_ABOVE:
            seen.broken.append(f"it took {seen.above:,.0f} MiB")
        if self._server.killed:
            seen.broken.append(self._server.killed)

    # What is done.

    def _prepared(self) -> None:
        poison = self._poison
        if poison.query:
            self._named("check", self._ask("POST", "/check", poison.query.encode()))
        if poison.stream == OWN_STREAM:
            self._must("PUT", f"/streams/{OWN_STREAM}?clock=event")
        if poison.rules:
            self._must("PUT", "/rules/poison", made(poison.rules).encode())
        if poison.graph:
            self._put(document(poison.graph))
        if poison.query:
            self._must("PUT", f"/queries/{NAME}", poison.query.encode(), QUERY)
        for pushed in poison.pushes:
            if self._refusal is None:
                self._must("POST", f"/streams/{poison.stream}", pushed.content, pushed.headers)

    def _put(self, graph: Document) -> None:
        self._must("PUT", f"/graphs?graph={quote(GRAPH)}", graph.content, graph.headers)

    def _must(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Asked for, unless something was refused before."""
        if self._refusal is not None:
            return
        told = self._ask(method, path, body, headers)
        if told.refused:
            self._refusal = told.sentence
        elif told.status >= 300:
            self._seen.broken.append(f"{method} {path[:40]} is told {told.status}: {told.sentence}")

    def _outcome(self) -> None:
        seen = self._seen
        if self._refusal is not None:
            seen.outcome, seen.sentence = "refused", self._refusal
        elif not self._poison.query:
            seen.outcome = "answers"
        else:
            seen.outcome = self._waited(int(time.time() * 1000))

    def _waited(self, instant: int) -> str:
        """Until it has failed, or answered an instant that comes after its feed."""
        begun, processors = time.monotonic(), self._server.processors
        while not self._server.killed:
            told = self._ask("GET", f"/queries/{NAME}").said
            if told.get("status") == "failed":
                self._seen.sentence = told["failure"]["reason"]
                return "failed"
            latest = told.get("latest")
            own = self._poison.stream == OWN_STREAM
            if latest is not None and latest >= (instant if not own else 0):
                return "answers"
            if time.monotonic() - begun > PATIENCE_SECONDS / self._server.left(processors):
                break
            self._healthy.reached(int(time.time() * 1000), 0.2)
        return "nothing"

    def _asked_once(self) -> None:
        if not self._poison.query or self._refusal is not None:
            return
        self._named("explain", self._ask("GET", f"/queries/{NAME}/explain"))
        told = self._ask("POST", "/sparql", self._poison.question.encode(), QUERY)
        self._named("/sparql", told)
        self._seen.asked = str(told.status)

    def _named(self, what: str, told: Told) -> None:
        """Answered, or refused with a sentence that names a limit."""
        if told.status >= 500 or not told.status:
            self._seen.broken.append(f"{what} is told {told.status}: {told.sentence}")
        elif told.refused and not limits(told.sentence):
            self._seen.unexpected = f"{what} is refused, and no limit is named: {told.said}"

    def _deleted(self, before: float) -> None:
        poison, begun, processors = self._poison, time.monotonic(), self._server.processors
        if poison.query:
            self._taken_away(f"/queries/{NAME}")
        if poison.rules:
            self._taken_away("/rules/poison")
        if poison.graph:
            self._taken_away(f"/graphs?graph={quote(GRAPH)}")
        if poison.stream == OWN_STREAM:
            self._taken_away(f"/streams/{OWN_STREAM}")
        while self._seen.freed < FREED_SECONDS / self._server.left(processors):
            busy, used = self._server.busy(), self._server.memory()
            self._seen.freed = time.monotonic() - begun
            if not busy and used < before + NEAR:
                return
        more = f"{used - before:,.0f} MiB more are used, and {len(busy)} processes are busy"
        self._seen.broken.append(f"{FREED_SECONDS:.0f} s after it was deleted, {more}")

    def _taken_away(self, path: str) -> None:
        """It is gone, if it was there: what was refused never was."""
        told = self._ask("DELETE", path)
        if told.status != 204 and not (told.status == 404 and self._refusal is not None):
            self._seen.broken.append(f"DELETE {path[:40]} is told {told.status}: {told.sentence}")

    def _ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Told:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.server.port, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, path, body, {"Content-Type": "text/plain", **(headers or {})})
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            return Told(0, {"detail": f"{type(error).__name__}: {error}"})
        finally:
            connection.close()
        try:
            said = json.loads(content) if content[:1] == b"{" else {}
        except ValueError:
            said = {}
        return Told(response.status, said if isinstance(said, dict) else {})
