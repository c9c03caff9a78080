"""Whole texts to whole queries: the twelve of the reference, a paper's, a benchmark's."""

from __future__ import annotations

import dataclasses
import pickle
import sys
import threading

import pytest
from rdflib import Literal, URIRef
from rdflib.namespace import XSD

from csparql_spark.language import ContinuousQuery, LanguageError, Window, parse
from tests.language import texts
from tests.language.oracle import algebra_of

MINUTE, HOUR = 60_000, 3_600_000
EX = "http://ex.org/"


def query(text: str, body: str, **fields: object) -> ContinuousQuery:
    usual: dict[str, object] = {
        "text": text,
        "name": None,
        "kind": "query",
        "form": "SELECT",
        "output": "RSTREAM",
        "every": None,
        "windows": (),
        "graphs": (),
        "named_graphs": (),
        "entailment": (),
        "body": body,
        "variables": (),
        "groups": None,
        "listed": False,
        "warnings": (),
    }
    return ContinuousQuery(**{**usual, **fields})


def stream(short: str, **fields: object) -> Window:
    return Window(f"{EX}streams/{short}", **fields)


EXPECTED = {
    "HotRooms": query(
        texts.HOT_ROOMS,
        "PREFIX s: <http://ex.org/iot#>\nSELECT DISTINCT ?room ?t\n"
        "WHERE { ?obs s:madeIn ?room ; s:celsius ?t . FILTER(?t >= 28) }",
        name="HotRooms",
        windows=(stream("temp", range=30_000, step=5000),),
        variables=("room", "t"),
    ),
    "FloorLoad": query(
        texts.FLOOR_LOAD,
        "PREFIX s: <http://ex.org/iot#>\nSELECT ?floor (AVG(?w) AS ?mean) (COUNT(?w) AS ?n)\n"
        "WHERE { ?meter s:watt ?w . ?meter s:mountedOn/s:partOf ?floor }\n"
        "GROUP BY ?floor HAVING (AVG(?w) > 900) ORDER BY DESC(?mean) LIMIT 3",
        name="FloorLoad",
        windows=(stream("power", range=MINUTE, step=MINUTE),),
        graphs=(f"{EX}kb/building",),
        variables=("floor", "mean", "n"),
        groups=("floor",),
        listed=True,
    ),
    "FreeSpots": query(
        texts.FREE_SPOTS,
        "PREFIX p: <http://ex.org/park#>\nCONSTRUCT { ?lot p:free ?n }\nWHERE { ?lot p:capacity ?cap .\n"
        "  { SELECT ?lot (COUNT(?car) AS ?taken) WHERE { ?car p:entered ?lot } GROUP BY ?lot } "
        "BIND(?cap - ?taken AS ?n) }",
        name="FreeSpots",
        kind="stream",
        form="CONSTRUCT",
        windows=(stream("gates", range=10 * MINUTE, step=30_000),),
        graphs=(f"{EX}kb/lots",),
    ),
    "LotFull": query(
        texts.LOT_FULL,
        "PREFIX p: <http://ex.org/park#>\nASK\nWHERE { ?lot p:free ?n . FILTER(?n < 5) }",
        name="LotFull",
        form="ASK",
        windows=(stream("FreeSpots", range=MINUTE, step=MINUTE),),
    ),
    "NearbySpot": query(
        texts.NEARBY_SPOT,
        "PREFIX p: <http://ex.org/park#>\nSELECT ?driver ?lot\n"
        "WHERE { ?driver p:inZone ?z . ?lot p:zone ?z ; p:free ?n . FILTER(?n > 0) }",
        name="NearbySpot",
        every=10_000,
        windows=(stream("cars", range=5000, step=1000, named=True), stream("FreeSpots", range=2 * MINUTE, step=MINUTE)),
        variables=("driver", "lot"),
    ),
    "LastTrades": query(
        texts.LAST_TRADES,
        "PREFIX m: <http://ex.org/mkt#>\nSELECT ?sym (MAX(?px) AS ?high) (MIN(?px) AS ?low)\n"
        "WHERE { ?sym m:price ?px } GROUP BY ?sym",
        name="LastTrades",
        windows=(stream("trades", triples=100, triples_step=100),),
        variables=("sym", "high", "low"),
        groups=("sym",),
    ),
    "RiseAfterNews": query(
        texts.RISE_AFTER_NEWS,
        "PREFIX m: <http://ex.org/mkt#>\nPREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#>\n"
        "SELECT ?sym ?news (f:timestamp(?news, m:about, ?sym) AS ?when)\n"
        "WHERE { ?news m:about ?sym . ?sym m:moved m:Up .\n"
        "  FILTER(f:timestamp(?sym, m:moved, m:Up) > f:timestamp(?news, m:about, ?sym)) }",
        name="RiseAfterNews",
        windows=(stream("news", range=15 * MINUTE, step=MINUTE), stream("trend", range=15 * MINUTE, step=MINUTE)),
        variables=("sym", "news", "when"),
    ),
    "Influencers": query(
        texts.INFLUENCERS,
        "PREFIX k: <http://ex.org/social#>\nSELECT ?who ?topic (COUNT(DISTINCT ?fan) AS ?fans)\n"
        "WHERE { ?fan k:likes ?post . ?post k:topic ?topic . ?fan k:follows ?who .\n"
        "  { ?who a k:Journalist } UNION { ?who a k:Politician }\n"
        "  OPTIONAL { ?who k:region ?r } FILTER(!BOUND(?r) || ?r != k:North) }\n"
        "GROUP BY ?who ?topic HAVING (COUNT(DISTINCT ?fan) > 3)",
        name="Influencers",
        windows=(stream("likes", range=HOUR, step=10 * MINUTE),),
        graphs=(f"{EX}kb/follows",),
        variables=("who", "topic", "fans"),
        groups=("who", "topic"),
    ),
    "BrokerTotals": query(
        texts.BROKER_TOTALS,
        "PREFIX m: <http://ex.org/mkt#>\nSELECT ?broker ?tx ?total\n"
        "WHERE { { ?broker m:placed ?tx . ?tx m:amount ?a }\n"
        "  { SELECT ?broker (SUM(?a) AS ?total) WHERE { ?broker m:placed ?tx . ?tx m:amount ?a } GROUP BY ?broker }\n"
        "  FILTER (?total > 100000) }",
        name="BrokerTotals",
        every=10 * MINUTE,
        windows=(stream("orders", range=HOUR, step=10 * MINUTE),),
        variables=("broker", "tx", "total"),
    ),
    "LongRide": query(
        texts.LONG_RIDE,
        "PREFIX g: <http://ex.org/geo#>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
        "SELECT DISTINCT ?user ?place\n"
        'WHERE { ?user g:isIn ?place ; a g:Commuter ; g:remaining ?t . FILTER(?t >= "PT30M"^^xsd:duration) }',
        name="LongRide",
        every=1000,
        windows=(stream("positions", range=10_000, step=1000),),
        graphs=(f"{EX}kb/network.rdf",),
        variables=("user", "place"),
        warnings=(
            'line 4, column 83: the "^^" between a string and its datatype is missing; it is read as if there.',
            'line 4, column 83: the prefix "xsd:" is not declared; it is read as <http://www.w3.org/2001/XMLSchema#>.',
        ),
    ),
    "spikes": query(
        texts.SPIKES,
        "PREFIX s: <http://ex.org/iot#>\nSELECT ?room ?now ?base\n"
        "WHERE { GRAPH <http://ex.org/w/short> { ?room s:celsius ?now }\n"
        "  { SELECT ?room (AVG(?t) AS ?base) WHERE { GRAPH <http://ex.org/w/long> { ?room s:celsius ?t } } "
        "GROUP BY ?room }\n  FILTER(?now > ?base + 5) }",
        name=f"{EX}streams/spikes",
        output="ISTREAM",
        windows=(
            stream("temp", range=10_000, step=5000, name=f"{EX}w/short", named=True),
            stream("temp", range=10 * MINUTE, step=5000, name=f"{EX}w/long", named=True),
        ),
        variables=("room", "now", "base"),
    ),
    "Silent": query(
        texts.SILENT,
        "PREFIX s: <http://ex.org/iot#>\nDESCRIBE ?meter\n"
        "WHERE { ?meter a s:Meter . FILTER NOT EXISTS { ?meter s:watt ?w } }",
        name="Silent",
        form="DESCRIBE",
        windows=(stream("power", range=2 * MINUTE, step=5 * MINUTE),),
        graphs=(f"{EX}kb/building",),
        warnings=("line 2, column 93: STEP is longer than the window: 3 min of every 5 min are never seen.",),
    ),
    "leavers": query(
        texts.LEAVERS,
        "PREFIX p: <http://ex.org/park#>\nCONSTRUCT { ?car p:left ?lot }\n"
        "WHERE { ?lot a p:Lot . GRAPH <http://ex.org/w/last> { ?car p:entered ?lot } }",
        name=f"{EX}streams/leavers",
        kind="stream",
        form="CONSTRUCT",
        output="DSTREAM",
        windows=(stream("gates", elements=50, elements_step=10, name=f"{EX}w/last", named=True),),
        graphs=(f"{EX}kb/lots",),
    ),
}


