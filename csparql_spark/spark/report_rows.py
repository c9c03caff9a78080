"""Report rows: what comes out of the processor, as rows of Spark, and as reports again where they are written down.

As rows:

    row                    (query, instant, part, rows, payload)
    QueryFailure           its query and instant, -1, 0, its reason
    BatchCosts             0, when all answers of the batch were there (epoch ms), -2, 0, their JSON

    report_of(row_of(QueryFailure(8, 1000, "too many")))       # the same
    report_of(row_of(BatchCosts(b"[]"), at=1250))              # BatchCosts(b"[]")
"""

from __future__ import annotations

from typing import NamedTuple

from csparql_spark.engine.messages import BatchCosts, QueryFailure, Report

OUTPUT = "query long, instant long, part int, rows long, payload binary"

_FAILURE, _COSTS = -1, -2  # in the place of a part's number


class ReportRow(NamedTuple):
    query: int
    instant: int
    part: int
    rows: int
    payload: bytes


def row_of(report: Report, at: int = 0) -> ReportRow:
    """`at`: when the answers were there that the costs are of."""
    if isinstance(report, QueryFailure):
        return ReportRow(report.query, report.instant, _FAILURE, 0, report.reason.encode())
    return ReportRow(0, at, _COSTS, 0, report.payload)


def report_of(row: ReportRow) -> Report:
    """Raises `ValueError` if it is none."""
    if row.part == _FAILURE:
        return QueryFailure(row.query, row.instant, bytes(row.payload).decode())
    if row.part == _COSTS:
        return BatchCosts(bytes(row.payload))
    raise ValueError(f"a row of the kind {row.part} is no report")
