"""What a body becomes over ids, and that it says what it said before."""

from __future__ import annotations

import os
import random
import re
import signal
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csparql_spark.answers import snapshot as snapshots
from csparql_spark.answers.limits import TooMuch
from csparql_spark.answers.over_ids import Unsupported, over_ids
from csparql_spark.language import parse
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.rdf.terms import XSD
from tests.examples import examples

from . import generated
from .asked import Quad, ask, cells, default, oxigraph_says, said

ROW = "COALESCE(?s, <i:none>) , COALESCE(?p, <i:none>) , COALESCE(?o, <i:none>)"


def text(query: str) -> str:
    """The text over ids, with [term] for the name of its id, and without what all integers have in common."""
    dictionary = TermDictionary()
    written = over_ids(parse(query).body).text(dictionary, limit=9)
    terms = dictionary.decode(np.arange(len(dictionary)))
    return re.sub(r"<i:(\d+)>", lambda match: f"[{terms[int(match[1])]}]", written).replace(
        f"^^<{XSD}integer>", "^^int"
    )


def pattern(body: str) -> str:
    written = text(f"SELECT ?s {{ ?s ?p ?o . {body} }}")
    return written.removeprefix("SELECT ?s WHERE { ?s ?p ?o . ").removesuffix(" } LIMIT 10")


def projection(expression: str, rest: str = "") -> str:
    written = text(f"SELECT ({expression} AS ?x) {{ ?s ?p ?o }} {rest}")
    return written.removeprefix("SELECT ( ").replace(" AS ?x ) WHERE { ?s ?p ?o . }", "").removesuffix(" LIMIT 10")