@pytest.mark.parametrize("name", texts.TWELVE)
def test_the_queries_of_the_reference(name: str) -> None:
    found = parse(texts.TWELVE[name], require_register=True)
    assert dataclasses.asdict(found) == dataclasses.asdict(EXPECTED[name])


def test_the_query_of_the_paper() -> None:
    text = """\
REGISTER QUERY TotalAmountPerBroker COMPUTE EVERY 1sec AS
PREFIX ex: <http://example/>
SELECT DISTINCT ?user ?type ?x
FROM <http://mobileservice.org/meansOfTransportation.rdf>
FROM STREAM <http://mobileservice.org/positions.trdf>
[RANGE 10sec STEP 1sec]
WHERE {
  ?user ex:isIn ?x .
  ?user a ex:Commuter .
  ?x a ?type .
  ?user ex:remainingTravelTime ?t .
  FILTER (?t >= "PT30M"xsd:duration )
}
"""
    found = parse(text)
    assert found.every == 1000
    assert found.windows == (Window("http://mobileservice.org/positions.trdf", 10_000, 1000),)
    assert found.body.splitlines()[-2] == '  FILTER (?t >= "PT30M"^^xsd:duration )'
    assert [warning.partition(":")[0] for warning in found.warnings] == ["line 12, column 24"] * 2


