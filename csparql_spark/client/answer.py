"""An answer: what a query said at an instant, as Python values.

answer = answer_of({"query": "Hot", "at": 17000, "until": [None], "results": {"head": …, "results": …}})
answer.rows                                # [{"room": IRI("http://ex.org/kitchen")}]
answer_of({"head": …, "results": …}, "Hot")           # the same of SPARQL JSON, with the rest beside its head
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from csparql_spark.client.terms import Term, term


@dataclass(frozen=True)
class Answer:
    """What a query said at an instant. A SELECT has `rows`, an ASK `truth`, a CONSTRUCT `triples` (N-Triples text)."""

    query: str | None
    at: int | None  # epoch ms
    variables: tuple[str, ...] = ()
    rows: list[dict[str, Term]] = field(default_factory=list)
    truth: bool | None = None
    triples: str | None = None
    until: list[int | None] | None = None  # of each row: when it stops holding; None: it does not
    id: str | None = None  # of the event, where it came as one
    data: dict[str, Any] = field(default_factory=dict, repr=False)  # all of it, as it came

    @property
    def version(self) -> int | None:
        """The version of the query that said it, as far as that came with it."""
        version: int | None = self.data.get("version")
        return version


def answer_of(data: dict[str, Any], query: str | None = None, id: str | None = None) -> Answer:
    results = results_of(data)
    return Answer(
        data.get("query", query),
        data.get("at"),
        tuple(results.get("head", {}).get("vars", ())),
        rows_of(results.get("results", {}).get("bindings", ())),
        results.get("boolean"),
        data.get("triples"),
        data.get("until"),
        id,
        data,
    )


def results_of(data: dict[str, Any]) -> dict[str, Any]:
    """The document of SPARQL JSON: an event holds it; a response is it."""
    return data["results"] if "head" in data.get("results", {}) else data


def rows_of(bindings: list[dict[str, Any]]) -> list[dict[str, Term]]:
    return [{name: term(value) for name, value in row.items()} for row in bindings]
