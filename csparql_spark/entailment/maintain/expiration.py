"""Expiration: what no longer holds is known by its tag, and a slide costs what is new.

Each derived fact was given, when it was derived, the instant up to which it holds. So nothing has to be done when facts
expire but to look at tags, and that costs next to nothing: dead rows are skipped, and given back when they are many.
New facts are joined with the rest, and only those facts go on from round to round that are new or hold longer than
before. What is taken back before its time (`remove`, `remove_rules`) is deleted and derived again, where tags tell what
cannot be concerned.

    facts = Expiration(dictionary, rules)
    facts.insert(s, p, o, tag)
    facts.expire(12)
"""

from __future__ import annotations

from csparql_spark.entailment.maintain.seminaive import SemiNaive


class Expiration(SemiNaive):
    def expire(self, upto: int) -> None:
        self._explicit.expire(upto)
        self.moving.expire(upto)
