"""Rules: what follows from what, as objects that the entailment room works with.

A rule says: for each way to match the body's atoms that passes the guards, the head's atoms hold too. A node is a
variable, written `?x`, or a term in N-Triples syntax.

    rule = Rule(head=(Atom("?a", "<urn:isIn>", "?c"),),
                body=(Atom("?a", "<urn:isIn>", "?b"), Atom("?b", "<urn:isIn>", "?c")))
    rule.variables           # ('?a', '?b', '?c')

A `Guard` is a call of a builtin: a test (`greaterThan(?x, 28)`), or one that binds its last argument
(`sum(?x, ?y, ?z)`).
Two rules are equal when they say the same: their names and their places in a file do not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Atom:
    """A triple pattern."""

    subject: str
    predicate: str
    object: str

    @property
    def nodes(self) -> tuple[str, str, str]:
        return self.subject, self.predicate, self.object

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node for node in self.nodes if is_variable(node)))

    def __str__(self) -> str:
        return f"({self.subject} {self.predicate} {self.object})"


@dataclass(frozen=True, slots=True)
class Guard:
    """A call of a builtin, by its name in rule files."""

    name: str
    arguments: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node for node in self.arguments if is_variable(node)))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Rule:
    """`body`, guards → `head`. An empty body makes the head hold always."""

    head: tuple[Atom, ...]
    body: tuple[Atom, ...]
    guards: tuple[Guard, ...] = ()
    name: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)  # where it stands in its file

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the body's atoms, in the order of their first appearance."""
        return tuple(dict.fromkeys(node for atom in self.body for node in atom.variables))

    def __str__(self) -> str:
        left = " ".join(map(str, (*self.body, *self.guards)))
        return f"[{self.name + ': ' if self.name else ''}{left} -> {' '.join(map(str, self.head))}]"


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What a rule file holds: its rules, the names of the rule sets that it includes, and warnings about it. `patterns`
    are those of the warnings that say what a pattern of `regex` does not match, though it may look so."""

    rules: tuple[Rule, ...]
    includes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    patterns: tuple[str, ...] = field(default=(), compare=False)


def is_variable(node: str) -> bool:
    return node[0] == "?"
