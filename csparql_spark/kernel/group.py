"""Rows of a group and a value, reduced group by group; sums that are exact, and that values can be taken back from.

    reduced(groups, values, 3)          # of the groups 0, 1, 2: how many values, the least, the greatest; in any order

    sums = DoubleSums(3)                # of as many groups; more are there as soon as they are named
    sums.add(groups, values)
    sums.add(groups, values, -ones)     # so many times, or less than 0 times: now it is as it was before
    sums.merge(others, places)          # those of another table, whose first group is here the one that is named first
    sums.of(np.array([0, 2]))           # each rounded once, as `math.fsum` does
    sums.counts, sums.nbytes            # how many values each group has, added up; bytes

    IntegerSums().of(groups)            # the sums of int64, and whether they fit into one; `exact` has them as integers

The order in which values come and go leaves no trace. Doubles that are no finite numbers are counted apart, so these
can be taken back, too. What a table of doubles needs for a group depends on how far apart the least and the greatest of
all its values lie: 40 bytes where that is a factor of 10^19, 280 where it is all that there is. A table has no more
than `most` bytes: where it would need more, it raises `TooMuchAtOnce` and is as it was.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.group import DoubleSums, IntegerSums, reduced
else:
    from csparql_spark.kernel.twin.group import DoubleSums, IntegerSums, reduced  # type: ignore[assignment]  # see terms

__all__ = ["DoubleSums", "IntegerSums", "reduced"]