@pytest.mark.parametrize(
    "body, written",
    [
        ("?s <urn:q> 1, 'x'@EN", '?s [<urn:q>] ["1"^^int] . ?s [<urn:q>] ["x"@en] .'),
        ("?s <urn:q> [ <urn:r> 'x' ]", '?s [<urn:q>] ?blank . ?blank [<urn:r>] ["x"] .'),
        ("?s <urn:q> _:b . _:b <urn:r> ?blank", "?s [<urn:q>] ?blank_1 . ?blank_1 [<urn:r>] ?blank ."),
        ("?s <urn:q>/^<urn:r>+ ?x", "?s [<urn:q>] / ^ [<urn:r>] + ?x ."),
        ("?s !<urn:q> ?verb", "?s ?verb_1 ?verb . FILTER ( ?verb_1 NOT IN ( [<urn:q>] ) )"),
        ("?s ^!^<urn:q> ?x", "?s ?verb ?x . FILTER ( ?verb NOT IN ( [<urn:q>] ) )"),
        (
            "?s !(<urn:q>|a)/<urn:r>+ ?x",
            "?s ?verb ?step . FILTER ( ?verb NOT IN ( [<urn:q>] , [<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>] ) ) "
            "?step [<urn:r>] + ?x .",
        ),
        (
            "?s !(<urn:q>|^<urn:r>) ?x",
            "{ ?s ?verb ?x . FILTER ( ?verb NOT IN ( [<urn:q>] ) ) } UNION { "
            "?x ?verb_1 ?s . FILTER ( ?verb_1 NOT IN ( [<urn:r>] ) ) }",
        ),
        ("?s (!<urn:q>)+ ?x", "?s ( ! [<urn:q>] ) + ?x ."),
        ("?s (!<urn:q>|<urn:r>) ?x", "?s ( ! [<urn:q>] | [<urn:r>] ) ?x ."),
        (
            "<urn:a> <urn:q>* ?x",
            "{ [<urn:a>] [<urn:q>] * ?x . } UNION { BIND( [<urn:a>] AS ?x ) FILTER NOT EXISTS { "
            "[<urn:a>] ?any ?any_1 } FILTER NOT EXISTS { ?any ?any_1 [<urn:a>] } }",
        ),
        ("FILTER(?o > 1)", "FILTER ( ( <f:term>(?o) > 1 ) )"),
        ("FILTER(?o = <urn:a> || ?o IN (1, 2))", "FILTER ( ( <f:term>(?o) = <urn:a> || <f:term>(?o) IN ( 1 , 2 ) ) )"),
        ("FILTER bound(?o)", "FILTER ( BOUND(?o) )"),
        ("FILTER NOT EXISTS { ?o <urn:q> 1 }", 'FILTER ( NOT EXISTS { ?o [<urn:q>] ["1"^^int] . } )'),
        ("FILTER(rand() > 0.5) ?o <urn:q> ?s", f"?o [<urn:q>] ?s . FILTER ( ( <f:rand>( 1 , {ROW} ) > 0.5 ) )"),
        (
            "OPTIONAL { ?o <urn:q> ?x FILTER(?x > ?s) }",
            "OPTIONAL { ?o [<urn:q>] ?x . FILTER ( ( <f:term>(?x) > <f:term>(?s) ) ) }",
        ),
        ("MINUS { ?o <urn:q> ?x }", "MINUS { ?o [<urn:q>] ?x . }"),
        (
            "{ ?a <urn:q> 1 } UNION { ?a <urn:r> 2 }",
            '{ ?a [<urn:q>] ["1"^^int] . } UNION { ?a [<urn:r>] ["2"^^int] . }',
        ),
        ("GRAPH <urn:g> { ?o ?q ?r }", "GRAPH [<urn:g>] { ?o ?q ?r . }"),
        ("GRAPH ?g { ?o ?q ?r }", "GRAPH ?g { ?o ?q ?r . }"),
        ("BIND(?o + 1 AS ?x)", "BIND ( <f:id>( <f:term>(?o) + 1 ) AS ?x )"),
        ("BIND(rand() AS ?x)", f"BIND ( <f:id>( <f:rand>( 1 , {ROW} ) ) AS ?x )"),
        ("VALUES (?x ?y) { (1 UNDEF) (<urn:a> 'b') }", 'VALUES ( ?x ?y ) { ( ["1"^^int] UNDEF ) ( [<urn:a>] ["b"] ) }'),
        (
            "{ SELECT ?o { ?o <urn:q> ?x } ORDER BY DESC(?x) LIMIT 3 OFFSET 1 }",
            "{ SELECT ?o WHERE { ?o [<urn:q>] ?x . } ORDER BY DESC ( <f:order>( COALESCE(?x) ) ) <f:key>(?o) "
            "LIMIT 3 OFFSET 1 }",
        ),
    ],
)
def test_what_becomes_of_a_pattern(body: str, written: str) -> None:
    assert pattern(body) == written


