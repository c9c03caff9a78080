"""Updates are what a set of quads makes of them, term by term."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.limits import Limits
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.update import Update, worked_out
from csparql_spark.language import LanguageError
from csparql_spark.language.updates import graphs_read, parse_update
from csparql_spark.rdf.chunk import Chunk
from tests.examples import examples

XSD = "http://www.w3.org/2001/XMLSchema#"
# As they are written, and as terms.
LITERALS = {
    "01": f'"01"^^<{XSD}integer>',
    "1": f'"1"^^<{XSD}integer>',
    "+1": f'"+1"^^<{XSD}integer>',
    "1.0": f'"1.0"^^<{XSD}decimal>',
    "1.00": f'"1.00"^^<{XSD}decimal>',
    "1e0": f'"1e0"^^<{XSD}double>',
    f'"2020-01-01T00:00:00.000Z"^^<{XSD}dateTime>': f'"2020-01-01T00:00:00.000Z"^^<{XSD}dateTime>',
    f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>': f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>',
    f'"1"^^<{XSD}boolean>': f'"1"^^<{XSD}boolean>',
    '"x"@EN-GB': '"x"@en-gb',
    "'a b\\n'": '"a b\\n"',
}
IRIS = ["<urn:a>", "<urn:b>", "<urn:p>"]
BLANK = ["_:x", "_:y"]
GRAPHS = ["urn:g", "urn:h"]
Triple = tuple[str, str, str]
Graphs = dict[str, set[Triple]]

written = {**{iri: iri for iri in IRIS}, **LITERALS}
nodes = st.sampled_from([*IRIS, *BLANK])
objects = st.sampled_from([*IRIS, *BLANK, *LITERALS.values()])
triples = st.tuples(nodes, st.sampled_from(IRIS), objects)
backgrounds = st.fixed_dictionaries({}, optional={graph: st.frozensets(triples, max_size=6) for graph in GRAPHS})
data = st.lists(st.tuples(st.sampled_from(IRIS), st.sampled_from(IRIS), st.sampled_from(list(written))), max_size=4)
places = st.sampled_from(["?s", "?o", "<urn:a>", "<urn:p>"])
patterns = st.lists(
    st.tuples(places, st.sampled_from(["?p", "<urn:p>"]), st.sampled_from(["?s", "?o", "?q", "01", "1", "<urn:b>"])),
    min_size=1,
    max_size=2,
)
templates = st.lists(
    st.tuples(places, st.sampled_from(["?p", "?o", "<urn:p>"]), st.sampled_from(["?s", "?o", "?q", "+1", "'x'"])),
    max_size=2,
)
graph = st.sampled_from(GRAPHS)


def text_of(lines) -> str:
    return " . ".join(" ".join(line) for line in lines)


def term(node: str) -> str:
    return LITERALS.get(node, {"'x'": '"x"'}.get(node, node))


def solutions(pattern, there: set[Triple]) -> list[dict[str, str]]:
    """By enumeration: each way to choose a triple for each line."""
    found = []
    for chosen in itertools.product(sorted(there), repeat=len(pattern)):
        row: dict[str, str] = {}
        pairs = [(term(node), value) for line, triple in zip(pattern, chosen) for node, value in zip(line, triple)]
        if all(row.setdefault(node, value) == value if node[0] == "?" else node == value for node, value in pairs):
            found.append(row)
    return found


def filled(template, rows) -> set[Triple]:
    made = {
        tuple(row.get(node, "") if node[0] == "?" else term(node) for node in line) for line in template for row in rows
    }
    return {(s, p, o) for s, p, o in made if s and o and s[0] != '"' and p.startswith("<")}


class Naive:
    """Sets of triples, by graph."""

    def __init__(self, graphs: Graphs) -> None:
        self.graphs = {name: set(there) for name, there in graphs.items()}

    def insert(self, name: str, what: set[Triple]) -> None:
        if what:
            self.graphs.setdefault(name, set()).update(what)

    def delete(self, name: str, what: set[Triple]) -> None:
        self.graphs.get(name, set()).difference_update(what)


@st.composite
def operations(draw):
    """An operation, and what it does to sets."""
    kind, here, there = (
        draw(st.sampled_from("insert delete where modify using clear add copy move drop".split())),
        draw(graph),
        draw(graph),
    )
    if kind in ("insert", "delete"):
        lines = draw(data)
        what = {(s, p, written[o]) for s, p, o in lines}
        return f"{kind.upper()} DATA {{ GRAPH <{here}> {{ {text_of(lines)} }} }}", lambda naive: getattr(naive, kind)(
            here, what
        )
    if kind == "where":
        lines = draw(patterns)

        def gone(naive: Naive) -> None:
            naive.delete(here, filled(lines, solutions(lines, naive.graphs.get(here, set()))))

        return f"DELETE WHERE {{ GRAPH <{here}> {{ {text_of(lines)} }} }}", gone
    if kind in ("modify", "using"):
        lines, out, into = draw(patterns), draw(templates), draw(templates)

        def modified(naive: Naive) -> None:
            rows = solutions(lines, naive.graphs.get(there if kind == "using" else here, set()))
            naive.delete(here, filled(out, rows))
            naive.insert(here, filled(into, rows))

        using = f"USING <{there}>" if kind == "using" else ""
        return (
            f"WITH <{here}> DELETE {{ {text_of(out)} }} INSERT {{ {text_of(into)} }} {using} WHERE {{ {text_of(lines)} }}",
            modified,
        )

    def managed(naive: Naive) -> None:
        if kind == "clear" and here in naive.graphs:
            naive.graphs[here] = set()
        elif kind == "drop":
            naive.graphs.pop(here, None)
        elif kind in ("add", "copy", "move") and here in naive.graphs and here != there:
            kept = naive.graphs.get(there, set()) if kind == "add" else set()
            naive.graphs[there] = kept | naive.graphs[here]
            if kind == "move":
                del naive.graphs[here]

    target = f"GRAPH <{here}>" if kind in ("clear", "drop") else f"<{here}> TO <{there}>"
    return f"{kind.upper()} SILENT {target}", managed


def done(text: str, graphs: Graphs, default: str | None = None) -> Graphs:
    """The graphs after an update, of which only those are given that it says it reads."""
    wanted = graphs_read(parse_update(text, None), default)
    given = {
        name: Chunk.from_triples(sorted(there)) for name, there in graphs.items() if wanted is None or name in wanted
    }
    changes = worked_out(Update(text, given, default), Limits())
    after = {name: set(there) for name, there in graphs.items()}
    for name, change in changes.items():
        before = after.pop(name, set())
        if change.now is not None:
            after[name] = set(change.now.triples())
            assert len(change.now) == len(after[name])
        assert (change.added, change.removed) == (
            len(after.get(name, set()) - before),
            len(before - after.get(name, set())),
        )
    return after


@settings(max_examples=examples(150), deadline=None)
@given(backgrounds, st.lists(operations(), min_size=1, max_size=3))
def test_an_update_is_what_sets_make_of_it(graphs, drawn) -> None:
    naive = Naive(graphs)
    for _, act in drawn:
        act(naive)
    assert (
        done(" ;\n".join(text for text, _ in drawn), {name: set(there) for name, there in graphs.items()})
        == naive.graphs
    )


ONE = {"urn:g": {("<urn:a>", "<urn:p>", LITERALS["01"]), ("_:x", "<urn:q>", "_:y")}}


@pytest.mark.parametrize("literal", LITERALS)
def test_literals_keep_their_form(literal: str) -> None:
    graphs = {"urn:g": {("<urn:a>", "<urn:p>", one) for one in LITERALS.values()}}
    rest = graphs["urn:g"] - {("<urn:a>", "<urn:p>", LITERALS[literal])}
    assert done(f"DELETE DATA {{ <urn:a> <urn:p> {literal} }}", graphs, "urn:g") == {"urn:g": rest}
    assert done(f"INSERT DATA {{ <urn:a> <urn:p> {literal} }}", {"urn:g": rest}, "urn:g") == graphs
    assert done(f"DELETE WHERE {{ ?s <urn:p> {literal} }}", graphs, "urn:g") == {"urn:g": rest}
    copied = {("<urn:c>", "<urn:p>", LITERALS[literal])}
    text = f"INSERT {{ <urn:c> ?p ?o }} WHERE {{ ?s ?p ?o FILTER(sameTerm(?o, {literal})) }}"
    assert done(text, graphs, "urn:g")["urn:g"] - graphs["urn:g"] in (copied, set())  # as sameTerm is Oxigraph's


def test_a_blank_node_of_a_template_is_new_for_each_solution() -> None:
    graphs = {"urn:g": {("<urn:a>", "<urn:p>", "<urn:b>"), ("<urn:b>", "<urn:p>", "_:x")}}
    text = "INSERT { ?s <urn:q> _:n . _:n <urn:r> ?o . ?s <urn:t> [] } WHERE { ?s <urn:p> ?o }"
    new = done(text, graphs, "urn:g")["urn:g"] - graphs["urn:g"]
    links = {s: o for s, p, o in new if p == "<urn:q>"}
    assert {(s, o) for s, p, o in new if p == "<urn:r>"} == {(links["<urn:a>"], "<urn:b>"), (links["<urn:b>"], "_:x")}
    made = [o for s, p, o in new if p in ("<urn:q>", "<urn:t>")]
    assert len(set(made)) == 4 and "_:x" not in made


labels = st.sampled_from(["[]", "[]", "_:a", "_:g1", "_:g2", "_:g12", "?o", "<urn:a>"])
blocks = st.lists(
    st.tuples(st.sampled_from([None, *GRAPHS, "?g"]), st.lists(labels, min_size=1, max_size=3)), min_size=1, max_size=4
)
subjects = st.dictionaries(st.sampled_from(IRIS), st.sampled_from(["<urn:b>", "_:x", "_:g1", '"_:g1"']), min_size=1)


@settings(max_examples=examples(150), deadline=None)
@given(subjects, blocks, st.sampled_from(["", 'FILTER(?o != "_:g1 _:g2")']))
def test_a_label_is_one_node_in_all_templates_and_brackets_are_one_each(there, drawn, where) -> None:
    """Each line of a template has a predicate of its own, and each solution a subject: so those tell of each node that
    is made where it must be, and which of them must be the same."""
    graphs = {"urn:g": {(s, "<urn:p>", o) for s, o in there.items()}, "urn:h": set[Triple]()}
    text, expected, count = [], {}, 0
    for graph, made in drawn:
        lines = []
        for node in made:
            count += 1
            lines.append(f"?s <urn:k{count}> {node}")
            for s, o in there.items():
                place = {None: "urn:g", "?g": "urn:g"}.get(graph, graph), s, f"<urn:k{count}>"
                match node:
                    case "?o" | "<urn:a>":
                        expected[place] = o if node == "?o" else node
                    case "[]":
                        expected[place] = count, s
                    case _:
                        expected[place] = node, s
        block = f"{' . '.join(lines)} ."
        text.append(block if graph is None else f"GRAPH {graph if graph[0] == '?' else f'<{graph}>'} {{ {block} }}")
    update = f"INSERT {{ {' '.join(text)} }} WHERE {{ GRAPH ?g {{ ?s <urn:p> ?o }} {where} }}"
    after = done(update, graphs, "urn:g")
    new = {(name, s, p): o for name in after for s, p, o in after[name] - graphs[name]}
    assert len(new) == sum(len(after[name] - graphs[name]) for name in after)
    assert new.keys() == expected.keys()
    pairs = {(new[place], expected[place]) for place in new}
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
    assert all(one.startswith("_:") and one not in there.values() for one, other in pairs if isinstance(other, tuple))
    assert all(one == other for one, other in pairs if isinstance(other, str))


@pytest.mark.parametrize("other", ["_:g1", "_:g12", "[]"])
def test_brackets_are_no_label_that_stands_elsewhere(other: str) -> None:
    graphs = {"urn:g": {("<urn:a>", "<urn:p>", "<urn:b>")}}
    text = (
        f"INSERT {{ GRAPH <urn:g> {{ ?s <urn:k> {other} }} GRAPH <urn:g> {{ ?s <urn:l> [] }} }} "
        'WHERE { GRAPH <urn:g> { ?s ?p ?o } FILTER(?o != "_:g1") }'
    )
    new = {p: o for _, p, o in done(text, graphs)["urn:g"] - graphs["urn:g"]}
    assert new.keys() == {"<urn:k>", "<urn:l>"} and new["<urn:k>"] != new["<urn:l>"]


def test_each_graph_of_a_variable_gets_its_own() -> None:
    graphs = {"urn:g": {("<urn:a>", "<urn:p>", "<urn:b>")}, "urn:h": {("<urn:c>", "<urn:p>", "<urn:d>")}}
    text = "INSERT { GRAPH ?g { ?s <urn:in> ?g } } WHERE { GRAPH ?g { ?s ?p ?o } }"
    after = done(text, graphs)
    assert {name: there - graphs[name] for name, there in after.items()} == {
        "urn:g": {("<urn:a>", "<urn:in>", "<urn:g>")},
        "urn:h": {("<urn:c>", "<urn:in>", "<urn:h>")},
    }


def test_what_stands_between_graph_blocks_is_one_template() -> None:
    text = "INSERT DATA { <urn:a> <urn:p> 1 GRAPH <urn:h> { <urn:b> <urn:p> 1 } <urn:c> <urn:p> 1 . <urn:d> <urn:p> 1 }"
    one = LITERALS["1"]
    assert done(text, {}, "urn:g") == {
        "urn:g": {(s, "<urn:p>", one) for s in ("<urn:a>", "<urn:c>", "<urn:d>")},
        "urn:h": {("<urn:b>", "<urn:p>", one)},
    }


@pytest.mark.parametrize(
    "text, why",
    [
        ("LOAD <urn:x>", "line 1, column 1: LOAD is not followed here"),
        ("CLEAR GRAPH <urn:x> ;\nLOAD <urn:x>", "line 2, column 1: LOAD is not followed here"),
        ("INSERT { ?s ?p ?o } WHERE {\n SERVICE <http://x/> { ?s ?p ?o } }", "SERVICE is not supported"),
        ("INSERT DATA { <urn:a> <urn:p>\n ?x }", "line 2, column 2: ?x is not a valid RDF object"),
        ("INSERT DATA { GRAPH ?g { <urn:a> <urn:p> 1 } }", "data has no variables"),
        ("DELETE DATA { <urn:a> <urn:p> _:b }", "DELETE DATA names a blank node"),
        ("DELETE { ?s <urn:p> _:b } WHERE { ?s ?p ?o }", "a template of DELETE has a blank node"),
        ("DELETE { ?s ?p ?o } WHERE\n{ ?s ?p ?o FILTER(?o ! 1) }", 'line 2, column 22: Found "!"'),
        ("INSERT { ?s e:b ?o } WHERE { ?s ?p ?o }", 'line 1, column 13: The prefix "e:" is not declared'),
        ("INSERT { ?s ?p ?o }", "WHERE, and the pattern"),
        ("DELETE { ?s ?p ?o WHERE { ?s ?p ?o }", "a triple or “}” should stand"),
        ("DROP GRAPH <urn:x>", "there is no graph <urn:x>: write DROP SILENT"),
        ("CREATE GRAPH <urn:g>", "the graph <urn:g> is there already"),
        ("CLEAR <urn:g>", "where GRAPH should stand"),
        ("INSERT DATA { <urn:a> <urn:p> 1 } INSERT DATA { <urn:a> <urn:p> 1 }", "where “;” should stand"),
        ("SELECT * {}", "“SELECT” stands here"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(text: str, why: str) -> None:
    with pytest.raises((LanguageError, Refusal), match=re.escape(why)):
        done(text, ONE, "urn:g")


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("INSERT DATA { GRAPH <urn:h> { <urn:a> <urn:p> 1 } }", {"urn:g", "urn:h"}),
        ("BASE <http://x/> WITH <y> DELETE { ?s ?p ?o } USING <z> USING NAMED <w> WHERE { ?s ?p ?o }", {"urn:g", "http://x/y", "http://x/z", "http://x/w"}),
        ("DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", None),
        ("CLEAR NAMED", None),
        ("COPY DEFAULT TO <urn:h>", {"urn:g", "urn:h"}),
    ],
)  # fmt: skip
def test_which_graphs_are_read(text: str, wanted: set[str] | None) -> None:
    assert graphs_read(parse_update(text, "urn:base:"), "urn:g") == wanted