@pytest.mark.skipif(not texts.citybench(), reason=f"the CityBench queries are not at {texts.CITYBENCH}")
def test_the_queries_of_the_benchmark() -> None:
    found = {name: parse(f"REGISTER QUERY x AS {text}") for name, text in texts.citybench().items()}
    assert len(found) == 14
    assert {name: len(query.windows) for name, query in found.items()} == {
        name: text.lower().count(" stream <") for name, text in texts.citybench().items()
    }
    assert found["Q10.csparql"].variables == ("obId1", "obId2")
    assert found["location_parking_1.csparql"].windows[1].step == 1500


# Every row of the reference's table of who accepts what, that is no window and no registration.
BODIES = [
    "select ?s where { ?s ?p ?o }",
    "SELECT ?s where { ?s ?p ?o }",
    "SELECT ?s { ?s ?p ?o }",
    "SELECT ?s # every subject\n{ ?s ?p ?o . # and no more\n }",
    "SELECT ?s\r\nWHERE\t{ ?s ?p ?o }",
    'SELECT ?été { ?été ?p "naïve \\\\ 学生 😀" }',
    "DESCRIBE ?s { ?s ?p ?o }",
    "DESCRIBE <http://ex.org/a>",
    "SELECT ?s { ?s <p:a>/^<p:b>*|!(<p:c>|^<p:d>) ?o BIND(1 AS ?x) VALUES ?y { 1 UNDEF } MINUS { ?s <p:e> 1 } }",
    "SELECT ?s { { SELECT ?s { ?s ?p ?o } LIMIT 1 } FILTER NOT EXISTS { ?s <p:a> ?z } }",
    "SELECT ?s { SERVICE SILENT <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "ASK { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT ?task { ?task <p:hasStep> <p:upstream> }",
    'SELECT ?s { ?s ?p "REGISTER STREAM from step [RANGE 5s]" }',
    "CONSTRUCT { ?s <p:has> ?o } { ?s ?p ?o }",
    "CONSTRUCT WHERE { ?s ?p ?o }",
    "SELECT ?as ?from ?stream { ?as ?from ?stream }",
]


@pytest.mark.parametrize("text", BODIES)
def test_bodies_with_a_stream(text: str) -> None:
    window = "FROM STREAM <http://ex.org/s> [RANGE 5s]"
    where = text.upper().find("WHERE")
    place = where if where >= 0 else len(text) if "{" not in text else text.index("{")
    if text.startswith("CONSTRUCT {"):
        place = text.index("}") + 1
    found = parse(f"{text[:place]} {window} {text[place:]}")
    assert found.windows == (Window("http://ex.org/s", 5000, 5000),)
    assert "STREAM <" not in found.body
    assert algebra_of(parse(text).body).algebra == algebra_of(found.body).algebra


def test_equality_is_about_meaning() -> None:
    one = parse('SELECT ?x FROM STREAM <http://ex.org/s> [RANGE 60s] { ?x ?p "a"xsd:string }')
    two = parse(
        "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> select\n?x from stream <http://ex.org/s> [range 1m tumbling]"
        '{ ?x ?p "a"^^xsd:string }'
    )
    assert dataclasses.replace(one, body="") == dataclasses.replace(two, body="")
    assert one.text != two.text and len(one.warnings) == 2 and two.warnings == ()
    assert one != dataclasses.replace(one, every=1)


def test_terms_keep_their_lexical_forms() -> None:
    found = parse("SELECT * { ?a ?b 01, -01.50, +1, 1e0, '1'^^<http://www.w3.org/2001/XMLSchema#boolean>, -5 }")
    objects = [triple[2] for triple in algebra_of(found.body).algebra.p.p.triples]
    assert {(str(term), term.datatype) for term in objects} == {
        ("01", XSD.integer),
        ("-01.50", XSD.decimal),
        ("+1", XSD.integer),
        ("1e0", XSD.double),
        ("1", XSD.boolean),
        ("-5", XSD.integer),
    }


def test_strings_say_the_same_after_rewriting() -> None:
    found = parse(
        'SELECT * { <http://ex.org/a> ?p \'it\\\'s\', """two\r\n\t"lines" """, '
        "'\\\\u0041', '\\u00e9\\U0001F600\\u0022', '' }"
    )
    objects = {triple[2] for triple in algebra_of(found.body).algebra.p.p.triples}
    assert objects == {Literal(value) for value in ("it's", 'two\r\n\t"lines" ', "\\u0041", 'é\U0001f600"', "")}


def test_relative_iris_start_from_the_last_base() -> None:
    text = "BASE <http://ex.org/a/> PREFIX p: <p#> BASE <../b/c> SELECT * FROM STREAM <s> [RANGE 5s] { <#x> p:y <> }"
    found = parse(text)
    assert found.windows[0].stream == "http://ex.org/b/s"
    assert found.body == ("PREFIX p: <http://ex.org/a/p#>\nSELECT *\n{ <http://ex.org/b/c#x> p:y <http://ex.org/b/c> }")
    assert parse("ASK { <x> ?p ?o }", base="http://ex.org/y").body == "ASK { <http://ex.org/x> ?p ?o }"


def test_a_base_that_is_none() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("ASK {}", base="nowhere")
    assert caught.value.code == "bad-base"


def test_names_with_escapes_and_two_prefixes_for_one_iri() -> None:
    found = parse(
        "PREFIX a: <http://ex.org/> PREFIX b: <http://ex.org/> SELECT * { a:x b:y a:with\\,comma . a:😀 b:%20 a:1 }"
    )
    assert found.body == (
        "PREFIX a: <http://ex.org/>\nSELECT * { a:x a:y <http://ex.org/with,comma> . <http://ex.org/😀> a:%20 a:1 }"
    )
    triples = algebra_of(found.body).algebra.p.p.triples
    assert (URIRef("http://ex.org/x"), URIRef("http://ex.org/y"), URIRef("http://ex.org/with,comma")) in triples


def test_variables_are_those_a_row_shows_in_the_order_of_the_text() -> None:
    select = "SELECT * { ?b ?a ?c . { SELECT (1 AS ?d) ?e { ?e ?f ?g } } MINUS { ?h ?i ?j } FILTER(?k) BIND(1 AS ?l) }"
    assert parse(select).variables == ("b", "a", "c", "d", "e", "l")
    assert parse(f"{select} VALUES ?m {{ 1 }}").variables == ("b", "a", "c", "d", "e", "l", "m")
    assert parse("SELECT ?z (1 AS ?y) $x { ?x ?z ?w }").variables == ("z", "y", "x")
    assert parse("ASK { ?x ?y ?z }").variables == ()


def test_values_after_the_query_are_standard_too() -> None:
    found = parse("SELECT ?x { ?x ?y ?z } VALUES ?z { -1.5 'a' TRUE }")
    assert found.body == (
        'SELECT ?x { ?x ?y ?z } VALUES ?z { "-1.5"^^<http://www.w3.org/2001/XMLSchema#decimal> "a" true }'
    )


def test_describe_everything_names_it() -> None:
    assert parse("DESCRIBE * { ?b ?p ?a }").body == "DESCRIBE ?b ?p ?a { ?b ?p ?a }"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (
            "ASK { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1)",
            "ASK { SELECT ?s WHERE { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(*) > 1) }",
        ),
        (
            "ASK WHERE { ?s ?p ?o } HAVING (COUNT(*) > 1)",
            "ASK WHERE { SELECT (1 AS ?any) WHERE { ?s ?p ?o } HAVING (COUNT(*) > 1) }",
        ),
        (
            "CONSTRUCT { ?s ?n 1 } { ?s ?p ?o } GROUP BY ?s (?p AS ?n) (?o) ORDER BY ?s LIMIT 3",
            "CONSTRUCT { ?s ?n 1 } { SELECT ?s ?n ?o WHERE { ?s ?p ?o } GROUP BY ?s (COALESCE(?p) AS ?n) (?o) } "
            "ORDER BY ?s LIMIT 3",
        ),
        (
            "DESCRIBE ?s { ?s ?p ?o } GROUP BY ?s ORDER BY COUNT(*) LIMIT 3",
            "DESCRIBE ?s { SELECT ?s WHERE { ?s ?p ?o } GROUP BY ?s ORDER BY COUNT(*) LIMIT 3 }",
        ),
    ],
)
def test_groups_of_what_is_no_select(text: str, body: str) -> None:
    assert parse(text).body == body


