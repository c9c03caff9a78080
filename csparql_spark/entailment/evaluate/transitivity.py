"""Transitive rules, with each path taken once.

Joined like any other rule, the one that says that a predicate is transitive finds a path of n steps in n - 1 ways, and
what it has found has to be joined again. What it makes of new facts can be told at once instead, if all other facts
are closed under it already (`old` below; of two facts of it that meet, at least the consequence is new): a path that
uses a new fact is

    [old] new  [old] new  …  [old] new  [old]
    ───hop───  ───hop───     ───hop───

and where the hops are whole, each path is made up of them in one way. So new facts are extended to the left, once;
then hop is joined to hop until nothing is new; then all is extended to the right, once.

    for block in extended(graph, predicate, delta): ...     # `delta`: the graph's fresh facts with the predicate
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from csparql_spark.kernel.limits import UNBOUNDED, TooMuchAtOnce
from csparql_spark.language.rules.rule import Rule, is_variable
from csparql_spark.relations.graph import Facts, Keyed, TaggedGraph
from csparql_spark.relations.links import Links


def is_transitivity(rule: Rule) -> bool:
    """Whether a rule says that one predicate is transitive, and nothing else."""
    if len(rule.body) != 2 or len(rule.head) != 1 or rule.guards or is_variable(rule.head[0].predicate):
        return False
    if len({atom.predicate for atom in (*rule.body, *rule.head)}) > 1:
        return False
    start, end = rule.head[0].subject, rule.head[0].object
    return any(
        one.subject == start
        and other.object == end
        and one.object == other.subject
        and len({start, end, one.object}) == 3
        and all(map(is_variable, (start, end, one.object)))
        for one, other in (rule.body, rule.body[::-1])
    )


def extended(
    graph: TaggedGraph, predicate: int, delta: Facts, most: int = UNBOUNDED, check: Callable[[], None] = lambda: None
) -> Iterator[Keyed]:
    """All paths that use one of the new facts, each with the greatest tag that one of its kind has, packed for the
    graph. `TooMuchAtOnce` if more than `most` rows are to be looked at for paths of one length, or if there are more
    paths. With each length the `check` is made of whether there is time: a long chain has thousands."""
    old = graph.count(predicate) > delta.size
    links, new = Links(graph, predicate), graph.keyed(delta)
    hops = TaggedGraph(packing=graph.packing)
    whole = hops.add_keyed([new, links.before(new, fresh=False, most=most)] if old else [new])
    hop = Links(hops, predicate)
    paths = TaggedGraph(packing=graph.packing)
    found = paths.add_keyed([whole])
    while found.size:
        check()
        if paths.rows > most:
            raise TooMuchAtOnce
        found = paths.add_keyed([hop.after(found, most=most)])
    all_paths = paths.all_keyed()
    yield all_paths
    if old:
        yield links.after(all_paths, fresh=False, most=most)
