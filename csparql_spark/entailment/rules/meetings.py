"""Meetings: which atoms one triple may match, of thousands of atoms, without comparing each with each.

Two atoms meet unless they have different constants in the same place. Only places where both have constants can keep
them apart; so atoms that have constants in the same places are alike, and there are eight kinds. Between two kinds, an
atom stands for nothing but its constants in the places that both have, its *junction*: two atoms meet where they have a
junction in common.

    junctions(head, kinds(bodies))                    # one for each kind
    junctions(body, kinds(heads), turned=True)        # the same ones, seen from the other side
    on_cycles([[1], [0], [0]])                               # {0, 1}: 2 leads there, and nothing leads back
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from csparql_spark.language.rules.rule import Atom, is_variable

AtomShape = tuple[bool, bool, bool]  # where an atom has constants
Junction = tuple[AtomShape, AtomShape, tuple[str | None, ...]]


def kind(atom: Atom) -> AtomShape:
    return not is_variable(atom.subject), not is_variable(atom.predicate), not is_variable(atom.object)


def kinds(atoms: Iterable[Atom]) -> frozenset[AtomShape]:
    return frozenset(map(kind, atoms))


def junctions(atom: Atom, others: Iterable[AtomShape], *, turned: bool = False) -> Iterator[Junction]:
    """What an atom has in common with those of other kinds that it meets."""
    own = kind(atom)
    for other in others:
        shared = tuple(node if mine and its else None for node, mine, its in zip(atom.nodes, own, other, strict=True))
        yield (other, own, shared) if turned else (own, other, shared)


def on_cycles(edges: Sequence[Sequence[int]]) -> set[int]:
    """The nodes from which a way leads back over others; `edges` of each node, which is no edge to itself. Each edge is
    taken once: these are the strongly connected components, as Tarjan finds them."""
    place = [-1] * len(edges)  # in the order in which nodes are reached
    lowest = [0] * len(edges)  # the first node of those on the way here that it leads back to
    opened: list[int] = []  # nodes whose component is not known yet
    open_ = [False] * len(edges)
    found: set[int] = set()
    reached = 0
    for root in range(len(edges)):
        waiting = [root] if place[root] < 0 else []
        walk: list[tuple[int, Iterator[int]]] = []
        while waiting or walk:
            if waiting:
                node = waiting.pop()
                place[node] = lowest[node] = reached
                reached += 1
                opened.append(node)
                open_[node] = True
                walk.append((node, iter(edges[node])))
            node, ways = walk[-1]
            for way in ways:
                if place[way] < 0:
                    waiting.append(way)
                    break
                if open_[way]:
                    lowest[node] = min(lowest[node], place[way])
            else:
                walk.pop()
                if walk:
                    before = walk[-1][0]
                    lowest[before] = min(lowest[before], lowest[node])
                if lowest[node] == place[node]:
                    component = _popped(opened, node)
                    for one in component:
                        open_[one] = False
                    if len(component) > 1:
                        found.update(component)
    return found


def _popped(stack: list[int], last: int) -> list[int]:
    popped = [stack.pop()]
    while popped[-1] != last:
        popped.append(stack.pop())
    return popped
