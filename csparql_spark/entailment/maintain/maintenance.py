"""Maintenance programs: what has to be done when facts change, written as rules, as the papers write it.

    print(volz_program(rules).text())          # Volz, Staab, Motik: delete too much, derive again, insert
    print(imars_program(rules).text())         # Barbieri et al. (IMaRS): tags, and what enters the window

A program is made from any rules by rewriting each of them, and the one relation of triples gets companions: what is
deleted, what is inserted, what there is afterwards. Nothing here evaluates. The strategies `DeleteRederive` and
`Expiration` do the same work on columns; in tests the programs, run by a small interpreter, are compared with the naive
twin.

`MaintenanceProgram.relations` says what each relation holds, and `strata` in which order they can be filled: a relation
is complete before a later group denies it. The IMaRS program denies in a circle (what enters is new unless it is old,
what is new makes more enter, what enters makes old), and still has one meaning: whether a triple is old with some tag
depends on what enters with greater tags. `by_tag` has these relations: they are filled from the greatest tag down.

The counts of the papers. Volz, Staab and Motik count 21 atoms in the bodies of their rules for RDF(S), and so do we
with the rule that takes over explicit triples: 21 insertion and 21 deletion rules, and 5 for the relations. Each rule
also makes one for deriving again: 14, as their figure prints 13 rules, where their text counts 15. That makes 61, not
62. (If the figure had a reflexive `rdfs5b` beside its `rdfs5a`, there would be 15, but then 22 atoms, and 64 in all.)

Where the tables of the IMaRS paper, read to the letter, do not give the closure, the program differs, and its rule says
so: what has expired has a tag up to now (the paper has instants without gaps, and shows a triple at the instant of its
tag); a triple is added when it is not there with the same or a greater tag (the paper: with any tag, which would lose
the improved ones).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from csparql_spark.language.queries.prologue import WELL_KNOWN
from csparql_spark.language.rules.printing import show_node
from csparql_spark.language.rules.rule import Atom, Guard, Rule

ANY = Atom("?s", "?p", "?o")
NOW = "now"
_PREFIXES = {namespace: name for name, namespace in WELL_KNOWN.items()}


@dataclass(frozen=True, slots=True)
class Goal:
    """That a relation has a triple; in programs with tags, `tag` is a variable for the tag with which.

    `denied`: that it does not have it, with that tag; `or_more`: or a greater one."""

    relation: str
    atom: Atom
    tag: str | None = None
    denied: bool = False
    or_more: bool = False

    def __str__(self) -> str:
        nodes = " ".join(show_node(node, _PREFIXES) for node in self.atom.nodes)
        tag = "" if self.tag is None else f"[{'>= ' if self.or_more else ''}{self.tag}]"
        return f"{'not ' if self.denied else ''}{self.relation}({nodes}){tag}"


@dataclass(frozen=True, slots=True)
class TagComparison:
    """That one tag is `>` or `<=` another, which may be `now`."""

    left: str
    operator: str
    right: str

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class MaintenanceRule:
    """`head :- body, guards, comparisons`, and where there is `least`, the head's tag is the least of these."""

    head: Goal
    body: tuple[Goal, ...]
    guards: tuple[Guard, ...] = ()
    comparisons: tuple[TagComparison, ...] = ()
    least: tuple[str, ...] = ()
    source: str = ""  # the rewriting that made it, and of which rule

    def __str__(self) -> str:
        minimum = [f"{self.head.tag} = min({', '.join(self.least)})"] if self.least else []
        guards = [
            f"{guard.name}({', '.join(show_node(node, _PREFIXES) for node in guard.arguments)})"
            for guard in self.guards
        ]
        return f"{self.head} :- {', '.join([*map(str, self.body), *guards, *map(str, self.comparisons), *minimum])}."


