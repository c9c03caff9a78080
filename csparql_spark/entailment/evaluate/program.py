"""A program: rules whose terms have become ids, with what has to be known to evaluate them.

A program is made once for a set of rules and a numbering of the terms; neither changes during its life. It refuses
rules that have no finite meaning: those that use what nothing binds, and those that could go on making new terms for
ever.

    program = Program([rule], dictionary)
    program.consequences(graph, delta)       # what follows at once from `delta` and the rest of the graph
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from csparql_spark.entailment.evaluate import bounds
from csparql_spark.entailment.evaluate.absorption import absorbs, transitive
from csparql_spark.entailment.evaluate.bounds import check_made, check_time, too_many_rows
from csparql_spark.entailment.evaluate.guards import IRI, LITERAL, BoundGuard, Terms
from csparql_spark.entailment.evaluate.tables import RuleTable, tables
from csparql_spark.entailment.evaluate.transitivity import extended, is_transitivity
from csparql_spark.entailment.rules.safety import check
from csparql_spark.kernel.limits import TooMuchAtOnce
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.language.rules.rule import Rule, is_variable
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Block, Facts, Keyed, TaggedGraph
from csparql_spark.relations.joins import Pattern, Plan, Relation, Shape, matched, plan, run
from csparql_spark.relations.tags import ALWAYS

FEW = 8  # so many rules of the same form are evaluated one by one; more of them, together


class CompiledRule:
    """A rule, or a table of rules, ready to be evaluated."""

    def __init__(self, table: RuleTable, terms: Terms) -> None:
        self.table, self.body, self.head = table, table.body, table.head
        self.guards = tuple(BoundGuard(guard, terms) for guard in table.rules[0].guards)
        self._kinds = terms.kinds
        # Only what a variable's places in the body leave open has to be looked at: a subject or predicate is one there.
        resources = {node for atom in self.body for node in atom[:2] if isinstance(node, str)}
        properties = {atom[1] for atom in self.body if isinstance(atom[1], str)}
        self._doubtful = tuple(
            (atom[0] if atom[0] not in resources else None, atom[1] if atom[1] not in properties else None)
            for atom in self.head
        )
        used = {node for atom in self.head for node in atom if isinstance(node, str)}
        self.shape = Shape(self.body, tuple(used | {name for guard in self.guards for name in guard.guard.variables}))

    def heads(self, bindings: Relation, only: int | None = None) -> Iterator[Block]:
        """The facts that the bindings give, after the guards. `only` one of the head's atoms, by its place."""
        columns, tag = bindings
        for guard in self.guards:
            if not len(tag):
                return
            rows, columns = guard.apply(columns, len(tag))
            if rows is not None:
                tag = tag[rows]
        if not len(tag):
            return
        for place, atom in enumerate(self.head):
            if only is None or place == only:
                yield from self._triples(place, atom, columns, tag)

    def _triples(self, place: int, atom: Pattern, columns: dict[str, np.ndarray], tag: np.ndarray) -> Iterator[Block]:
        s, p, o = (columns[node] if isinstance(node, str) else node for node in atom)
        subject, predicate = self._doubtful[place]
        valid: np.ndarray | None = None
        if subject is not None:
            valid = self._kinds(_column(s, 1 if isinstance(s, int) else len(tag))) != LITERAL
        if predicate is not None:
            known = self._kinds(_column(p, 1 if isinstance(p, int) else len(tag))) == IRI
            valid = known if valid is None else valid & known
        if valid is not None and not valid.all():
            rows = np.flatnonzero(np.broadcast_to(valid, len(tag)))
            if not len(rows):
                return
            s, p, o = (node if isinstance(node, int) else node[rows] for node in (s, p, o))
            tag = tag[rows]
        yield _column(s, len(tag)), p, _column(o, len(tag)), tag


