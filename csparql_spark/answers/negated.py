"""Negated property sets: which links they leave, and where in a path each of these is a solution of its own.

    ?s !(:p|:q) ?o        the links but :p and :q, from ?s to ?o
    ?s !^:p ?o            the links but :p, from ?o to ?s
    ?s !(:p|^:q) ?o       both of these, as a union: the links but :p there, and the links but :q back
    ?s !() ?o             all links, from ?s to ?o

A negated set is told once for each link that it leaves, however many lead from one node to another (SPARQL 1.1, 18.4),
whether or not its ends are known by other patterns. So are the inverse of one, and a sequence with one in it. What
repeats its steps, and alternatives, are told once for each pair of nodes, and a negated set in them makes no
difference.

    is_counted(path)                              # whether there is a set in it whose links are told one by one
    list(parts_of("?s", path, "?o", fresh))       # ?s !:p/:q ?o: [("?s", !:p, "?step"), ("?step", :q, "?o")]
    links_but(negated, iri_of)                    # !(:p|^:q): ([":p"], [":q"]); None for a direction that is not asked
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from csparql_spark.answers.patterns import TYPE, Node
from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.rdf.terms import iri


def is_counted(path: Tree) -> bool:
    match path.rule:
        case "PathNegated":
            return True
        case "Path" if len(path.nodes()) > 1:
            return False
        case "PathStep" if path.token("?", "*", "+") is not None:
            return False
    return any(map(is_counted, path.nodes()))


def parts_of(
    subject: Node, path: Tree, object: Node, fresh: Callable[[str], Node]
) -> Iterator[tuple[Node, Tree, Node]]:
    """A path as parts that are joined: those with such a set are `PathNegated`. `fresh` makes a variable of its
    argument that there is not yet."""
    if path.rule == "PathNegated" or not is_counted(path):
        yield subject, path, object
    elif path.rule == "PathSequence":
        steps = path.nodes()
        nodes = [subject, *(fresh("step") for _ in steps[1:]), object]
        for before, step, after in zip(nodes, steps, nodes[1:]):
            yield from parts_of(before, step, after, fresh)
    else:
        start, end = (object, subject) if path.rule == "PathStep" and path.token("^") is not None else (subject, object)
        yield from parts_of(start, path.nodes()[0], end, fresh)


def links_but(negated: Tree, iri_of: Callable[[Tree], str]) -> tuple[list[Node] | None, list[Node] | None]:
    """The links that a `PathNegated` leaves out, there and back; None: it asks for no link in that direction."""
    there: list[Node] = []
    back: list[Node] = []
    for one in negated.nodes("PathOne"):
        link = one.node("Iri")
        (there if one.token("^") is None else back).append(TYPE if link is None else iri(iri_of(link)))
    return there if there or not back else None, back or None
