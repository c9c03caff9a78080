"""Counting: a fact holds as long as it has a derivation, and how many it has is known.

The derivations of a fact are counted for each tag that they give it (being stated is one of them): tags are those of
`relations.tags.COUNTED`, and facts are joined with the tags of UNTIL that come out of them, because a derivation counts
once however many its premises have. When a fact is gained or lost, or holds longer or shorter than before, the
derivations that it takes part in are counted up or down, and so on from fact to fact. Nothing is deleted that has to be
derived again.

It is right for rules that are not recursive: in a cycle, facts would count as derivations of one another, and never be
lost. Recursive rules are refused, and then nothing has changed. Rules that are specialised or pruned are not recursive
where those that they come from are not.

    check_countable(rules)                  # raises RecursiveRules, naming the rule
    facts = Counting(dictionary, rules)     # and so does this
    facts.insert(s, p, o, tag)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.closed_facts import ClosedFacts
from csparql_spark.entailment.maintain.explicit import ExplicitFacts
from csparql_spark.entailment.rules.safety import recursive
from csparql_spark.language.rules.rule import Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Block, Facts, TaggedGraph
from csparql_spark.relations.moving import Moving
from csparql_spark.relations.tags import NEVER
from csparql_spark.relations.tally import Tally


class RecursiveRules(ValueError):
    """Rules under which derivations cannot be counted."""


def check_countable(rules: Sequence[Rule]) -> None:
    """Raises `RecursiveRules`, naming one of the rules, where derivations cannot be counted."""
    rule = next(recursive(rules, rules), None)
    if rule is not None:
        raise RecursiveRules(
            f"counting cannot maintain the rule {rule}, which is recursive: it may be fed with what it derives"
        )


class Counting(ClosedFacts):
    def __init__(self, dictionary: TermDictionary, rules: Iterable[Rule] = ()) -> None:
        self._program = _countable(Program(rules, dictionary))
        self._explicit = ExplicitFacts()
        self._tally = Tally()
        self._graph = TaggedGraph()
        self.moving = Moving(self._graph)
        self._count(list(self._program.axioms()), [])

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        stated = TaggedGraph(self._graph.now).add([(s, p, o, tag)])  # each once, with its latest tag
        before = self._explicit.tags_of(*stated[:3])
        later = stated.tag > before
        stated, before = stated.where(later), before[later]
        self._explicit.add(*stated)
        self._count([stated], [stated._replace(tag=before).where(before > NEVER)])

    # Each derivation counts, those among closed facts too: there is nothing to be saved, when they are counted.
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
        self.moving.expire(upto)

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
            gained = self._graph.add([after.where(after.tag > NEVER)])
            self.moving.tell(gained, removed=after._replace(tag=before).where(after.tag < before))
            more = list(self._program.consequences(self._graph, gained))

    def add_rules(self, rules: Iterable[Rule]) -> None:
        old = self._program
        self._program = _countable(Program((*old.rules, *rules), old.dictionary))
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


def _countable(program: Program) -> Program:
    check_countable(program.rules)
    return program
