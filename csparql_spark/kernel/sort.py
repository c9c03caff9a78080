"""Sorting keys, and what goes with them.

order(values)                       # the rows in which they are sorted; equal ones stay in the order that they have
unite(keys, tags, union, now)       # the distinct keys, sorted, each with the union of its tags
turn(keys, tags, known, places)     # keys with their places in another order, sorted, and what goes with them
distinct(sorted_values)
groups(values)                      # the distinct values, sorted, and for each value its place among them
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.sort import distinct, groups, order, turn, unite
else:
    from csparql_spark.kernel.twin.sort import distinct, groups, order, turn, unite

__all__ = ["distinct", "groups", "order", "turn", "unite"]