@dataclass(frozen=True, slots=True)
class MaintenanceProgram:
    title: str
    relations: dict[str, str]  # what each relation holds, the given ones first
    rules: tuple[MaintenanceRule, ...]
    strata: tuple[tuple[str, ...], ...]
    by_tag: tuple[tuple[str, ...], ...] = ()  # filled before the strata, once for each tag from the greatest down

    def defining(self, relation: str) -> tuple[MaintenanceRule, ...]:
        return tuple(rule for rule in self.rules if rule.head.relation == relation)

    def text(self) -> str:
        """The program to be read: what the relations hold, then the rules of each, and what each was made from."""
        width = max(map(len, self.relations))
        lines = [f"% {self.title}", "%"]
        lines += [f"% {name:{width}}  {meaning}" for name, meaning in self.relations.items()]
        for relation in self.relations:
            rules = self.defining(relation)
            lines += ["", f"% {relation}: {len(rules)} rule{'s' if len(rules) > 1 else ''}"] if rules else []
            column = max((len(str(rule)) for rule in rules if len(str(rule)) <= 90), default=0)
            lines += [f"{rule!s:{column}}  % {rule.source}" for rule in rules]
        lines += ["", f"% {len(self.rules)} rules in all"]
        return "".join(f"{line}\n" for line in lines)


def volz_program(rules: Iterable[Rule]) -> MaintenanceProgram:
    """Delete and re-derive, declaratively: Table 2 of the IMaRS paper, section 3.2 of Volz et al.

    Given what was explicit and what was materialised, and the explicit changes, it computes what to add to the
    materialisation (`Plus`) and what to take out of it (`Minus`). It is as long as the table is."""
    made = [
        MaintenanceRule(Goal("New", ANY), (Goal("T", ANY), Goal("Del", ANY, denied=True)), source="what stays"),
        MaintenanceRule(Goal("New", ANY), (Goal("Red", ANY),), source="what is derived again"),
        MaintenanceRule(Goal("New", ANY), (Goal("Ins", ANY),), source="what is inserted"),
        MaintenanceRule(Goal("Plus", ANY), (Goal("Ins", ANY), Goal("T", ANY, denied=True)), source="net insertions"),
        MaintenanceRule(
            Goal("Minus", ANY),
            (Goal("Del", ANY), Goal("Ins", ANY, denied=True), Goal("Red", ANY, denied=True)),
            source="net deletions",
        ),
        MaintenanceRule(Goal("Del", ANY), (Goal("ExtDel", ANY),), source="explicit triples"),
        MaintenanceRule(Goal("Ins", ANY), (Goal("ExtIns", ANY),), source="explicit triples"),
        MaintenanceRule(Goal("Red", ANY), (Goal("Del", ANY), Goal("ExtNew", ANY)), source="explicit triples"),
    ]
    count = 0
    for rule, head, name in _single(rules):
        count += 1
        for place in range(len(rule.body)):
            made.append(
                MaintenanceRule(
                    Goal("Del", head),
                    tuple(Goal("Del" if other == place else "T", part) for other, part in enumerate(rule.body)),
                    rule.guards,
                    source=_of(name, rule, place),
                )
            )
            made.append(
                MaintenanceRule(
                    Goal("Ins", head),
                    tuple(Goal("Ins" if other == place else "New", part) for other, part in enumerate(rule.body)),
                    rule.guards,
                    source=_of(name, rule, place),
                )
            )
        made.append(
            MaintenanceRule(
                Goal("Red", head),
                (Goal("Del", head), *(Goal("New", part) for part in rule.body)),
                rule.guards,
                source=name,
            )
        )
    return MaintenanceProgram(
        f"Delete, re-derive, insert: the maintenance program of {_rules(count)} (Volz, Staab, Motik)",
        {
            "T": "given: the materialisation before the change",
            "ExtDel": "given: the explicit triples to delete",
            "ExtIns": "given: the explicit triples to insert",
            "ExtNew": "given: the explicit triples after the change",
            "Del": "what may have to go: all that was derived with something that goes",
            "Red": "of that, what can still be derived",
            "Ins": "what is inserted or derived with it",
            "New": "the materialisation after the change",
            "Plus": "to add to T",
            "Minus": "to take out of T",
        },
        tuple(made),
        (("Del",), ("Red", "Ins", "New"), ("Plus", "Minus")),
    )


