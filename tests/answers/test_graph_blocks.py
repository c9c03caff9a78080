"""GRAPH blocks: each graph answers by itself, and its name is joined afterwards (SPARQL 1.1, 18.6)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.limits import TooMuch
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.language import parse
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.testing import replay
from tests.examples import examples

from .asked import Quad, ask, cells
from .section18 import Group, solutions, text

NAMES = ["<urn:g>", "<urn:h>", "<urn:empty>"]
NODES = ["<urn:a>", "<urn:b>", "<urn:g>", "<urn:h>"]
SHOWN = "?a ?b ?g ?h ?n1 ?n2"
LINKS = ["<urn:p>", "<urn:q>"]
VARIABLES = ["?a", "?b", "?g", "?h"]
ONE, TWO = (f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>' for number in (1, 2))

QUADS: list[Quad] = [
    ("<urn:g>", "<urn:a>", "<urn:p>", "<urn:o>"),
    ("<urn:h>", "<urn:a>", "<urn:p>", "<urn:o>"),
    ("<urn:h>", "<urn:b>", "<urn:p>", "<urn:o>"),
    ("<urn:h>", "<urn:h>", "<urn:q>", "<urn:b>"),
]


@pytest.mark.parametrize(
    "shown, body, rows",
    [
        ("?g ?n", "GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o } }", [("<urn:g>", ONE), ("<urn:h>", TWO)]),
        ("?g ?n", "GRAPH <urn:h> { SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o } }", [(None, TWO)]),
        ("?g ?n", "GRAPH <urn:no> { SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o } }", []),
        ("?g ?s", "GRAPH ?g { { SELECT ?s { ?s <urn:p> ?o } ORDER BY DESC(?s) LIMIT 1 } }", "first"),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> <urn:o> MINUS { <urn:b> <urn:p> ?o } }", "all"),
        (
            "?g ?s",
            "GRAPH ?g { ?s <urn:p> ?o MINUS { ?x <urn:q> ?s } }",
            [("<urn:g>", "<urn:a>"), ("<urn:h>", "<urn:a>")],
        ),
        ("?g ?s", "GRAPH ?g { VALUES ?s { 1 } }", [("<urn:g>", ONE), ("<urn:h>", ONE)]),
        ("?g", "GRAPH ?g { VALUES ?g { <urn:g> <urn:no> } }", [("<urn:g>",)]),
        ("?g", "GRAPH ?g { }", [("<urn:g>",), ("<urn:h>",)]),
        ("?s", "GRAPH <urn:g> { VALUES ?s { 1 } }", [(ONE,)]),
        ("?s", "GRAPH <urn:no> { VALUES ?s { 1 } }", []),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o FILTER(BOUND(?g)) }", []),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o FILTER(!BOUND(?g)) }", "all"),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o } FILTER(BOUND(?g))", "all"),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o BIND(BOUND(?g) AS ?x) } FILTER(!?x)", "all"),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o OPTIONAL { ?g <urn:q> ?x } }", "all"),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o OPTIONAL { ?x <urn:p> ?s BIND(<urn:g> AS ?g) } }", "all"),
        ("?g ?h", "GRAPH ?g { GRAPH ?h { <urn:b> <urn:p> ?o } }", [("<urn:g>", "<urn:h>"), ("<urn:h>", "<urn:h>")]),
        ("?g ?s", "GRAPH ?g { ?s <urn:p>+ ?o }", "all"),
        ("?g ?x", "GRAPH ?g { <urn:never> <urn:p>* ?x }", [("<urn:g>", "<urn:never>"), ("<urn:h>", "<urn:never>")]),
        ("?x", "GRAPH <urn:no> { <urn:never> <urn:p>* ?x }", []),
        ("?g ?s", "VALUES ?g { <urn:h> } GRAPH ?g { SELECT ?s { ?s <urn:p> ?o } }", "of h"),
        (
            "?g ?n1",
            "GRAPH ?g { ?g <urn:q> ?z OPTIONAL { { SELECT (COUNT(*) AS ?n1) { } } MINUS { ?g <urn:q> ?y } } }",
            [("<urn:h>", ONE)],
        ),
        ("?g ?s", "GRAPH ?g { ?s <urn:p> ?o } FILTER EXISTS { GRAPH ?g { SELECT ?x { <urn:b> <urn:p> ?x } } }", "of h"),
    ],
)
def test_a_graph_answers_by_itself(shown: str, body: str, rows: list[tuple[str | None, ...]] | str) -> None:
    every = [("<urn:g>", "<urn:a>"), ("<urn:h>", "<urn:a>"), ("<urn:h>", "<urn:b>")]
    wanted = {"all": every, "of h": every[1:], "first": [every[0], every[2]]}[rows] if isinstance(rows, str) else rows
    assert cells(f"SELECT {shown} {{ {body} }}", QUADS) == wanted


@pytest.mark.parametrize(
    "body, written",
    [
        ("GRAPH ?g { ?a <urn:p> ?b OPTIONAL { ?b <urn:q> ?c } FILTER(?a != ?b) }", 1),
        ("GRAPH ?g { { ?g <urn:p> ?b } UNION { ?g <urn:q> ?b } }", 3),
        ("GRAPH ?g { { ?a <urn:p> ?b } UNION { ?a <urn:q> ?b } GRAPH ?h { ?b <urn:p> ?c } }", 2),
        ("GRAPH ?g { ?a <urn:p> ?b GRAPH ?h { SELECT ?b { ?b <urn:p> ?c } } }", 4),
        ("GRAPH ?g { GRAPH ?h { SELECT ?b { ?b <urn:p> ?c } } }", 12),
        ("GRAPH <urn:g> { SELECT ?b { ?b <urn:p> ?c } }", 1),
        ("GRAPH <urn:no> { SELECT ?b { ?b <urn:p> ?c } }", 0),
    ],
)
def test_a_block_is_written_for_each_graph_only_where_it_has_to_be(body: str, written: int) -> None:
    plan = over_ids(parse(f"SELECT * {{ {body} }}").body)
    graphs = [name[1:-1] for name in NAMES]
    assert plan.text(TermDictionary(), limit=9, graphs=graphs).split().count("GRAPH") == written


def test_what_would_make_too_long_a_text_is_refused_by_name() -> None:
    plan = over_ids(parse("SELECT * { GRAPH ?g { GRAPH ?h { VALUES ?x { 1 } } } }").body)
    with pytest.raises(
        TooMuch, match=r"^GRAPH \?g asks each of 2,000 graphs by itself, .* fewer graphs with FROM NAMED"
    ):
        plan.text(TermDictionary(), limit=9, graphs=[f"urn:g{number}" for number in range(2_000)])


# --- against the definition


class Chance(random.Random):
    """Random patterns, and datasets: small ones, in which variables, names of graphs and nodes meet often."""

    def node(self) -> str:
        return self.choice([*VARIABLES, *VARIABLES, *NODES])

    def triple(self) -> tuple[str, ...]:
        return "triple", self.node(), self.choice(LINKS), self.node()

    def test(self) -> tuple:
        kind = self.choice(["bound", "unbound", "=", "!=", "exists", "not exists"])
        if "exists" in kind:
            return kind, (self.triple(),)
        return (kind, self.choice(VARIABLES), *([self.node()] if "=" in kind else []))

    def names(self, least: int) -> tuple[str, ...]:
        return tuple(self.sample(VARIABLES, self.randint(least, 2)))

    def graph(self) -> str:
        return self.choice(["?g", "?g", "?g", "?h", "<urn:g>", "<urn:no>"])

    def group(self, depth: int) -> Group:
        last = (("filter", *self.test()),) if self.random() < 0.3 else ()
        return (*(self.part(depth) for _ in range(self.choice([0, 1, 1, 1, 2, 2, 3]))), *last)

    def part(self, depth: int) -> tuple:
        if not depth or self.random() < 0.5:
            if self.random() < 0.8:
                return self.triple()
            values = tuple(self.choice([*NODES, "UNDEF"]) for _ in range(self.randint(0, 2)))
            return "values", self.choice(VARIABLES), values
        inner = self.group(depth - 1)
        match kind := self.choice(["optional", "optional", "minus", "group", "union", "graph", "select", "count"]):
            case "union":
                return kind, inner, self.group(depth - 1)
            case "graph":
                return kind, self.graph(), inner
            case "select":
                return kind, self.names(1), self.random() < 0.5, inner
            case "count":
                return kind, self.names(0), f"?n{depth}", inner  # another one than those inside
        return kind, inner

    def dataset(self) -> dict[str, set[tuple[str, ...]]]:
        held = {
            graph: {(self.choice(NODES), self.choice(LINKS), self.choice(NODES)) for _ in range(self.randint(0, 4))}
            for graph in ("", *NAMES[:2])
        }
        return {**held, NAMES[2]: set()}


def said(query: str, dataset: dict[str, set[tuple[str, str, str]]]) -> Counter:
    quads = [(graph, *triple) for graph, held in dataset.items() for triple in sorted(held)]
    rows = ask(query, quads, graphs=[graph for graph in dataset if graph]).table.rows()
    return Counter(tuple(sorted((f"?{name}", term) for name, term in row.items())) for row in rows)


def meant(group: Group, dataset: dict[str, set[tuple[str, str, str]]]) -> Counter:
    return Counter(tuple(sorted(row.items())) for row in solutions(group, dataset))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(200), deadline=None)
def test_it_says_what_the_algebra_defines(seed: int) -> None:
    chance = Chance(seed)
    dataset, beside = chance.dataset(), chance.choice([(), (), (chance.triple(),)])
    whole = (*beside, ("graph", chance.graph(), chance.group(2)))
    query = f"SELECT {SHOWN} {text(whole)}"
    assert said(query, dataset) == meant(whole, dataset), query


# --- windows

TWO_WINDOWS = """REGISTER QUERY q AS SELECT {}
FROM NAMED WINDOW <urn:g> ON <urn:s> [RANGE 1s STEP 1s] FROM NAMED WINDOW <urn:h> ON <urn:s> [RANGE 2s STEP 1s] {} {}"""
STREAM = """<urn:a> <urn:p> <urn:o> <urn:t:500> .
<urn:b> <urn:p> <urn:x> <urn:t:1500> .
<urn:z> <urn:q> <urn:z> <urn:t:2500> ."""


@pytest.mark.parametrize(
    "shown, body, rows",
    [
        ("?w ?c", "WINDOW ?w { SELECT (COUNT(*) AS ?c) { ?s <urn:p> ?o } }", [("<urn:g>", ONE), ("<urn:h>", TWO)]),
        (
            "?w ?a",
            "WINDOW ?w { ?a <urn:p> <urn:x> MINUS { <urn:a> <urn:p> ?o } }",
            [("<urn:g>", "<urn:b>"), ("<urn:h>", "<urn:b>")],
        ),
        (
            "?w ?a",
            "WINDOW ?w { ?a <urn:p> ?o MINUS { ?b <urn:p> <urn:o> } }",
            [("<urn:g>", "<urn:b>"), ("<urn:h>", "<urn:a>"), ("<urn:h>", "<urn:b>")],
        ),
        (
            "?w ?a",
            "WINDOW ?w { ?a <urn:p> ?o MINUS { ?a <urn:p> <urn:o> } }",
            [("<urn:g>", "<urn:b>"), ("<urn:h>", "<urn:b>")],
        ),
        ("?c", "WINDOW <urn:h> { SELECT (COUNT(*) AS ?c) { ?s <urn:p> ?o } }", [(TWO,)]),
    ],
)
@pytest.mark.parametrize("more", ["", "FROM NAMED <urn:k>"])
def test_a_window_answers_by_itself(shown: str, body: str, rows: list[tuple[str, ...]], more: str) -> None:
    text = TWO_WINDOWS.format(shown, more, f"{{ {body} }}")
    background = {"urn:k": "<urn:b> <urn:p> <urn:x> ."} if more else {}
    _, second, *_ = replay(text, streams={"urn:s": STREAM}, background=background)
    assert (second.at, [tuple(row.values()) for row in second.rows]) == (2000, rows)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(60), deadline=None)
def test_windows_say_what_the_algebra_defines(seed: int) -> None:
    chance = Chance(seed)
    whole = (("graph", chance.choice(["?g", "?h", "<urn:h>"]), chance.group(2)),)
    body = text(whole).replace("GRAPH", "WINDOW", 1)
    came = [
        (chance.randint(1, 5_000), (chance.choice(NODES), chance.choice(LINKS), chance.choice(NODES))) for _ in range(6)
    ]
    recording = "".join(f"{' '.join(triple)} <urn:t:{stamp}> .\n" for stamp, triple in sorted(came))
    for instant in replay(TWO_WINDOWS.format(SHOWN, "", body), streams={"urn:s": recording}):
        held = {
            name: {triple for stamp, triple in came if instant.at - length < stamp <= instant.at}
            for name, length in (("<urn:g>", 1_000), ("<urn:h>", 2_000))
        }
        rows = Counter(tuple(sorted((f"?{name}", term) for name, term in row.items())) for row in instant.rows)
        assert rows == meant(whole, {"": set(), **held}), (instant.at, body)
