"""Counting: a fact holds as long as it has a derivation, and how many it has is known.

The derivations of a fact are counted for each tag that they give it (being stated is one of them): tags are those of
`relations.tags.COUNTED`, and facts are joined with the tags of UNTIL that come out of them, because a derivation counts
once however many its premises have. When a fact is gained or lost, or holds longer or shorter than before, the
derivations that it takes part in are counted up or down, and so on from fact to fact. Nothing is deleted that has to be
derived again.

It is right for rules that are not recursive: in a cycle, facts would count as derivations of one another, and never be
lost. For recursive rules, `Counting` says so in `fallback`, naming the rule, and leaves the work to `DeleteRederive`.

    facts = Counting(dictionary, rules)
    facts.fallback                          # None, or a sentence
    facts.insert(s, p, o, tag)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.closed_facts import ClosedFacts, followed
from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.entailment.rules.safety import recursive
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Block, Facts, TaggedGraph
from csparql_spark.relations.moving import Moving
from csparql_spark.relations.tags import NEVER
from csparql_spark.relations.tally import Tally


class Counting:
    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule] = ()) -> None:
        self._program = Program(rules, dictionary)
        self._now = NEVER
        self._moving: Moving | None = None
        self._choose()

    def _choose(self) -> None:
        rules = self._program.rules
        rule = next(recursive(rules, rules), None)
        self.fallback = (
            None
            if rule is None
            else (
                f"Derivations cannot be counted, because the rule {rule} is recursive: it may be fed with what it "
                f"derives. What is lost is deleted with all that was derived from it, and what still follows is "
                "derived again."
            )
        )
        self._strategy = (Counts if rule is None else DeleteRederive)(self._program.dictionary, rules, self._moving)
        self._moving = self._strategy.moving
        self._strategy.expire(self._now)

    @property
    def moving(self) -> Moving:
        return self._strategy.moving

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        self._strategy.insert(s, p, o, tag)

    def load_closed(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        """Each derivation counts, those among closed facts too: there is nothing to be saved, when they are counted."""
        self._strategy.load_closed(s, p, o, tag)

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        self._strategy.remove(s, p, o)

    def expire(self, upto: int) -> None:
        self._now = max(self._now, upto)
        self._strategy.expire(upto)

    def add_rules(self, rules: Iterable[Rule]) -> None:
        self._change(Program((*self._program.rules, *rules), self._program.dictionary))

    def remove_rules(self, rules: Iterable[Rule]) -> None:
        self._change(self._program.without(rules))

    def _change(self, program: Program) -> None:
        """The same facts under other rules: kept in the same way, or, when that has to change, from the beginning."""
        old, self._program = self._program, program
        cyclic = next(recursive(program.rules, program.rules), None) is not None
        if cyclic == (self.fallback is not None):
            gone, new = set(old.rules) - set(program.rules), set(program.rules) - set(old.rules)
            self._strategy.remove_rules(rule for rule in old.rules if rule in gone)
            self._strategy.add_rules(rule for rule in program.rules if rule in new)
        else:
            stated = self._strategy.stated()
            self._choose()
            self._strategy.insert(*stated)

    def visible(self, after: int) -> Facts:
        return self._strategy.visible(after)

    def terms(self) -> np.ndarray:
        return self._strategy.terms()

    def renumber(self, table: np.ndarray) -> None:
        self._strategy.renumber(table)
        self._program = Program(self._program.rules, self._program.dictionary)


class Counts(ClosedFacts):
    """Counted derivations under rules that are not recursive."""

    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule], moving: Moving | None = None) -> None:
        self._program = Program(rules, dictionary)
        self._explicit = ExplicitFacts()
        self._tally = Tally()
        self._graph = TaggedGraph()
        self.moving = followed(self._graph, moving)
        self._count(list(self._program.axioms()), [])

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        stated = TaggedGraph(self._graph.now).add([(s, p, o, tag)])  # each once, with its latest tag
        before = self._explicit.tags_of(*stated[:3])
        later = stated.tag > before
        stated, before = stated.where(later), before[later]
        self._explicit.add(*stated)
        self._count([stated], [stated._replace(tag=before).where(before > NEVER)])

    load_closed = insert

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        stated = Facts(s, p, o, self._explicit.tags_of(s, p, o))
        stated = TaggedGraph(self._graph.now).add([stated.where(stated.tag > NEVER)])
        self._explicit.remove(*stated[:3])
        self._count([], [stated])

    def expire(self, upto: int) -> None:
        """All derivations with these tags vanish together: there is nothing to count."""
        self._explicit.expire(upto)
        self._tally.expire(upto)
        self._graph.expire(upto)

    def _count(self, more: list[Block], fewer: list[Block]) -> None:
        """Count derivations up and down, and those that this makes and unmakes."""
        while True:
            after = self._tally.add(more, fewer)
            before = self._graph.tags_of(*after[:3])
            changed = np.flatnonzero(after.tag != before)
            if not len(changed):
                return
            after, before = after.where(changed), before[changed]
            lost = after._replace(tag=before).where(before > NEVER)
            self._graph.refresh(*lost[:3])
            fewer = list(self._program.consequences(self._graph, lost))
            self._graph.discard_fresh()
            shorter = bool((after.tag < before).any())
            gained = self._graph.add([after.where(after.tag > NEVER)])
            if shorter:
                self.moving.forget()
            else:
                self.moving.tell(gained)
            more = list(self._program.consequences(self._graph, gained))

    def add_rules(self, rules: Iterable[Rule]) -> None:
        old = self._program
        self._program = Program((*old.rules, *rules), old.dictionary)
        # Counted once by the new rules alone; what follows from that is found by all of them.
        new = set(self._program.rules) - set(old.rules)
        self._count(list(self._program.everything(self._graph, new)), [])

    def remove_rules(self, rules: Iterable[Rule]) -> None:
        rules, old = set(rules), self._program
        self._program = old.without(rules)
        self._count([], list(old.everything(self._graph, rules)))

    def renumber(self, table: np.ndarray) -> None:
        self._explicit.renumber(table)
        self._tally.renumber(table)
        self._graph.renumber(table)
        self.moving.renumber(table)
        self._program = Program(self._program.rules, self._program.dictionary)