def test_white_space_and_comments_are_tidied() -> None:
    text = "SELECT ?s# x\r\n\r\n\r\n\tWHERE {?s<p:a>?o;a<p:c>.?s a?c . # y\n  }  # z"
    assert parse(text).body == "SELECT ?s\n    WHERE {?s <p:a> ?o;a <p:c>.?s a ?c .\n  }"


def test_a_query_can_travel() -> None:
    found = parse(texts.HOT_ROOMS)
    assert pickle.loads(pickle.dumps(found)) == found


def test_parsing_leaves_the_recursion_limit_alone() -> None:
    limit = sys.getrecursionlimit()
    parse("SELECT * { FILTER(" + "(" * 90 + "1" + ")" * 90 + ") " + "?s ?p ?o . " * 400 + "}")
    assert sys.getrecursionlimit() == limit


def test_parsing_in_several_threads() -> None:
    found: list[ContinuousQuery] = []
    threads = [
        threading.Thread(target=lambda text=text: found.append(parse(text))) for text in list(texts.TWELVE.values())[:6]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(query.name or "" for query in found) == sorted(list(EXPECTED)[:6])


@pytest.mark.parametrize(
    ("select", "key"),
    [
        ("SELECT ?s ?o WHERE {?s ?p ?o}", ("s", "o")),
        ("SELECT DISTINCT ?s WHERE {?s ?p ?o} ORDER BY ?s", ("s",)),
        ("SELECT ?s (COUNT(*) AS ?n) WHERE {?s ?p ?o} GROUP BY ?s", ("s",)),
        ("SELECT (COUNT(*) AS ?n) ?p ?s WHERE {?s ?p ?o} GROUP BY ?s (?p)", ("s", "p")),
        ("SELECT ?k (COUNT(*) AS ?n) WHERE {?s ?p ?o} GROUP BY (STR(?s) AS ?k)", ("k",)),
        ("SELECT (COUNT(*) AS ?n) (MAX(?o) AS ?m) WHERE {?s ?p ?o}", ()),
        # What is grouped by is not shown, or has no name, or may come twice.
        ("SELECT (COUNT(*) AS ?n) WHERE {?s ?p ?o} GROUP BY ?s", ("n",)),
        ("SELECT ?s (COUNT(*) AS ?n) WHERE {?s ?p ?o} GROUP BY ?s STR(?p)", ("s", "n")),
        ("SELECT ?s (COUNT(*) AS ?n) WHERE {?s ?p ?o} GROUP BY ?s VALUES ?x {1 2}", ("s", "n")),
        ("SELECT ?s WHERE { {SELECT ?s ?p WHERE {?s ?p ?o} GROUP BY ?s ?p} }", ("s",)),
        ("ASK {?s ?p ?o}", ()),
    ],
)
def test_what_tells_rows_apart(select: str, key: tuple[str, ...]) -> None:
    asked = parse(select)
    assert asked.key == key
    assert asked.listed == ("ORDER BY" in select)