@pytest.mark.parametrize(
    "expression, written",
    [
        ("?o", "COALESCE(?o)"),
        ("007", '["007"^^int]'),
        ("(<urn:a>)", "[<urn:a>]"),
        ("?o + 007", "<f:id>( <f:term>(?o) + 007 )"),
        ("coalesce(?o, 1)", 'COALESCE( COALESCE(?o) , ["1"^^int] )'),
        ("if(?o > 1, ?s, 'x')", 'IF( <f:term>(?o) > 1 , COALESCE(?s) , ["x"] )'),
        ("str(?o)", "<f:id>( <f:str>( COALESCE(?o) ) )"),
        ("datatype(?o + 1)", "<f:id>( <f:datatype>( <f:id>( <f:term>(?o) + 1 ) ) )"),
        ("sameTerm(?s, 1)", '<f:id>( sameTerm( COALESCE(?s) , ["1"^^int] ) )'),
        ("contains(str(?o), 'x')", '<f:id>( CONTAINS( <f:str>( COALESCE(?o) ) , "x" ) )'),
        ("now()", "<f:id>( <f:now>() )"),
        ("uuid()", f"<f:id>( <f:uuid>( 1 , {ROW} ) )"),
        ("bnode('x')", f'<f:id>( <f:bnode>( 0 , "x" , {ROW} ) )'),
        ("count(*)", "<f:id>( COUNT( * ) )"),
        ("count(distinct *)", f"<f:id>( COUNT( DISTINCT <f:row>( {ROW} ) ) )"),
        ("count(distinct ?o)", "<f:id>( COUNT( DISTINCT COALESCE(?o) ) )"),
        ("count(?o + 1)", "<f:id>( <f:term>( <a:count>( COALESCE( <f:id>( <f:term>(?o) + 1 ) , <i:none>) ) ) )"),
        ("sum(?o)", "<a:sum>( COALESCE(?o) )"),
        ("sum(?o) / 2", "<f:id>( <f:term>( <a:sum>( COALESCE(?o) ) ) / 2 )"),
        ("avg(distinct ?o + 1)", "<a:avg-distinct>( <f:id>( <f:term>(?o) + 1 ) )"),
        ("group_concat(?o ; separator = ',')", "<a:group_concat:222c22>( COALESCE(?o) )"),
        ("sum(rand())", f"<a:sum>( <f:id>( <f:rand>( 1 , {ROW} ) ) )"),
    ],
)
def test_what_becomes_of_an_expression(expression: str, written: str) -> None:
    assert projection(expression).lower() == written.lower()


@pytest.mark.parametrize(
    "rest, written",
    [
        ("GROUP BY ?s (?o + 1 AS ?k)", "GROUP BY ?s ( <f:id>( <f:term>(?o) + 1 ) AS ?k )"),
        ("GROUP BY (coalesce(?o, 1) AS ?k)", 'GROUP BY ( COALESCE( COALESCE(?o) , ["1"^^int] ) AS ?k )'),
        (
            "GROUP BY ?s HAVING (avg(?o) > 1) (count(*) = 2)",
            "GROUP BY ?s HAVING ( ( <f:term>( <a:avg>( COALESCE(?o) ) ) > 1 ) ) ( ( COUNT( * ) = 2 ) )",
        ),
        ("ORDER BY count(*)", "ORDER BY ASC ( <f:order>( <f:id>( COUNT( * ) ) ) ) <f:key>(?x)"),
        ("ORDER BY DESC(?x)", "ORDER BY DESC ( <f:order>( COALESCE(?x) ) ) <f:key>(?x)"),
        ("OFFSET 2", "ORDER BY <f:key>(?x)"),
    ],
)
def test_what_becomes_of_modifiers(rest: str, written: str) -> None:
    said = projection("count(*)", rest).removeprefix("<f:id>( COUNT( * ) )").removesuffix(" OFFSET 2").strip()
    assert said.removesuffix(" LIMIT 10").lower() == written.lower()


def test_the_rows_of_groups_are_their_keys() -> None:
    written = text("SELECT ?s (uuid() AS ?u) { ?s ?p ?o } GROUP BY ?s")
    assert "<f:uuid>( 1 , COALESCE(?s, <i:none>) )" in written


