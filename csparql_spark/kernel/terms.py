"""A table of terms: each has an id, in the order in which they came, and the ids have their terms.

    terms = Terms()
    terms.encode(pa.array(["<urn:a>", '"1"', "<urn:a>"]))      # [0, 1, 0]
    terms.find('"1"'), terms.find('"2"')                       # (1, -1)
    terms.decode(np.array([1, 0])), terms.array(np.array([1]))  # ['"1"', '<urn:a>'], an array of Arrow
    terms.sorted(np.array([1, 0]))                              # [0, 1], ['"1"', '<urn:a>']: in the order of their text
    terms.weight(kept, 4096)     # bytes of the terms longer than that which a mask does not keep
    terms.kept(np.array([1]))    # another table, of these terms only: their ids are 0, 1, …

    distinct(pa.array(["b", "a", "b"]))     # ["b", "a"], and the ids [0, 1, 0] (int32)

What is compiled holds no object of Python for a term: 100 bytes for one of 36 characters, where the twin has 200.

A table is not for several threads: while one of them adds terms, its columns grow where they are, and no other one may
read it or add to it. Whoever shares a table has a lock around each call.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.terms import Terms, distinct
else:
    from csparql_spark.kernel.twin.terms import Terms, distinct  # type: ignore[assignment]  # what each can do is the same

__all__ = ["Terms", "distinct"]
