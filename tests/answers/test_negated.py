"""Negated property sets: told once for each link that they leave, by both evaluators, as section 18 defines it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.negated import is_counted, links_but, parts_of
from csparql_spark.answers.patterns import iris_of
from csparql_spark.language import parse
from csparql_spark.language.queries.syntax import Node as Tree
from csparql_spark.language.queries.syntax import read_tree
from csparql_spark.language.tokens import tokenize
from csparql_spark.testing import replay
from tests.examples import examples

from .asked import Quad, cells, default
from .section18 import Group, text
from .streams import taken
from .test_graph_blocks import LINKS, NODES, SHOWN, Chance, meant
from .test_named_graphs import GRAPHS, come, rows_of, scene_of, shown

LINKED: list[Quad] = default(
    "<urn:a> <urn:p> <urn:b>",
    "<urn:a> <urn:q> <urn:b>",
    "<urn:a> <urn:r> <urn:b>",
    "<urn:b> <urn:v> <urn:a>",
    "<urn:b> <urn:w> <urn:a>",
)


@pytest.mark.parametrize(
    "body, rows",
    [
        ("?b <urn:v> ?a . ?a !<urn:p> ?b", 2),
        ("<urn:a> !<urn:p> <urn:b>", 2),
        ("<urn:a> !(<urn:p>|<urn:q>) <urn:b>", 1),
        ("<urn:a> !(<urn:p>|<urn:q>|<urn:r>) <urn:b>", 0),
        ("<urn:b> ^!<urn:p> <urn:a>", 2),
        ("<urn:b> !^<urn:p> <urn:a>", 2),
        ("<urn:a> !(<urn:p>|^<urn:v>) <urn:b>", 3),
        ("<urn:b> ^(!(<urn:p>|^<urn:v>)) <urn:a>", 3),
        ("<urn:a> !<urn:p>/!<urn:v> <urn:a>", 2),
        ("<urn:a> ^!<urn:v>/(<urn:v>/!<urn:p>) <urn:b>", 2),
        ("<urn:a> (!<urn:p>|<urn:q>) <urn:b>", 1),
        ("<urn:a> (!<urn:p>)+ <urn:b>", 1),
        ("?verb !<urn:p> ?step", 4),
        ("?x <urn:v> ?y FILTER EXISTS { ?y !<urn:p> ?x }", 1),
        ("?x <urn:v> ?y MINUS { ?y !<urn:p> ?x }", 0),
        ("?x <urn:v> ?y OPTIONAL { ?y !<urn:p> ?x FILTER(?x != ?y) }", 2),
        ("{ SELECT * { ?b <urn:v> ?a . ?a !<urn:p> ?b } }", 2),
        ("{ SELECT DISTINCT * { ?b <urn:v> ?a . ?a !<urn:p> ?b } }", 1),
        ("?b <urn:v> ?a . ?a !<urn:p> ?b . ?a !<urn:q> ?b", 4),
    ],
)
def test_each_link_is_told(body: str, rows: int) -> None:
    assert len(cells(f"SELECT * {{ {body} }}", LINKED)) == rows
    assert cells(f"SELECT (COUNT(*) AS ?n) {{ {body} }}", LINKED) == [
        (f'"{rows}"^^<http://www.w3.org/2001/XMLSchema#integer>',)
    ]


def test_the_links_have_no_variable_that_is_shown() -> None:
    assert cells("SELECT * { ?b <urn:v> ?a . ?a !(<urn:p>|^<urn:v>) ?b }", LINKED) == [("<urn:b>", "<urn:a>")] * 3
    assert len(cells("SELECT (COUNT(DISTINCT *) AS ?n) { ?b !<urn:v>/!<urn:p> ?a }", LINKED)) == 1


# --- a path, part by part


def read(path: str) -> Tree:
    return next(read_tree(tokenize(f"SELECT * {{ ?s {path} ?o }}")).walk("Path"))


@pytest.mark.parametrize(
    "path, parts",
    [
        ("!<p:>", "?s !<p:> ?o"),
        ("^(!<p:>)", "?o !<p:> ?s"),
        ("^!<p:>/<q:>/^!^<r:>", "?x1 !<p:> ?s . ?x1 <q:> ?x2 . ?o !^<r:> ?x2"),
        ("^(!<p:>/<q:>)/<r:>", "?x1 !<p:> ?x2 . ?x2 <q:> ?s . ?x1 <r:> ?o"),
        ("!<p:>/(<q:>|<r:>)+", "?s !<p:> ?x1 . ?x1 (<q:>|<r:>)+ ?o"),
    ],
)
def test_parts(path: str, parts: str) -> None:
    names = (f"?x{number}" for number in itertools.count(1))
    found = parts_of("?s", read(path), "?o", lambda _: next(names))
    assert " . ".join(f"{start} {written(part)} {end}" for start, part, end in found) == parts


def written(path: Tree) -> str:
    return "!" * (path.rule == "PathNegated") + "".join(token.text for token in path.all_tokens())


def test_a_set_that_makes_no_difference_is_not_counted() -> None:
    counted = ["!<p:>", "(!<p:>)", "<q:>/!<p:>", "^(<q:>/(!<p:>))", "(<q:>|<r:>)/!<p:>"]
    others = ["<p:>", "(!<p:>)*", "(!<p:>)?", "(<q:>/!<p:>)+", "<q:>|!<p:>", "<q:>/(!<p:>|<r:>)"]
    assert [path for path in [*counted, *others] if is_counted(read(path))] == counted


def test_only_directions_that_are_named_are_asked() -> None:
    def links(path: str) -> tuple[list[str] | None, list[str] | None]:
        return links_but(next(read(path).walk("PathNegated")), iris_of(read(path)))

    assert links("!(<p:>|<q:>)") == (["<p:>", "<q:>"], None)
    assert links("!^<p:>") == (None, ["<p:>"])
    assert links("!(<p:>|^<q:>|<r:>)") == (["<p:>", "<r:>"], ["<q:>"])
    assert links("!()") == ([], None)


# --- against the definition


class PathChance(Chance):
    """Random patterns with paths among their triples, most of them with a negated set."""

    def triple(self) -> tuple:
        if self.random() < 0.4:
            return super().triple()
        return "path", self.node(), self.path(2), self.node()

    def path(self, depth: int) -> tuple:
        inner = depth - 1
        match kind := self.choice(
            ["negated", "link"] + ["negated", "sequence", "inverse", "either", "many"] * (depth > 0)
        ):
            case "link":
                return kind, self.choice(LINKS)
            case "negated":
                links = [*LINKS, "<urn:no>"]
                there, back = self.choice([(0, 1), (1, 0), (2, 0), (1, 1), (2, 1)])
                return kind, tuple(self.sample(links, there)), tuple(self.sample(links, back))
            case "sequence" | "either":
                return kind, self.path(inner), self.path(inner)
        return kind, self.path(inner)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(200), deadline=None)
def test_both_evaluators_say_what_the_algebra_defines(seed: int) -> None:
    """Each body is asked of the snapshot evaluator, and maintained where it can be: in blocks of graphs, and beside."""
    chance = PathChance(seed)
    scene, asked = scene_of(chance), []
    for _ in range(2):
        inner = chance.group(2)
        group: Group = chance.choice([(chance.triple(), *inner), inner, (("graph", chance.graph(), inner),)])
        body = parse(f"SELECT {SHOWN} {text(group)}").body
        if taken(body, GRAPHS):
            scene.ask(body)
        asked.append((body, group))
    now = 0
    for _ in range(3):
        now += chance.randint(1, 3)
        scene.move(now, come(chance, scene, NODES[:3]))
        for body, group in asked:
            wanted = shown(meant(group, scene.graphs()))
            assert rows_of(scene.snapshot(body, scene.now)) == wanted, (body, now)
            if body in scene.queries:
                assert rows_of(scene.check(body)) == wanted, (body, now)


@pytest.mark.parametrize("evaluator", ["snapshot", "incremental"])
def test_an_empty_set_leaves_every_link_also_of_a_registered_text(evaluator: str) -> None:
    text = (
        "REGISTER QUERY q AS SELECT ?s ?o FROM STREAM <urn:s> [RANGE 10s STEP 10s] "
        "WHERE { ?s !() ?o . FILTER(isIRI(?o)) }"
    )
    stream = (
        "<urn:a> <urn:p> <urn:b> <urn:t:1000> .\n<urn:a> <urn:q> <urn:b> <urn:t:1000> .\n"
        '<urn:b> <urn:q> <urn:a> <urn:t:2000> .\n<urn:b> <urn:q> "no" <urn:t:2000> .\n'
    )
    (answer,) = replay(text, streams={"urn:s": stream}, until=10_000, evaluator=evaluator)
    assert sorted((row["s"], row["o"]) for row in answer.rows) == [
        ("<urn:a>", "<urn:b>"),
        ("<urn:a>", "<urn:b>"),
        ("<urn:b>", "<urn:a>"),
    ]
