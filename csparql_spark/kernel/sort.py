"""Sorting keys, and what goes with them.

    order_of(values)                    # the rows in which they are sorted; equal ones stay as they are
    ordered(values)                     # the values, sorted
    unite(keys, tags, union, now)       # the distinct keys, sorted, each with the union of its tags
    turn(keys, tags, known, places)     # keys with their places in another order, sorted, and what goes with them
    distinct(sorted_values)
    dense_ranks(values)                 # the distinct values, sorted, and for each value its place among them

Values may be integers of any width, and lie in steps; what is returned is int64.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.sort import dense_ranks, distinct, order_of, ordered, turn, unite
else:
    from csparql_spark.kernel.twin.sort import dense_ranks, distinct, order_of, ordered, turn, unite

__all__ = ["dense_ranks", "distinct", "order_of", "ordered", "turn", "unite"]
