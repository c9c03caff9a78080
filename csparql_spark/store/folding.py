"""Folding: payloads of answers and of changes, put together and compared.

    folded_payloads(keyframe, [change, change])       # the `Result` after both
    compared(before, now, 50, listed=False)           # the `Delta`; None where the answer had better be stored whole

Beside this module the store knows bytes: who asks only which answers there are does not wait for what is imported
here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers import delta_bytes
from csparql_spark.answers.bindings import CorruptAnswer, Result
from csparql_spark.answers.delta import Delta, delta_within, folded
from csparql_spark.kernel.sort import dense_ranks


def folded_payloads(base: bytes | Result, changes: Sequence[bytes]) -> Result:
    """Raises `CorruptAnswer`."""
    whole = Result.from_bytes(base) if isinstance(base, bytes) else base
    return folded(whole, *map(delta_bytes.from_bytes, changes)) if changes else whole


def compared(before: Result, now: Result, most: int, *, listed: bool) -> Delta | None:
    """What has changed between two answers. None if that is more than so many rows, if they are not of one kind and of
    the same columns, or if `now` is not in the order that its query's answers have: then something else would be folded
    of it again."""
    if before.kind != now.kind:
        return None
    if now.table is not None and now.solutions.variables != before.solutions.variables:
        return None
    delta = delta_within(before, now, most, listed=listed)
    return delta if delta is not None and (listed or now.ordered) else None


def read(payload: bytes) -> Result | None:
    """None if the payload is no answer."""
    try:
        return Result.from_bytes(payload)
    except CorruptAnswer:
        return None


def least_changed(before: bytes, now: bytes) -> int:
    """How many rows have changed at least from one answer to another: those for whose ends the other has no row. Of
    windows that share little that is found out in no time."""
    old, new = Result.until_of(before), Result.until_of(now)
    if old is None or new is None:
        return 0
    _, ranks = dense_ranks(np.concatenate([old, new]))
    count, size = len(old), int(ranks.max(initial=0)) + 1
    more = np.bincount(ranks[count:], minlength=size) - np.bincount(ranks[:count], minlength=size)
    return max(int(more[more > 0].sum()), -int(more[more < 0].sum()))