@pytest.mark.parametrize(
    "body, reads",
    [
        (
            "?s <urn:p> ?o ; <urn:q> 1 FILTER(?o > 1) ?o <urn:r> ?x",
            [{("?s", "<urn:p>", "?o"), ("?s", "<urn:q>", f'"1"^^<{XSD}integer>'), ("?o", "<urn:r>", "?x")}],
        ),
        (
            "?s <urn:p> ?o OPTIONAL { ?o <urn:q> ?x } ?x <urn:r> ?y",
            [{("?s", "<urn:p>", "?o")}, {("?o", "<urn:q>", "?x")}, {("?x", "<urn:r>", "?y")}],
        ),
        (
            "FILTER EXISTS { ?s <urn:p> ?o } MINUS { ?s <urn:q> ?o }",
            [{("?s", "<urn:p>", "?o")}, {("?s", "<urn:q>", "?o")}],
        ),
        (
            "{ SELECT ?s { ?s <urn:p> ?o } } GRAPH ?g { ?s <urn:q> ?o }",
            [{("?s", "<urn:p>", "?o")}, {("?s", "<urn:q>", "?o")}],
        ),
        (
            "?s <urn:p> ?o . ?s <urn:q>+/<urn:r> ?x",
            [{("?s", "<urn:p>", "?o")}, {("?s", "<urn:q>", "?o")}, {("?s", "<urn:r>", "?o")}],
        ),
        ("BIND(1 AS ?x)", []),
        ("?s ?p ?o", [{("?s", "?p", "?o")}]),
        ("?s !<urn:p> ?o", None),
        ("?s <urn:p>* [] ", None),
    ],
)
def test_what_is_read(body: str, reads: list[set[tuple[str, str, str]]] | None) -> None:
    found = over_ids(parse(f"SELECT * {{ {body} }}").body).reads
    assert (found if found is None else sorted(map(sorted, found))) == (
        reads if reads is None else sorted(map(sorted, reads))
    )


def test_what_a_plan_knows_of_its_body() -> None:
    plan = over_ids(
        parse("SELECT DISTINCT ?s (sum(?o) AS ?t) { ?s ?p ?o } GROUP BY ?s ORDER BY ?t LIMIT 3 OFFSET 1").body
    )
    assert (plan.form, plan.variables, plan.distinct, plan.ordered, plan.limit, plan.offset, plan.aggregates) == (
        "SELECT",
        ("s", "t"),
        True,
        True,
        3,
        1,
        ("sum",),
    )
    assert (plan.volatile, plan.stamps) == (False, False)
    assert plan.text(TermDictionary(), limit=1).endswith(" LIMIT 2 OFFSET 1")
    assert plan.text(TermDictionary(), limit=9).endswith(" LIMIT 3 OFFSET 1")
    assert over_ids(parse("SELECT (now() AS ?n) {}").body).volatile
    # An IRI that looks like an aggregate of ours is none.
    assert over_ids(parse("SELECT ?s { ?s ?p <a:sum:zz> FILTER(?s != <a:x>) }").body).aggregates == ()


def test_services_and_unknown_functions_are_refused() -> None:
    for body, word in (
        ("SERVICE <urn:x> { ?s ?p ?o }", "SERVICE"),
        ("?s ?p ?o FILTER(<f:id>(?o))", "<f:id>"),
        ("?s ?p ?o FILTER(<a:sum>(?o) > 1)", "<a:sum>"),
    ):
        with pytest.raises(Unsupported, match=word):
            over_ids(parse(f"SELECT * {{ {body} }}").body)


# --- what it says

PATH = default("<urn:a> <urn:p> <urn:b>", "<urn:b> <urn:q> <urn:c>", "<urn:z> <urn:other> <urn:w>")


