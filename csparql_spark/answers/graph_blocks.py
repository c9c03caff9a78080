"""GRAPH blocks: what each named graph answers by itself.

What stands in a GRAPH block is asked of one graph after the other, and the graph's name is joined to what each of them
says (SPARQL 1.1, 18.6). Oxigraph makes the name one more variable of each triple pattern instead. That says the same
where every solution comes with a triple of the graph, and nothing inside looks at that variable:

    GRAPH ?g { ?s :p ?o OPTIONAL { ?o :q ?x } FILTER(?x > 1) }      is left as it is
    GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s :p ?o } }               would count over all graphs
    GRAPH ?g { ?s :p ?o MINUS { ?x :p ?o } }                        would have ?g on both sides
    GRAPH ?g { VALUES ?o { 1 } }                                    would look into no graph

The others become a union over the graphs that are there when it is asked:

    { { SELECT * { GRAPH <i:4> { ... } } } VALUES ?g { <i:4> } }
    UNION { { SELECT * { GRAPH <i:9> { ... } } } VALUES ?g { <i:9> } }

Measured: to count in each of 1,000 graphs takes 0.6 s.

As a text is written before its graphs are known, a block stands in it between `Each` and `END`.

    unfolded(("{", Each("?g"), "{", "VALUES ...", "}", END, "}"), ["<urn:g>", "<urn:h>"])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from csparql_spark.answers.limits import TooMuch
from csparql_spark.answers.patterns import Constant, Piece
from csparql_spark.language.queries.syntax import Node as Tree

MOST_PIECES = 2_000_000  # of a text: some seconds until it is read

_NOWHERE: tuple[Piece, ...] = ("{", "VALUES", "(", ")", "{", "}", "}")


class Each(str):
    """Here begins a group that each graph answers by itself: those that its text, a variable or an IRI, can be."""

    __slots__ = ()


class _End(str):
    __slots__ = ()


END = _End("")


def with_names(group: Tree, name: str) -> bool:
    """Whether a group says the same when `name`, a variable or an IRI, is one more place of its triple patterns."""
    inner = next(iter(group.nodes()), None)
    if inner is None or inner.rule == "SubSelect":
        return False
    bound = False  # whether a solution so far comes with a triple of the graph
    for part in inner.nodes():
        if part.rule != "TriplesPath" and any(token.text == name for token in part.all_tokens("VAR")):
            return False
        groups = list(_groups(part))
        match part.rule:
            case "TriplesPath":
                if any(len(list(path.all_tokens())) > 1 for path in part.walk("Path")):
                    return False
                bound = True
            case "Union" if all(with_names(one, name) for one in groups):
                bound = True
            case "Optional" if bound and with_names(groups[0], name):
                pass
            case "Filter" | "Bind" | "Values" if all(with_names(one, name) for one in groups):
                pass
            case "GraphBlock":  # it is asked of graphs of its own
                pass
            case _:
                return False
    return bound


def _groups(part: Tree) -> Iterator[Tree]:
    """The groups of a part, but for those within them."""
    for child in part.nodes():
        if child.rule == "Group":
            yield child
        else:
            yield from _groups(child)


def unfolded(pieces: Sequence[Piece], graphs: Sequence[str]) -> list[Piece]:
    """The pieces of a text, for a store that has these named graphs. Raises `TooMuch`."""
    # The innermost block ends first.
    stack: list[tuple[Each, list[Piece]]] = [(Each(""), [])]
    for piece in pieces:
        if type(piece) is Each:
            stack.append((piece, []))
        elif type(piece) is _End:
            name, group = stack.pop()
            stack[-1][1].extend(_of_each(name, group, graphs))
        else:
            stack[-1][1].append(piece)
    return stack[0][1]


def _of_each(name: Each, group: list[Piece], graphs: Sequence[str]) -> Iterator[Piece]:
    found = graphs if name[0] == "?" else [graph for graph in graphs if graph == name]
    if len(group) * len(found) > MOST_PIECES:
        raise TooMuch(
            f"GRAPH {name} asks each of {len(found):,} graphs by itself, which makes too long a text: "
            "name fewer graphs with FROM NAMED, or nest fewer GRAPH blocks"
        )
    yield from _union(name, group, found) if found else _NOWHERE


def _union(name: Each, group: list[Piece], graphs: Sequence[str]) -> Iterator[Piece]:
    """What each of the graphs says. Of many, each half has braces of its own: Oxigraph takes the square of a row."""
    if len(graphs) == 1:
        block = ("{", "GRAPH", Constant(graphs[0]), *group, "}")
        yield from block if name[0] != "?" else _with_name(name, block, graphs[0])
        return
    half = len(graphs) // 2
    yield "{"
    yield from _union(name, group, graphs[:half])
    yield "}"
    yield "UNION"
    yield "{"
    yield from _union(name, group, graphs[half:])
    yield "}"


def _with_name(name: Each, block: Sequence[Piece], graph: str) -> Iterator[Piece]:
    """What a graph says, joined with its name. Oxigraph would put the name's value into a group that stands beside it,
    where a MINUS would have it on both sides; into a sub-SELECT it does not."""
    yield from ("{", "{", "SELECT", "*", *block, "}")
    yield from ("VALUES", name, "{", Constant(graph), "}", "}")