def imars_program(rules: Iterable[Rule]) -> MaintenanceProgram:
    """Expiration: Table 5 of the IMaRS paper, with tags in brackets.

    Given the materialisation and what enters the window at the instant `now`, it computes what to add (`Plus`) and what
    to take out (`Minus`); nothing has to be derived again, because a tag says when its triple goes. It is as long as
    the table is."""
    made = [
        MaintenanceRule(
            Goal("New", ANY, "t"),
            (Goal("T", ANY, "t"),),
            comparisons=(TagComparison("t", ">", NOW),),
            source="what has not expired; the paper: t is not now - 1",
        ),
        MaintenanceRule(
            Goal("New", ANY, "t"),
            (Goal("Ins", ANY, "t"), Goal("Old", ANY, "t", denied=True)),
            source="what enters, unless it is there for longer",
        ),
        MaintenanceRule(
            Goal("Old", ANY, "t"),
            (Goal("Ins", ANY, "t1"), Goal("T", ANY, "t")),
            comparisons=(TagComparison("t1", ">", "t"),),
            source="it was there, and now for longer",
        ),
        MaintenanceRule(
            Goal("Old", ANY, "t"),
            (Goal("Ins", ANY, "t1"), Goal("Ins", ANY, "t")),
            comparisons=(TagComparison("t1", ">", "t"),),
            source="it enters twice",
        ),
        MaintenanceRule(
            Goal("Minus", ANY, "t"),
            (Goal("T", ANY, "t"), Goal("Ins", ANY, "t", denied=True)),
            comparisons=(TagComparison("t", "<=", NOW),),
            source="what has expired; the paper: t is now - 1",
        ),
        MaintenanceRule(Goal("Minus", ANY, "t"), (Goal("Old", ANY, "t"),), source="what is there for longer"),
        MaintenanceRule(
            Goal("PlusPlus", ANY, "t"),
            (Goal("New", ANY, "t"), Goal("T", ANY, "t", denied=True, or_more=True)),
            source="what T lacks; the paper: with any tag",
        ),
        MaintenanceRule(
            Goal("Plus", ANY, "t"),
            (Goal("PlusPlus", ANY, "t"), Goal("Old", ANY, "t", denied=True)),
            source="net insertions",
        ),
    ]
    count = 0
    for rule, head, name in _single(rules):
        count += 1
        tags = tuple(f"t{place}" for place in range(1, len(rule.body) + 1))
        for place in range(len(rule.body)):
            made.append(
                MaintenanceRule(
                    Goal("Ins", head, "t"),
                    tuple(
                        Goal("Ins" if other == place else "New", part, tag)
                        for other, (part, tag) in enumerate(zip(rule.body, tags))
                    ),
                    rule.guards,
                    least=tags,
                    source=_of(name, rule, place),
                )
            )
    return MaintenanceProgram(
        f"Expiration: the maintenance program of {_rules(count)} (Barbieri, Braga, Ceri, Della Valle, Grossniklaus)",
        {
            "T": "given: the materialisation, each triple with its tag",
            "Ins": "given: what enters the window at now, each triple with its tag; and what is derived with it",
            "New": "what holds at now",
            "Old": "what holds for longer than this tag says",
            "PlusPlus": "what is new or holds for longer",
            "Plus": "to add to T",
            "Minus": "to take out of T",
        },
        tuple(made),
        (("Minus", "PlusPlus"), ("Plus",)),
        (("Ins", "Old"), ("New",)),
    )


def _single(rules: Iterable[Rule]) -> Iterable[tuple[Rule, Atom, str]]:
    """Each rule once for each atom of its head, and what it is called."""
    for number, rule in enumerate(rules, 1):
        for atom in rule.head:
            yield rule, atom, rule.name or f"rule {number}"


def _of(name: str, rule: Rule, place: int) -> str:
    """Which atom of a rule's body is the one that changes."""
    names = ("first", "second", "third")
    nth = names[place] if place < len(names) else f"{place + 1}th"
    return name if len(rule.body) == 1 else f"{name}, {nth} atom"


def _rules(count: int) -> str:
    return f"{count} rule{'' if count == 1 else 's'}"
