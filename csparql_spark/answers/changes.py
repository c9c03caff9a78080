"""What is new and what has ceased: the difference of two answers, as bags of rows or as sets of triples.

    difference(now, before)      # ISTREAM: a row that was there once and is there three times is new twice
    difference(before, now)      # DSTREAM
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from csparql_spark.answers.bindings import Answer, Bindings
from csparql_spark.relations.keys import stable_order_of


def difference(answer: Answer, other: Answer | None) -> Answer:
    """What is in the answer and not in the other, which is of the same query (None: empty), in the answer's order."""
    if other is None:
        return answer
    if answer.ntriples is not None:
        known = set(other.ntriples.splitlines(keepends=True))
        return Answer.graph(b"".join(line for line in answer.ntriples.splitlines(keepends=True) if line not in known))
    mine, theirs = answer.table, other.table
    ids = _numbered(mine, theirs)
    mine_keys, their_keys = _occurrences(ids[:mine.length]), _occurrences(ids[mine.length:])
    new = ~_among(mine_keys, their_keys)
    changed = Answer.from_table(mine.take(new))
    return changed if answer.until is None else changed.holding(answer.until[new])


def _numbered(mine: Bindings, theirs: Bindings) -> np.ndarray:
    """One number for each row of both tables, the same for equal rows."""
    total = mine.length + theirs.length
    number = np.zeros(total, dtype=np.int64)
    for first, second in zip(mine.columns, theirs.columns, strict=True):
        codes = pa.concat_arrays([first, second]).dictionary_encode(null_encoding="encode").indices.to_numpy()
        # Numbers stay small: each step renumbers the distinct pairs.
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return number


def _occurrences(numbers: np.ndarray) -> np.ndarray:
    """Each row's number with which of its repetitions it is: the bag as a set."""
    order = stable_order_of(numbers)
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else ordered
    lengths = np.diff(np.append(starts, len(ordered)))
    nth = np.empty(len(numbers), dtype=np.int64)
    nth[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return np.stack([numbers, nth], axis=1)


def _among(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    width = int(max(mine[:, 1].max(initial=0), theirs[:, 1].max(initial=0))) + 1
    return np.isin(mine[:, 0] * width + mine[:, 1], theirs[:, 0] * width + theirs[:, 1])
