"""Rows of several columns, told apart by a hash table: of int64 or of int32, contiguous or not.

    dense_rows([a, b])          # of each row its number, in the order in which they are first seen; where each is first
    unpaired(numbers, 3, 5)     # the places of those of the first 3 rows, and of the others, that have no equal there

    bag = RowBag(2)
    numbers, came, went = bag.add([a, b])       # the numbers of the rows; of those that were not there, and are now,
                                                # ascending
    bag.add([a, b], -ones)                      # the same go: `went` has the numbers of those that are there no more
    bag.find([a, b])                            # -1 for those that were never there
    bag.columns(numbers), bag.counts, bag.nbytes    # the rows again; how often each is there; bytes
    bag.often(numbers)                          # how often these are there

A row that has gone keeps its number, and has it again when it comes back. Who finds that few of `len(bag)` are there
begins another bag with these, as does who has the ids renumbered: `fresh.add([table[a], table[b]], counts)`. A count
may be less than 0: what goes before it comes is there when it has come more often than it went. A bag takes no more
than `most` bytes: where it would need more, it raises `TooMuchAtOnce` and is as it was.

What else can tell rows apart is to pack them into keys, and to sort these (`sort`, `merge`, `probe`). That is better
for rows that are kept in the order of their keys, that expire by tags, or of which all are looked at again and again: a
row takes 16 bytes where all of it fits into a key, and its columns are read from there in half the time. A table needs
50 bytes for a row of one column and 20 more for each other one. It is better where rows are wide (four columns: a fifth
of the time), where many are equal, and where few come and go among many that stay (a sixth).
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.rows import RowBag, dense_rows, unpaired
else:
    from csparql_spark.kernel.twin.rows import RowBag, dense_rows, unpaired  # type: ignore[assignment]  # see terms

__all__ = ["RowBag", "dense_rows", "unpaired"]
