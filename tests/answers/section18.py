"""SPARQL 1.1, section 18, by enumeration: what a group pattern says of a dataset, a line for each line of the text.

    group = (("graph", "?g", (("triple", "?a", "<urn:p>", "?b"), ("minus", (("triple", "?c", "<urn:p>", "?d"),)))),)
    text(group)                  # { GRAPH ?g { ?a <urn:p> ?b . MINUS { ?c <urn:p> ?d . } } }
    solutions(group, {"": set(), "<urn:g>": {("<urn:a>", "<urn:p>", "<urn:b>")}})

A group is a tuple of parts. It shares no code with what it is compared with, and looks at every solution of everything.

A path is a tuple, too, and leads from node to node, a pair for each solution. Alternatives, which SPARQL counts one by
one, are told once for each pair here: that is what both evaluators say.

    ("path", "?a", ("sequence", ("link", "<urn:p>"), ("negated", ("<urn:q>",), ())), "?b")       # ?a (<urn:p>/!(<urn:q>)) ?b
"""

from __future__ import annotations

from collections.abc import Mapping

Triple = tuple[str, str, str]
Graphs = Mapping[str, set[Triple]]  # "" is the default graph
Row = dict[str, str]
Part = tuple
Path = tuple
Group = tuple[Part, ...]


def text(group: Group) -> str:
    return "{ " + " ".join(map(_written, group)) + " }"


def _written(part: Part) -> str:
    match part:
        case "triple", *nodes:
            return f"{' '.join(nodes)} ."
        case "path", subject, path, object:
            return f"{subject} {_way(path)} {object} ."
        case "group", inner:
            return text(inner)
        case "union", left, right:
            return f"{text(left)} UNION {text(right)}"
        case ("optional" | "minus") as keyword, inner:
            return f"{keyword.upper()} {text(inner)}"
        case "graph", name, inner:
            return f"GRAPH {name} {text(inner)}"
        case "filter", *test:
            return f"FILTER({_test(test)})"
        case "values", name, terms:
            return f"VALUES {name} {{ {' '.join(terms)} }}"
        case "select", names, distinct, inner:
            return f"{{ SELECT {'DISTINCT ' * distinct}{' '.join(names)} WHERE {text(inner)} }}"
        case "count", keys, name, inner:
            by = f" GROUP BY {' '.join(keys)}" if keys else ""
            return f"{{ SELECT {' '.join(keys)} (COUNT(*) AS {name}) WHERE {text(inner)}{by} }}"
    raise ValueError(part)


def _way(path: Path) -> str:
    match path:
        case "link", iri:
            return iri
        case "inverse", inner:
            return f"^{_way(inner)}" if inner[0] == "link" else f"^({_way(inner)})"
        case "sequence", one, other:
            return f"({_way(one)}/{_way(other)})"
        case "either", one, other:
            return f"({_way(one)}|{_way(other)})"
        case "many", inner:
            return f"({_way(inner)})+"
        case "negated", there, back:
            return f"!({'|'.join((*there, *(f'^{iri}' for iri in back)))})"
    raise ValueError(path)


def _test(test: list) -> str:
    match test:
        case "bound", name:
            return f"BOUND({name})"
        case "unbound", name:
            return f"!BOUND({name})"
        case ("=" | "!=") as sign, left, right:
            return f"{left} {sign} {right}"
        case ("exists" | "not exists") as keyword, inner:
            return f"{keyword.upper()} {text(inner)}"
    raise ValueError(test)


def solutions(group: Group, graphs: Graphs, active: str = "", outer: Row | None = None) -> list[Row]:
    """The solutions of a group, with `active` as the active graph. `outer` is what an EXISTS puts into its pattern."""
    outer = outer or {}
    found, tests = _without_filters(group, graphs, active, outer)
    return [row for row in found if _passes(row, tests, graphs, active, outer)]


def _without_filters(group: Group, graphs: Graphs, active: str, outer: Row) -> tuple[list[Row], list[list]]:
    found: list[Row] = [{}]
    tests = [list(part[1:]) for part in group if part[0] == "filter"]
    for part in group:
        match part:
            case "filter", *_:
                continue
            case "optional", inner:
                right, inside = _without_filters(inner, graphs, active, outer)
                found = _left_joined(
                    found, right, lambda row, inside=inside: _passes(row, inside, graphs, active, outer)
                )
            case "minus", inner:
                right = solutions(inner, graphs, active, outer)
                found = [row for row in found if not any(row.keys() & one.keys() and _fit(row, one) for one in right)]
            case _:
                found = joined(found, _part(part, graphs, active, outer))
    return found, tests


