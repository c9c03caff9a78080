"""Folding: payloads of answers and of changes, put together and compared.

    folded_payloads(keyframe, [change, change])       # the `Result` after both
    compared(before, now, listed=False)               # the `Delta`; None where the answer had better be stored whole

Beside this module the store knows bytes: who asks only which answers there are does not wait for what is imported
here.
"""

from __future__ import annotations

from collections.abc import Sequence

from csparql_spark.answers import delta_bytes
from csparql_spark.answers.bindings import CorruptAnswer, Result
from csparql_spark.answers.delta import Delta, delta_of, folded


def folded_payloads(base: bytes | Result, changes: Sequence[bytes]) -> Result:
    """Raises `CorruptAnswer`."""
    whole = Result.from_bytes(base) if isinstance(base, bytes) else base
    return folded(whole, *map(delta_bytes.from_bytes, changes)) if changes else whole


def compared(before: Result, now: Result, *, listed: bool) -> Delta | None:
    """What has changed between two answers. None if they are not of one kind and of the same columns, or if `now` is
    not what would be folded of it again: then it is not in the order that its query's answers have."""
    if before.kind != now.kind or not listed and not now.ordered:
        return None
    if now.table is not None and now.solutions.variables != before.solutions.variables:
        return None
    return delta_of(before, now, listed=listed)


def read(payload: bytes) -> Result | None:
    """None if the payload is no answer."""
    try:
        return Result.from_bytes(payload)
    except CorruptAnswer:
        return None
