from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store, Variable

from csparql_spark.language import LanguageError, parse
from csparql_spark.language.queries.timestamps import FUNCTION

EX = "http://ex.org/"
HEAD = f"PREFIX : <{EX}> SELECT * FROM STREAM :s [RANGE 5s]"
T = f"<{FUNCTION}>"


def where(pattern: str) -> str:
    return parse(f"{HEAD} {pattern}").body.split("\n", 2)[2]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{ ?a :p ?b FILTER(timestamp(?b) > 5) }", f"{{ ?a :p ?b FILTER({T}(?a, :p, ?b) > 5) }}"),
        ("{ ?a :p ?b FILTER(TimeStamp(?b)>5) }", f"{{ ?a :p ?b FILTER({T}(?a, :p, ?b)>5) }}"),
        ("{ ?a a ?b ; :q ?c BIND(timestamp(?b) AS ?t) }", None),
        ("{ ?a :p 1, ?b FILTER(timestamp(?b) > 5) }", f"{{ ?a :p 1, ?b FILTER({T}(?a, :p, ?b) > 5) }}"),
        ("{ ?a ?b -1.5 FILTER(timestamp(?b) > 5) }", None),
        ("{ ?a :p ?b FILTER(timestamp(?a :s) > 5) }", f"{{ ?a :p ?b FILTER({T}(?a, :p, ?b) > 5) }}"),
        (
            "{ ?a :p ?b ; :q ?c FILTER(timestamp(?a { ?a :q ?c }) > 5) }",
            f"{{ ?a :p ?b ; :q ?c FILTER({T}(?a, :q, ?c) > 5) }}",
        ),
        ("{ ?a :p ?b FILTER(timestamp(?a, :p, ?b) > 5) }", f"{{ ?a :p ?b FILTER({T}(?a, :p, ?b) > 5) }}"),
        ("{ ?a :p ?b FILTER(timestamp(:x, :p, 'é') > 5) }", f'{{ ?a :p ?b FILTER({T}(:x, :p, "é") > 5) }}'),
        (
            "{ ?a :p ?b OPTIONAL { ?c :q ?d FILTER(timestamp(?b) > timestamp(?c)) } }",
            f"{{ ?a :p ?b OPTIONAL {{ ?c :q ?d FILTER({T}(?a, :p, ?b) > {T}(?c, :q, ?d)) }} }}",
        ),
        (
            "{ { ?a :p ?b } UNION { ?b :p ?c } FILTER(timestamp(?c) > 5) }",
            f"{{ {{ ?a :p ?b }} UNION {{ ?b :p ?c }} FILTER({T}(?b, :p, ?c) > 5) }}",
        ),
        (
            "{ ?a :p ?b . { SELECT ?a { ?a :q ?z } } FILTER(timestamp(?a) > 5) }",
            f"{{ ?a :p ?b . {{ SELECT ?a {{ ?a :q ?z }} }} FILTER({T}(?a, :p, ?b) > 5) }}",
        ),
    ],
)
def test_the_triple_that_bound_a_variable(pattern: str, expected: str | None) -> None:
    if expected is None:
        expected = {
            "B": f"{{ ?a a ?b ; :q ?c BIND({T}(?a, <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>, ?b) AS ?t) }}",
            "F": f'{{ ?a ?b "-1.5"^^<http://www.w3.org/2001/XMLSchema#decimal> FILTER({T}(?a, ?b, '
            '"-1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>) > 5) }',
        }["B" if "BIND" in pattern else "F"]
    assert where(pattern) == expected


def test_in_projections_and_orders_it_looks_into_where() -> None:
    body = parse(
        f"PREFIX : <{EX}> SELECT ?a (MAX(timestamp(?b)) AS ?t) FROM STREAM :s [RANGE 5s] "
        "{ ?a :p ?b } GROUP BY ?a ORDER BY MIN(timestamp(?b))"
    ).body
    assert body == (
        f"PREFIX : <{EX}>\nSELECT ?a (MAX({T}(?a, :p, ?b)) AS ?t)\n"
        f"{{ ?a :p ?b }} GROUP BY ?a ORDER BY MIN({T}(?a, :p, ?b))"
    )


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("{ ?a :p ?b FILTER(timestamp(?c) > 5) }", "timestamp-unbound"),
        ("{ ?a :p [] FILTER(timestamp(?a) > 5) }", "timestamp-unbound"),
        ("{ ?a :p/:q ?b FILTER(timestamp(?a) > 5) }", "timestamp-unbound"),
        ("{ ?a :p ?b MINUS { ?a :q ?c } FILTER(timestamp(?c) > 5) }", "timestamp-unbound"),
        ("{ ?a :p ?b ; :q ?c ; :r ?d ; :s ?e FILTER(timestamp(?a) > 5) }", "timestamp-ambiguous"),
        ("{ ?a :p ?b FILTER(timestamp(?a :other) > 5) }", "unknown-stream"),
        ("{ ?a :p ?b FILTER(timestamp(:x) > 5) }", "timestamp-argument"),
        (f"{{ ?a :p ?b FILTER({T}(?a) > 5) }}", "timestamp-argument"),
        (f"{{ ?a :p ?b FILTER({T}(?a, :p, ?b + 1) > 5) }}", "timestamp-argument"),
        (f"{{ ?a :p ?b FILTER({T}(?a, :p, :f(?b)) > 5) }}", "timestamp-argument"),
    ],
)
def test_what_has_no_timestamp(pattern: str, code: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(f"{HEAD} {pattern}")
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("times", "latest"),
    [
        ({"p": 1, "q": 2, "r": 3}, 3),
        ({"p": 3, "q": 2, "r": 1}, 3),
        ({"p": 1, "q": 2}, 2),
        ({"q": 2, "r": 1}, 2),
        ({"r": 7}, 7),
        ({"p": 5, "r": 5}, 5),
        ({}, None),
    ],
)
def test_of_several_triples_the_latest_time_is_taken(times: dict[str, int], latest: int | None) -> None:
    query = parse(f"{HEAD} {{ ?a :p ?b ; :q ?c ; :r ?d BIND(timestamp(?a) AS ?t) }}")
    assert [warning.partition(": ")[2] for warning in query.warnings] == [
        "3 triple patterns bind ?a; the latest of their times is taken."
    ]

    def time_of(_: object, verb: NamedNode, __: object) -> Literal | None:
        short = verb.value.removeprefix(EX)
        return Literal(times[short]) if short in times else None

    a = NamedNode(f"{EX}a")
    store = Store()
    store.extend(Quad(a, NamedNode(EX + verb), a) for verb in "pqr")
    rows = list(store.query(query.body, custom_functions={NamedNode(FUNCTION): time_of}))
    found = rows[0][Variable("t")]
    assert (None if found is None else int(found.value)) == latest
