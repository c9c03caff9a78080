"""Two sorted maps from keys to tags become one; those of a map that hold.

    merge(keys, tags, more_keys, more_tags, now)    # sorted; rows whose tags are `now` or less are dropped
    held(keys, tags, now)

Keys are 0 or greater; none holds in both maps.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.merge import held, merge
else:
    from csparql_spark.kernel.twin.merge import held, merge

__all__ = ["held", "merge"]
