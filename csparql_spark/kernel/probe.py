"""Single keys, looked up in a map that is kept as several sorted runs: `runs` names them one after the other, keys and
tags by turns.

    found(sorted_keys, keys)                    # which of the keys are there, and where
    tags_of(runs, keys, tags, union)            # the unions of `tags` with those of these keys
    absorb(runs, keys, tags, union, zero)       # keys come with tags: what they are then, and which of them changes
    drop(runs, keys, zero)                      # the rows of these keys get the tag `zero`
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.probe import absorb, drop, found, tags_of
else:
    from csparql_spark.kernel.twin.probe import absorb, drop, found, tags_of

__all__ = ["absorb", "drop", "found", "tags_of"]