def _part(part: Part, graphs: Graphs, active: str, outer: Row) -> list[Row]:
    match part:
        case "triple", *nodes:
            found = []
            for triple in graphs[active]:
                row: Row = {}
                if all(
                    row.setdefault(node, term) == term if node[0] == "?" else node == term
                    for node, term in zip((outer.get(node, node) for node in nodes), triple, strict=True)
                ):
                    found.append(row)
            return found
        case "path", subject, path, object:
            found = []
            for pair in _pairs(path, graphs[active]):
                row = {}
                if all(
                    row.setdefault(node, term) == term if node[0] == "?" else node == term
                    for node, term in zip((outer.get(node, node) for node in (subject, object)), pair, strict=True)
                ):
                    found.append(row)
            return found
        case "group", inner:
            return solutions(inner, graphs, active, outer)
        case "union", left, right:
            return solutions(left, graphs, active, outer) + solutions(right, graphs, active, outer)
        case "graph", name, inner:
            names = [graph for graph in graphs if graph and (name[0] == "?" or name == graph)]
            found = []
            for graph in names:
                rows = solutions(inner, graphs, graph, outer)
                found += joined(rows, [{name: graph}]) if name[0] == "?" else rows
            return found
        case "values", name, terms:
            return [{} if term == "UNDEF" else {name: term} for term in terms]
        case "select", names, distinct, inner:
            found = [{name: row[name] for name in names if name in row} for row in solutions(inner, graphs, active)]
            return [row for place, row in enumerate(found) if not distinct or row not in found[:place]]
        case "count", keys, name, inner:
            counts: dict[tuple, int] = {} if keys else {(): 0}
            for row in solutions(inner, graphs, active):
                key = tuple((one, row[one]) for one in keys if one in row)
                counts[key] = counts.get(key, 0) + 1
            return [
                {**dict(key), name: f'"{count}"^^<http://www.w3.org/2001/XMLSchema#integer>'}
                for key, count in counts.items()
            ]
    raise ValueError(part)


def _pairs(path: Path, triples: set[Triple]) -> list[tuple[str, str]]:
    """From where to where a path leads, as often as it does."""
    match path:
        case "link", iri:
            return [(s, o) for s, p, o in triples if p == iri]
        case "inverse", inner:
            return [(end, start) for start, end in _pairs(inner, triples)]
        case "sequence", one, other:
            return [
                (start, end)
                for start, middle in _pairs(one, triples)
                for node, end in _pairs(other, triples)
                if middle == node
            ]
        case "either", one, other:
            return list({*_pairs(one, triples), *_pairs(other, triples)})
        case "many", inner:
            found, last = set(), set(_pairs(inner, triples))
            steps = list(last)
            while last - found:
                found |= last
                last = {(start, end) for start, middle in found for node, end in steps if middle == node}
            return list(found)
        case "negated", there, back:
            found = [(s, o) for s, p, o in triples if p not in there] if there or not back else []
            return found + ([(o, s) for s, p, o in triples if p not in back] if back else [])
    raise ValueError(path)


def joined(left: list[Row], right: list[Row]) -> list[Row]:
    return [one | other for one in left for other in right if _fit(one, other)]


def _left_joined(left: list[Row], right: list[Row], passes) -> list[Row]:
    found = []
    for one in left:
        both = [one | other for other in right if _fit(one, other) and passes(one | other)]
        found += both or [one]
    return found


def _fit(one: Row, other: Row) -> bool:
    return all(other.get(name, term) == term for name, term in one.items())


def _value(term: str, row: Row) -> str | None:
    return row.get(term) if term[0] == "?" else term


def _passes(row: Row, tests: list[list], graphs: Graphs, active: str, outer: Row) -> bool:
    return all(_holds(row, test, graphs, active, outer) for test in tests)


def _holds(row: Row, test: list, graphs: Graphs, active: str, outer: Row) -> bool:
    """Whether a test is true: it is not where it is in error."""
    match test:
        case "bound", name:
            return name in row
        case "unbound", name:
            return name not in row
        case ("=" | "!=") as sign, left, right:
            one, other = _value(left, row), _value(right, row)
            return one is not None and other is not None and (one == other) == (sign == "=")
        case ("exists" | "not exists") as keyword, inner:
            return bool(solutions(inner, graphs, active, row)) == (keyword == "exists")
    raise ValueError(test)
