"""What the strategies that keep a closed graph have in common: additions cost what they add, and what is taken back,
facts as well as rules, is deleted and derived again where it still follows.

Invariant: after each call, the graph holds the explicit facts and all that follows from them, and nothing else.

    class Expiration(SemiNaive):
        def expire(self, upto): ...         # this is where strategies differ
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from csparql_spark.entailment.evaluate.fixpoint import saturate
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.closed_facts import ClosedFacts
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.entailment.maintain.rederive import overdeleted, rederive
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Block, Facts, TaggedGraph
from csparql_spark.relations.moving import Moving
from csparql_spark.relations.tags import NEVER


class SemiNaive(ClosedFacts):
    BLIND = False  # whether tags are left aside when it is decided what may have to be deleted

    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule] = ()) -> None:
        self._program = Program(rules, dictionary)
        self._explicit = ExplicitFacts()
        self._graph = TaggedGraph()
        self.moving = Moving(self._graph)
        saturate(self._graph, self._program, self._program.axioms())

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        self._explicit.add(s, p, o, tag)
        self.moving.tell(*saturate(self._graph, self._program, [(s, p, o, tag)]))

    def load_closed(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        present = self._graph.facts()
        if present.size > len(tag):
            self.insert(s, p, o, tag)
            return
        # What follows needs one of the facts that were there before: they are what has to be joined with the rest.
        self._explicit.add(s, p, o, tag)
        self.moving.tell(self._graph.add([(s, p, o, tag)]))
        self._graph.refresh(*present[:3])
        present = present._replace(tag=self._graph.tags_of(*present[:3]))
        self.moving.tell(*saturate(self._graph, self._program, list(self._program.consequences(self._graph, present))))

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        stated = Facts(s, p, o, self._explicit.tags_of(s, p, o))
        self._explicit.remove(s, p, o)
        self._take_back([stated.where(stated.tag > NEVER)])

    def _take_back(self, seeds: Iterable[Block], upto: int = NEVER) -> None:
        """Take back what was derived so; what has tags up to this goes because its time is over."""
        doomed = overdeleted(self._graph, self._program, self._explicit, seeds, self.BLIND)
        rederive(self._graph, self._program, self._explicit, doomed)
        now = self._graph.tags_of(*doomed[:3])
        lost = doomed.tag != now
        removed, now = doomed.where(lost), now[lost]
        self.moving.tell(removed._replace(tag=now).where(now > NEVER), removed=removed.where(removed.tag > upto))

    def add_rules(self, rules: Iterable[Rule]) -> None:
        old = self._program
        self._program = Program((*old.rules, *rules), old.dictionary)
        new = set(self._program.rules) - set(old.rules)
        self.moving.tell(*saturate(self._graph, self._program, list(self._program.everything(self._graph, new))))

    def remove_rules(self, rules: Iterable[Rule]) -> None:
        rules, old = set(rules), self._program
        self._program = old.without(rules)
        self._take_back(list(old.everything(self._graph, rules)))

    def renumber(self, table: np.ndarray) -> None:
        self._explicit.renumber(table)
        self._graph.renumber(table)
        self.moving.renumber(table)
        self._program = Program(self._program.rules, self._program.dictionary)
