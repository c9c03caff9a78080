"""Failures: that a query has failed goes into the log, so that whoever reads the log again comes to the same.

    engine ─▶ failures of the store, where the first stands ─▶ an entry of the log, once ─▶ engine, replays

Why a query fails may be no function of the log: its time was over, or its memory. The store is told first, and nothing
that the query says afterwards is kept; so what it has told by then is all that it ever tells, and the entry says up to
where that is. From then on the entry counts.

Invariant: each registration fails in the log once, if it is still there; its guard sees to that, also after a restart,
when all failures are looked at again.

    failures = Failures(registry, answers, writer)
    failures.look()
"""

from __future__ import annotations

from csparql_spark.log import Refused
from csparql_spark.log.contents import QueryFailed, draft_of
from csparql_spark.log.contract import WritableLog
from csparql_spark.log.guards import Unfailed
from csparql_spark.store import AnswerStore, Registry


class Failures:
    def __init__(self, registry: Registry, answers: AnswerStore, writer: WritableLog) -> None:
        self._registry, self._answers, self._writer = registry, answers, writer
        self._logged: set[int] = set()  # queries whose failure need not be looked at again

    def look(self) -> None:
        """Log what has failed since it was looked last. Raises `StoreError`."""
        failures = self._answers.failures()
        for query, instant, reason in failures:
            if query not in self._logged:
                self._log(query, instant, reason)
        self._logged = {query for query, _, _ in failures}

    def _log(self, query: int, instant: int, reason: str) -> None:
        record = self._registry.version(query)
        if record is None:
            return  # it is deleted
        failed = QueryFailed(query, instant, reason, self._answers.newest_instant(query))
        try:
            self._writer.append(draft_of(failed, record.name), Unfailed(query))
        except Refused:
            return  # it is deleted, or in the log
        self._logged.add(query)