@pytest.mark.parametrize(
    "body, rows",
    [
        ("<urn:a> <urn:p>* ?x", ["<urn:a>", "<urn:b>"]),
        ("<urn:z> <urn:p>* ?x", ["<urn:z>"]),
        ("<urn:never> <urn:p>? ?x", ["<urn:never>"]),
        ("?x <urn:p>* <urn:never>", ["<urn:never>"]),
        ('?x <urn:p>* "1"', ['"1"']),
        ("<urn:never> (<urn:p>|<urn:q>*) ?x", ["<urn:never>"]),
        ("<urn:never> <urn:p>+ ?x", []),
        ("<urn:never> <urn:p>/<urn:q>* ?x", []),
        ("<urn:a> <urn:p>* _:x . _:x <urn:q> ?x", ["<urn:c>"]),
        ("<urn:never> <urn:p>* _:x BIND(1 AS ?x)", [f'"1"^^<{XSD}integer>']),
        ("<urn:never> <urn:p>* [] BIND(1 AS ?x)", [f'"1"^^<{XSD}integer>']),
        ("_:x <urn:p>* <urn:c> . ?x <urn:q> _:x", ["<urn:b>"]),
        ("<urn:z> <urn:p>* ?y . ?y <urn:other> ?x", ["<urn:w>"]),
        ("<urn:never> <urn:p>* <urn:never> BIND(1 AS ?x)", [f'"1"^^<{XSD}integer>']),
        ("<urn:z> <urn:p>? <urn:z> BIND(1 AS ?x)", [f'"1"^^<{XSD}integer>']),
        ("<urn:a> <urn:p>* <urn:z> BIND(1 AS ?x)", []),
        ("?s <urn:p> _:x . <urn:n> <urn:q>* ?y . _:x <urn:q> ?x", ["<urn:c>"]),
    ],
)
def test_paths_of_no_length_lead_to_where_they_begin(body: str, rows: list[str]) -> None:
    assert cells(f"SELECT ?x {{ {body} }}", PATH) == [(row,) for row in rows]


def test_what_only_chooses_among_terms_keeps_their_form() -> None:
    one, seven = f'"01"^^<{XSD}integer>', f'"007"^^<{XSD}integer>'
    quads = default(f"<urn:a> <urn:p> {one}", f"<urn:b> <urn:p> {one}", f"<urn:b> <urn:q> {seven}")
    for expression in ("?o", "(?o)", "coalesce(?z, ?o)", "if(true, ?o, 7)", "if(false, 1, coalesce(?z, ?o))", one):
        assert cells(f"SELECT ({expression} AS ?x) {{ <urn:a> <urn:p> ?o }}", quads) == [(one,)]
    for expression in ("min(?o)", "max(?o)", "sample(?o)", "max(distinct coalesce(?o, 1))", "sample(if(true, ?o, 1))"):
        assert cells(f"SELECT ({expression} AS ?x) {{ ?s <urn:p> ?o }}", quads) == [(one,)]
    assert cells("SELECT (str(max(?o)) AS ?y) { ?s <urn:p> ?o }", quads) == [('"01"',)]
    assert cells("SELECT ?k (count(*) AS ?n) { VALUES ?o { 01 1 007 } } GROUP BY (?o AS ?k)", quads) == [
        (term, f'"1"^^<{XSD}integer>') for term in (seven, one, f'"1"^^<{XSD}integer>')
    ]


def test_distinct_rows_are_counted_without_their_blank_nodes() -> None:
    quads = default("<urn:a> <urn:p> <urn:b>", "<urn:a> <urn:p> <urn:c>", "<urn:b> <urn:p> <urn:b>")
    for body, count in (("?s <urn:p> []", 2), ("?s <urn:p> ?o", 3), ("[] <urn:p> []", 1), ("?s <urn:q> []", 0)):
        assert cells(f"SELECT (count(distinct *) AS ?n) {{ {body} }}", quads) == [(f'"{count}"^^<{XSD}integer>',)]


def test_chance_differs_from_row_to_row_and_from_instant_to_instant() -> None:
    quads = default('<urn:a> <urn:p> "1"', '<urn:b> <urn:p> "1"', '<urn:b> <urn:p> "2"')
    for call in ("rand()", "uuid()", "struuid()", "bnode()", "bnode('x')"):
        for shown, rows in (
            (f"?s ?o ({call} AS ?x) {{ ?s ?p ?o }}", 3),
            (f"* {{ ?s ?p ?o BIND({call} AS ?x) }}", 3),
            (f"?s ({call} AS ?x) {{ ?s ?p ?o }} GROUP BY ?s", 2),
            (f"({call} AS ?x) {{ ?s ?p ?o }} GROUP BY ?s", 2),
        ):
            first, again, later = (cells(f"SELECT {shown}", quads, instant=instant) for instant in (5, 5, 6))
            assert first == again and not {row[-1] for row in first} & {row[-1] for row in later}
            assert len({row[-1] for row in first}) == rows
    # One call has one value in a row, two calls have two; but a blank node that is named is the same.
    ((one, other),) = cells("SELECT (rand() AS ?x) (rand() AS ?y) {}")
    assert one != other
    ((one, other),) = cells("SELECT * { BIND(bnode('x') AS ?x) BIND(bnode('x') AS ?y) }")
    assert one == other
    assert cells("SELECT (sum(rand()) = 3 * rand() AS ?x) { ?s ?p ?o }", quads) == [(f'"false"^^<{XSD}boolean>',)]


