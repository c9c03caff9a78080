"""Standing queries: two that stay from the beginning to the end, and whose every answer is known beforehand.

    standing = Standing("http://127.0.0.1:8000", "Counted", facts.count, 5000)
    standing.start()
    standing.checked, standing.broken       # 3581, []

One counts what was pushed, the other what follows from it. An answer that is wrong, comes twice, or is left out is
named with its query and instant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from bench.overnight.facts import TOP
from csparql_spark.client import Answer, Client, Event, ProblemError, Unreachable

STREAM, SCHEMA = "facts", "urn:schema"
STEP, COUNTED, CLASSED = 1000, 5000, 10_000
TEXTS = {
    "Counted": f"REGISTER QUERY Counted AS SELECT (COUNT(*) AS ?n) FROM STREAM <streams/{STREAM}> "
    f"[RANGE {COUNTED}ms STEP {STEP}ms] WHERE {{ ?s ?p ?o }}",
    "Classed": f"REGISTER QUERY Classed AS SELECT (COUNT(*) AS ?n) FROM <{SCHEMA}> FROM STREAM <streams/{STREAM}> "
    f"[RANGE {CLASSED}ms STEP {STEP}ms] USING ENTAILMENT rho-df WHERE {{ ?x a {TOP} }}",
}


class Checked:
    """The answers of a query as they come, against what they must be."""

    def __init__(self, query: str, expected: Callable[[int, int], int], reach: int) -> None:
        self._query, self._expected, self._reach = query, expected, reach
        self.last: int | None = None
        self.checked = 0
        self.broken: list[str] = []

    def take(self, instant: int, count: int) -> None:
        if self.last is not None and instant != self.last + STEP:
            said = "is told again" if instant <= self.last else f"follows {self.last}"
            self.broken.append(f"{self._query}: {instant} {said}")
        wanted = self._expected(instant, self._reach)
        if count != wanted:
            self.broken.append(f"{self._query} at {instant}: {count} were counted, and {wanted} were pushed")
        self.last = instant if self.last is None else max(self.last, instant)
        self.checked += 1


class Standing(threading.Thread):
    def __init__(self, url: str, query: str, expected: Callable[[int, int], int], reach: int) -> None:
        super().__init__(daemon=True, name=query)
        self._client, self._query = Client(url, timeout=60, patience=120), query
        self._seen = Checked(query, expected, reach)
        self.failure: str | None = None

    def run(self) -> None:
        try:
            self.follow(self._client.subscribe(self._query, start="beginning", notice=self._notice))
        except (ProblemError, Unreachable) as error:
            self.failure = f"{self._query}: {error}"

    def follow(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            self._seen.take(answer.at, int(str(answer.rows[0]["n"])))

    def _notice(self, event: Event) -> None:
        if event.kind in ("gap", "problem"):
            self._seen.broken.append(f"{self._query}: {event.kind} {event.data}")

    @property
    def last(self) -> int | None:
        return self._seen.last

    @property
    def checked(self) -> int:
        return self._seen.checked

    @property
    def broken(self) -> list[str]:
        return self._seen.broken + ([self.failure] if self.failure else [])
