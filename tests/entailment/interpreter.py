"""An interpreter of maintenance programs: every rule is applied to everything until nothing is new.

For example:

    relations = run(volz_program(rules), {"T": rows(closed), "ExtDel": rows([gone]), ...})
    relations["Minus"]                       # a set of rows: (triple, tag), the tag being None where there are none
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from csparql_spark.entailment.maintain.maintenance import NOW, Goal, MaintenanceProgram, MaintenanceRule, TagComparison
from csparql_spark.language.rules.rule import Atom
from tests.entailment.twin import Binding, Lookup, Triple, is_triple
from tests.entailment.twin_guards import passed

Row = tuple[Triple, int | None]
Relations = dict[str, set[Row]]


def rows(facts: Iterable[Triple] | Mapping[Triple, int]) -> set[Row]:
    return {(fact, facts[fact] if isinstance(facts, Mapping) else None) for fact in facts}


def run(program: MaintenanceProgram, given: Mapping[str, set[Row]], now: int = 0) -> Relations:
    """All relations, from those that are given."""
    relations: Relations = {name: set(given.get(name, ())) for name in program.relations}
    if program.by_tag:
        tags = {tag for content in relations.values() for _, tag in content}
        for tag in sorted(tags, reverse=True):
            # Each of them, also where one before has found something.
            while any([saturate(program, relations, group, now, tag) for group in program.by_tag]):  # noqa: C419
                pass
    for stratum in program.strata:
        saturate(program, relations, stratum, now)
    return relations


def saturate(
    program: MaintenanceProgram, relations: Relations, group: tuple[str, ...], now: int, tag: int | None = None
) -> bool:
    """Apply the rules for some relations until nothing is new (of one tag, if it is given), and say whether anything
    was."""
    grown = False
    while True:
        new = [
            (rule.head.relation, row)
            for name in group
            for rule in program.defining(name)
            for row in derived(rule, relations, now)
            if row not in relations[name] and tag in (None, row[1])
        ]
        if not new:
            return grown
        for name, row in new:
            relations[name].add(row)
        grown = True


def derived(rule: MaintenanceRule, relations: Relations, now: int) -> Iterator[Row]:
    bindings: list[tuple[Binding, dict[str, int]]] = [({}, {NOW: now})]
    for part in sorted(rule.body, key=lambda part: part.denied):
        if part.denied:
            bindings = [(nodes, tags) for nodes, tags in bindings if not has(relations, part, nodes, tags)]
        else:
            bindings = [both for nodes, tags in bindings for both in extended(relations, part, nodes, tags)]
    for nodes, tags in bindings:
        if not all(holds(comparison, tags) for comparison in rule.comparisons):
            continue
        for guard in rule.guards:
            nodes = passed(guard, nodes) if nodes is not None else None
        if nodes is None:
            continue
        triple = filled(rule.head.atom, nodes)
        tag = min(tags[name] for name in rule.least) if rule.least else tags.get(rule.head.tag)
        if is_triple(triple):
            yield triple, tag


def extended(relations: Relations, part: Goal, nodes: Binding, tags: dict[str, int]) -> Iterator[tuple[Binding, dict]]:
    for triple, tag in relations[part.relation]:
        if part.tag is None or tags.get(part.tag, tag) == tag:
            for new in Lookup([triple]).extended(part.atom, nodes):
                yield new, tags if part.tag is None else {**tags, part.tag: tag}


def has(relations: Relations, part: Goal, nodes: Binding, tags: dict[str, int]) -> bool:
    triple, tag = filled(part.atom, nodes), tags.get(part.tag)
    return any(
        other == triple and (own == tag or part.or_more and own > tag) for other, own in relations[part.relation]
    )


def filled(atom: Atom, nodes: Binding) -> Triple:
    subject, predicate, object_ = (nodes.get(node, node) for node in atom.nodes)
    return subject, predicate, object_


def holds(comparison: TagComparison, tags: dict[str, int]) -> bool:
    left, right = tags[comparison.left], tags[comparison.right]
    return left > right if comparison.operator == ">" else left <= right