class Program:
    def __init__(self, rules: Iterable[Rule], dictionary: TermDictionary) -> None:
        self.rules = tuple(dict.fromkeys(rules))
        self.dictionary = dictionary
        check(self.rules)
        terms = Terms(dictionary)
        relations = transitive(self.rules)
        absorbing = {rule: place for rule in self.rules if (place := absorbs(rule, relations)) is not None}
        self.compiled = tuple(
            CompiledRule(table, terms) for table in tables(self.rules, dictionary, set(absorbing), FEW)
        )
        self._absorbed = {
            number: absorbing.get(rule.table.rules[0], 0)
            for number, rule in enumerate(self.compiled)
            if rule.table.rules[0] in absorbing or rule.table.absorbs()
        }
        self.transitive = frozenset(
            number
            for number, rule in enumerate(self.compiled)
            if len(rule.table.rules) == 1 and is_transitivity(rule.table.rules[0])
        )
        self._triggers: dict[int | None, list[tuple[int, int]]] = {}  # predicate: (rule, place in its body)
        for number, rule in enumerate(self.compiled):
            for place, atom in enumerate(rule.body):
                self._triggers.setdefault(atom[1] if isinstance(atom[1], int) else None, []).append((number, place))
        self._plans: dict[tuple[int, str, int], Plan] = {}
        self._scale = -1

    def without(self, rules: Iterable[Rule]) -> Program:
        gone = set(rules)
        missing = gone - set(self.rules)
        if missing:
            raise ValueError(f"The rule {min(map(str, missing))} is not there, so it cannot be removed.")
        return Program((rule for rule in self.rules if rule not in gone), self.dictionary)

    def terms(self) -> np.ndarray:
        """The ids of the constants of the rules' heads and bodies, sorted, each once. They have had ids since the
        program was made: whoever asks is about to count ids. Guards look at terms, and keep no ids of constants."""
        nodes = {node for rule in self.rules for part in (*rule.head, *rule.body) for node in part.nodes}
        return distinct(ordered(self.dictionary.encode(sorted(node for node in nodes if not is_variable(node)))))

    def consequences(self, graph: TaggedGraph, delta: Facts) -> Iterator[Block]:
        """The heads of all rules for the matches of their bodies of which some atom is matched in `delta`: a part of
        the graph, ordered by predicate. Where it is what is fresh in the graph, each match is found once."""
        for number, place, facts in self._triggered(delta):
            rule = self.compiled[number]
            start = rule.table.joined(matched(rule.body[place], facts, known=True))
            if len(start.tag):
                yield from rule.heads(self._matches(graph, number, "body", place, start))

    def step(self, graph: TaggedGraph, delta: Facts, source: int | None) -> Iterator[tuple[int | None, Block | Keyed]]:
        """As `consequences`, but for what closing the graph can do without: some matches are found twice, and a rule
        that `absorbs` is not applied to what it has derived itself. The heads come with their source, the number of
        such a rule, or None; `source`: that of the delta. Raises `TooMuchDerived`."""
        made = 0
        for number, place, facts in self._triggered(delta):
            if number in self.transitive:
                if place == 0 and number != source:
                    for paths in self._extended(graph, number, facts):
                        yield number, paths
                continue
            rule, absorbed = self.compiled[number], self._absorbed.get(number)
            if number == source and place == absorbed:
                continue
            start = rule.table.joined(matched(rule.body[place], facts, known=True))
            if len(start.tag):
                kind = "body" if absorbed is None else "any"
                for block in rule.heads(self._matches(graph, number, kind, place, start)):
                    made += len(block[3])
                    check_made(made, rule.table.rules)
                    yield number if absorbed is not None else None, block

    def turn(self, source: int | None) -> int:
        """Whose heads are to be added before the others': those of transitive rules, which presume it."""
        return 0 if source in self.transitive else 1 if source is None else 2

    def _triggered(self, delta: Facts) -> Iterator[tuple[int, int, Facts]]:
        """The places in the bodies of rules that may be matched, and the facts that have the predicate there."""
        if not self._triggers:
            return
        for number, place in self._triggers.get(None, ()):
            yield number, place, delta
        starts = [0, *(np.flatnonzero(delta.p[1:] != delta.p[:-1]) + 1).tolist(), delta.size]
        for first, last in zip(starts, starts[1:]):
            predicate = int(delta.p[first]) if last > first else -1
            if predicate in self._triggers:
                facts = delta.where(slice(first, last))
                for number, place in self._triggers[predicate]:
                    yield number, place, facts

    def everything(self, graph: TaggedGraph, rules: Iterable[Rule] | None = None) -> Iterator[Block]:
        """The heads of these rules (or all) for all matches of their bodies in the graph."""
        wanted = None if rules is None else set(rules)
        for number, rule in enumerate(self.compiled):
            table = rule.table if wanted is None else rule.table.only(wanted)
            if table is not None:
                start = table.joined(_nothing())
                yield from rule.heads(self._matches(graph, number, "all", 0, start))

    def axioms(self) -> Iterator[Block]:
        """The heads of the rules without a body."""
        for rule in self.compiled:
            if not rule.body:
                yield from rule.heads(rule.table.joined(_nothing()))

    def derivations(self, graph: TaggedGraph, wanted: Facts) -> Iterator[Block]:
        """Those of the wanted facts that follow from the graph in one step, with the tags that they have thereby."""
        for number, rule in enumerate(self.compiled):
            for place, atom in enumerate(rule.head):
                columns, tag = rule.table.joined(matched(atom, wanted))
                if len(tag):
                    start = Relation(columns, np.full(len(tag), ALWAYS))
                    yield from rule.heads(self._matches(graph, number, "head", place, start), only=place)

    def _matches(self, graph: TaggedGraph, number: int, kind: str, place: int, start: Relation) -> Relation:
        """The matches of a rule that begin with these; `TooMuchDerived` if they are too many to be made at once."""
        rules = self.compiled[number].table.rules
        check_time(rules)
        try:
            return run(self._plan(graph, number, kind, place), graph, start, bounds.most_rows(), bounds.MOST_PAIRS)
        except TooMuchAtOnce:
            raise too_many_rows(rules) from None

    def _extended(self, graph: TaggedGraph, number: int, facts: Facts) -> Iterator[Keyed]:
        """What a transitive rule makes of these."""
        rules = self.compiled[number].table.rules
        check_time(rules)
        try:
            yield from extended(graph, int(facts.p[0]), facts, bounds.most_rows(), lambda: check_time(rules))
        except TooMuchAtOnce:
            raise too_many_rows(rules) from None

    def _plan(self, graph: TaggedGraph, number: int, kind: str, place: int) -> Plan:
        """The plans are made again when the graph has become another one: four times as large, or a quarter."""
        scale = graph.rows.bit_length() // 2
        if scale != self._scale:
            self._plans.clear()
            self._scale = scale
        key = number, kind, place
        found = self._plans.get(key)
        if found is None:
            rule = self.compiled[number]
            known = rule.head[place] if kind == "head" else () if kind == "all" else rule.body[place]
            found = self._plans[key] = plan(
                rule.shape,
                graph,
                [*rule.table.columns, *(node for node in known if isinstance(node, str))],
                place if kind in ("body", "any") else None,
                kind == "any",
            )
        return found


def _nothing() -> Relation:
    """One row of which nothing is known."""
    return Relation({}, np.array([ALWAYS], dtype=np.int64))


def _column(node: np.ndarray | int, count: int) -> np.ndarray:
    return np.full(count, node, dtype=np.int64) if isinstance(node, int) else node
