"""Rows, joined with those of a map (see `probe`), or of a sorted column, that they find.

    slices(runs, low, 5, now, UNBOUNDED)                        # the rows with low ≤ key < low + 5, for each low
    join(runs, low, 5, carried, tags, now, UNBOUNDED, field)    # keys that are made of `carried` and the rows found
    pairs(sorted_values, values, UNBOUNDED)                     # for each of the values, all rows that are equal to it

`TooMuchAtOnce` where more rows are come across than asked for at most, dead ones included.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.join import join, pairs, slices
else:
    from csparql_spark.kernel.twin.join import join, pairs, slices

__all__ = ["join", "pairs", "slices"]
