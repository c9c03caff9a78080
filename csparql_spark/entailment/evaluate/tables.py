"""Rule tables: many rules that differ in their constants only, evaluated as one.

A schema that was worked into rules makes thousands of them, all alike: `(?x type Robin) -> (?x type Bird)`, and so on.
They become one rule, in which parameters stand for the constants that differ, and a table with a row for each rule. The
table is joined with what is known first, all rows at once; after that, a parameter is a variable that has its value.

    (?x type $0) -> (?x type $1)         $0     $1
                                         Robin  Bird
                                         Bird   Animal

    for table in tables(rules, few=8): table.rules, table.body, table.head, table.columns
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from csparql_spark.kernel.join import pairs
from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce
from csparql_spark.kernel.sort import distinct, order_of, ordered
from csparql_spark.language.rules.rule import Rule, is_variable
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.joins import Node, Pattern, Relation

IDS = 31  # bits of an id: two fit into a key
MOST = 10_000_000  # pairs of rules that are looked at to see whether a third makes both steps


@dataclass(eq=False, slots=True)
class RuleTable:
    """One rule without parameters, or several that share a form."""

    rules: tuple[Rule, ...]
    body: tuple[Pattern, ...]
    head: tuple[Pattern, ...]
    columns: dict[str, np.ndarray]  # by parameter: its value in each of the rules
    _indexes: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def joined(self, bindings: Relation) -> Relation:
        """The bindings with a value for each parameter: one row for each rule that agrees with what is bound."""
        if not self.columns or not len(bindings.tag):
            return bindings
        names = tuple(name for name in self.columns if name in bindings.columns)
        if names:
            index, rows = self._agreeing(names, bindings)
        else:
            count = len(self.rules)
            index = np.repeat(np.arange(len(bindings.tag)), count)
            rows = np.tile(np.arange(count), len(bindings.tag))
        columns = {name: column[index] for name, column in bindings.columns.items()}
        columns.update((name, column[rows]) for name, column in self.columns.items() if name not in columns)
        return Relation(columns, bindings.tag[index])

    def _agreeing(self, names: tuple[str, ...], bindings: Relation) -> tuple[np.ndarray, np.ndarray]:
        if names not in self._indexes:
            keys = _key(self.columns, names)
            order = order_of(keys)
            self._indexes[names] = keys[order], order
        keys, order = self._indexes[names]
        sought = _key(bindings.columns, names)
        index, rows = pairs(keys, sought, UNBOUNDED)
        rows = order[rows]
        for name in names[2:]:
            same = self.columns[name][rows] == bindings.columns[name][index]
            index, rows = index[same], rows[same]
        return index, rows

    def absorbs(self) -> bool:
        """Whether applying the rules to what they have derived adds nothing: they replace one constant by another, and
        for two steps there is always one rule that makes them at once."""
        if len(self.body) != 1 or len(self.head) != 1 or len(self.columns) != 2:
            return False
        changed = [pair for pair in zip(self.body[0], self.head[0]) if pair[0] != pair[1]]
        if len(changed) != 1:
            return False
        old, new = changed[0]
        if not (isinstance(old, str) and isinstance(new, str)) or not {old, new} <= self.columns.keys():
            return False
        both = distinct(ordered(_key(self.columns, (old, new))))
        first, next_ = both >> IDS, both & (1 << IDS) - 1
        try:
            one, other = pairs(first, next_, MOST)
        except TooMuchAtOnce:
            return False
        return bool(np.isin(first[one] << IDS | next_[other], both).all())

    def only(self, rules: set[Rule]) -> RuleTable | None:
        """The part of the table that is about these rules."""
        rows = [place for place, rule in enumerate(self.rules) if rule in rules]
        if len(rows) in (0, len(self.rules)):
            return self if rows else None
        return RuleTable(
            tuple(self.rules[row] for row in rows),
            self.body,
            self.head,
            {name: column[rows] for name, column in self.columns.items()},
        )


def _key(columns: dict[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    return columns[names[0]] if len(names) == 1 else columns[names[0]] << IDS | columns[names[1]]


RuleForm = tuple[tuple[str | None, ...], int, int]  # nodes (None: a constant), atoms in the body and in the head


def tables(rules: Iterable[Rule], dictionary: TermDictionary, alone: set[Rule], few: int) -> Iterator[RuleTable]:
    """The rules, those of the same form together where there are more than `few`. Rules with guards, and those to be
    left `alone`, are tables of one."""
    forms: dict[RuleForm | Rule, list[tuple[Rule, list[str]]]] = {}
    for rule in rules:
        form, constants = _taken_apart(rule)
        forms.setdefault(rule if rule.guards or rule in alone else form, []).append((rule, constants))
    for shared, members in forms.items():
        if isinstance(shared, Rule) or len(members) <= few:
            for rule, _ in members:
                nodes = [node if is_variable(node) else int(dictionary.encode([node])[0]) for node in _nodes(rule)]
                yield RuleTable((rule,), *_atoms(nodes, len(rule.body)), {})
        else:
            yield _shared(shared, members, dictionary)


def _shared(form: RuleForm, members: list[tuple[Rule, list[str]]], dictionary: TermDictionary) -> RuleTable:
    nodes: list[Node] = []
    columns: dict[str, np.ndarray] = {}
    constants = zip(*(constants for _, constants in members))
    for node in form[0]:
        if node is not None:
            nodes.append(node)
            continue
        ids = dictionary.encode(next(constants))
        if (ids == ids[0]).all():
            nodes.append(int(ids[0]))
        else:
            nodes.append(name := f"?${len(columns)}")
            columns[name] = ids
    if not columns:  # they are the same but for the names of variables
        columns["?$0"] = np.arange(len(members))
    return RuleTable(tuple(rule for rule, _ in members), *_atoms(nodes, form[1]), columns)


def _nodes(rule: Rule) -> list[str]:
    return [node for atom in (*rule.body, *rule.head) for node in atom.nodes]


def _taken_apart(rule: Rule) -> tuple[RuleForm, list[str]]:
    """Its form, in which variables have names that tell nothing, and its constants."""
    names: dict[str, str] = {}
    nodes = _nodes(rule)
    form = tuple(names.setdefault(node, f"?{len(names)}") if is_variable(node) else None for node in nodes)
    return (form, len(rule.body), len(rule.head)), [node for node in nodes if not is_variable(node)]


def _atoms(nodes: Sequence[Node], body: int) -> tuple[tuple[Pattern, ...], tuple[Pattern, ...]]:
    atoms = tuple((nodes[place], nodes[place + 1], nodes[place + 2]) for place in range(0, len(nodes), 3))
    return atoms[:body], atoms[body:]