# --- against Oxigraph, and against itself

few = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))


def test_the_literals_are_those_that_oxigraph_keeps() -> None:
    terms = [term for kind in generated.KINDS.values() for term in kind if term[0] == '"']
    for term in terms:
        assert oxigraph_says("SELECT ?o { ?s ?p ?o }", [("", "<urn:s>", "<urn:p>", term)], ()) == {(("o", term),): 1}


@given(generated.datasets, generated.queries)
@few
def test_it_says_what_oxigraph_says_of_the_terms(quads: list[Quad], query: str) -> None:
    assert said(query, quads, generated.GRAPHS) == oxigraph_says(query, quads, generated.GRAPHS)


@given(
    generated.datasets,
    st.one_of(generated.queries, generated.slices, generated.chances),
    st.randoms(use_true_random=False),
)
@few
def test_it_says_the_same_however_the_triples_came(quads: list[Quad], query: str, chance: random.Random) -> None:
    first = ask(query, quads, graphs=generated.GRAPHS, instant=7).to_bytes()
    chance.shuffle(quads)
    assert ask(query, quads + quads[:3], graphs=generated.GRAPHS, instant=7).to_bytes() == first


@given(generated.datasets, generated.patterns, st.integers(0, 5), st.integers(0, 3))
@few
def test_a_slice_is_a_part_of_the_whole(quads: list[Quad], pattern: str, limit: int, offset: int) -> None:
    whole, part = (
        cells(f"SELECT * {{ {pattern} }} {rest}", quads, graphs=generated.GRAPHS)
        for rest in ("", f"LIMIT {limit} OFFSET {offset}")
    )
    assert len(part) == max(0, min(limit, len(whole) - offset))
    assert all(part.count(row) <= whole.count(row) for row in part)


@given(generated.datasets, st.one_of(generated.queries, generated.slices, generated.chances))
@few
def test_another_process_says_the_same(quads: list[Quad], query: str) -> None:
    here = ask(query, quads, graphs=generated.GRAPHS, instant=7)
    with mock.patch.object(snapshots, "MOST_HERE", -1):
        assert ask(query, quads, graphs=generated.GRAPHS, instant=7).to_bytes() == here.to_bytes()


@pytest.mark.parametrize(
    "number, sentence",
    [
        (signal.SIGSEGV, "it has ended the process that worked on it (SIGSEGV): ask for less, or nest it less"),
        (signal.SIGPROF, "its answer takes longer than 10 s of processor time, which is the limit"),
        (signal.SIGALRM, "its answer takes longer than 100 s on the clock"),
        (signal.SIGABRT, "its answer needs more memory than the 1.0 GiB that a query may have"),
    ],
)
def test_how_that_process_ends_says_why_there_is_no_answer(number: signal.Signals, sentence: str) -> None:
    def ends(*_: object) -> bytes:
        os.kill(os.getpid(), number)
        raise AssertionError

    with (
        mock.patch.object(snapshots, "MOST_HERE", -1),
        mock.patch.object(snapshots.Snapshot, "_evaluated", ends),
        pytest.raises(TooMuch, match=f"^{re.escape(sentence)}"),
    ):
        ask("SELECT * { ?s ?p ?o }", [], graphs=generated.GRAPHS, instant=7)
