"""Rows: the answers of peers, each in its own form, as the numbers that are compared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bench.peers.job import Job


def visible(rows: np.ndarray, job: Job) -> np.ndarray:
    """Of triples, the rows of the job's answer: without what is said of the schema."""
    if job.kind == "closure":
        return rows[:, [0, 2]]
    return rows[rows[:, 0] >= job.names["entity"]]


def group(row: dict[str, str], place: dict[str, int]) -> tuple[int, int, int, int]:
    """A row of the analytic query. Peers round means each in its way; the sum that is behind them is whole."""
    number = int(_value(row["n"]))
    total = round(_value(row["mean"]) * 10 * number)
    return place[row["room"]], total, round(_value(row["most"]) * 10), number


def _value(term: str) -> Fraction:
    return Fraction(term.split('"')[1])


def gathered(columns: list[np.ndarray]) -> np.ndarray:
    """Columns as rows."""
    return np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1)
