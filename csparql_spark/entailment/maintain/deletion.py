"""Delete and rederive, for everything: what expires is deleted as if somebody had taken it back.

This is the method of Volz, Staab and Motik, which knows facts and rules but no time: every fact that was derived from a
deleted one is deleted, and those that still follow are derived again. Tags ride along, so that the content can be told
for narrower windows too. Slides cost what has been derived from what expired, and what it takes to derive again what
should have stayed.

    facts = DeleteRederive(dictionary, rules)
    facts.insert(s, p, o, tag)
    facts.expire(12)                        # deletes, and derives again
"""

from __future__ import annotations

from csparql_spark.entailment.maintain.seminaive import SemiNaive


class DeleteRederive(SemiNaive):
    BLIND = True

    def expire(self, upto: int) -> None:
        self.moving.announce(upto)
        stated = self._explicit.facts()
        expired = stated.where(stated.tag <= upto)
        self._explicit.expire(upto)
        if expired.size:
            self._take_back([expired], upto)
        self._graph.expire(upto)
