"""Why a triple holds: in which graph of a query, by which rules, until when."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.asking import why as module
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.one_shot import Question, Watched, ask
from csparql_spark.asking.why import Reason, as_json, as_tree, held, reasons, triple_of
from csparql_spark.entailment.evaluate.derivations import Derivation
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.language import ContinuousQuery, parse, parse_rules
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.terms import from_oxigraph
from csparql_spark.windows.rule import visible
from tests.entailment.twin import ALWAYS
from tests.examples import examples

IS_IN = "[transitive: (?a <urn:in> ?b) (?b <urn:in> ?c) -> (?a <urn:in> ?c)]"
TRAIN, STATION, CITY = "<urn:train>", "<urn:station>", "<urn:city>"


def chunk(*elements: tuple[str, str, int]) -> Chunk:
    return Chunk.from_triples([(s, "<urn:in>", o) for s, o, _ in elements], [t for *_, t in elements])


def test_the_tree_says_until_when_each_step_holds() -> None:
    """
    ──(──●──────●──────]──▶    RANGE 10: the person enters the train at 3, the train the station at 6
      0  3      6      10
    """
    query = parse(
        "REGISTER QUERY q AS SELECT ?x FROM <urn:g> FROM STREAM <urn:s> [RANGE 10ms STEP 1ms] "
        "USING ENTAILMENT mine WHERE { ?x <urn:in> ?y }"
    )
    elements = chunk(("<urn:ann>", TRAIN, 3), (TRAIN, STATION, 6), ("<urn:x>", TRAIN, 11))
    (reason,) = explained(
        query, 10, ("<urn:ann>", "<urn:in>", CITY), {"urn:s": elements}, {"urn:g": chunk((STATION, CITY, 0))}, IS_IN
    )
    derivation = reason.derivation
    assert reason.graph is None
    lines = str(derivation).splitlines()
    assert lines[0] == "<urn:ann> <urn:in> <urn:city>  until 13, by transitive"
    assert sorted(line.strip() for line in lines if line.endswith("given")) == [
        "<urn:ann> <urn:in> <urn:train>  until 13, given",
        "<urn:station> <urn:in> <urn:city>  always, given",
        "<urn:train> <urn:in> <urn:station>  until 16, given",
    ]
    tree = as_tree(derivation)
    assert (tree["until"], tree["rule"], len(tree["premises"])) == (13, "transitive", 2)
    assert explained(query, 10, (CITY, "<urn:in>", TRAIN), {"urn:s": elements}, {"urn:g": Chunk.empty()}, IS_IN) == []


def test_what_is_given_needs_no_rule() -> None:
    query = parse("REGISTER QUERY q AS SELECT ?x FROM STREAM <urn:s> [RANGE 4ms STEP 1ms] WHERE { ?x <urn:in> ?y }")
    (reason,) = explained(query, 2, (TRAIN, "<urn:in>", CITY), {"urn:s": chunk((TRAIN, CITY, 1))})
    assert as_tree(reason.derivation) == {"triple": [TRAIN, "<urn:in>", CITY], "until": 5, "given": True}
    assert as_json([reason]) == {
        "holds": True,
        "graph": None,
        "why": as_tree(reason.derivation),
        "text": "<urn:train> <urn:in> <urn:city>  until 5, given",
        "graphs": [
            {
                "graph": None,
                "why": as_tree(reason.derivation),
                "text": "<urn:train> <urn:in> <urn:city>  until 5, given",
            }
        ],
    }
    assert as_json([]) == {"holds": False, "graph": None, "why": None, "text": None, "graphs": []}


# --- which graph holds it

WINDOWS = """REGISTER QUERY q AS SELECT * FROM <urn:kb> FROM NAMED <urn:n> FROM STREAM <urn:s> [RANGE 9ms STEP 1ms]
FROM NAMED WINDOW <urn:w1> ON <urn:s> [RANGE 4ms STEP 1ms] FROM NAMED WINDOW <urn:w2> ON <urn:t> [RANGE 4ms STEP 1ms]
USING ENTAILMENT mine WHERE { ?x ?p ?y WINDOW <urn:w1> { ?x ?p ?y } WINDOW <urn:w2> { ?x ?p ?y } }"""


def test_each_graph_has_its_own_reasons() -> None:
    query = parse(WINDOWS)
    streams = {"urn:s": chunk(("<urn:ann>", TRAIN, 2), (TRAIN, STATION, 7)), "urn:t": chunk((STATION, "<urn:hall>", 7))}
    graphs = {"urn:kb": chunk((STATION, CITY, 0), (CITY, "<urn:land>", 0)), "urn:n": chunk(("<urn:ann>", CITY, 0))}

    def told(s: str, o: str) -> list[tuple[str | None, int]]:
        return [
            (reason.graph, reason.derivation.tag)
            for reason in explained(query, 8, (s, "<urn:in>", o), streams, graphs, IS_IN)
        ]

    assert told("<urn:ann>", STATION) == [(None, 11)]  # the narrow window has not seen ann enter
    assert told(TRAIN, CITY) == [(None, 16), ("urn:w1", 11)]  # with the help of the background
    assert told(STATION, CITY) == [(None, ALWAYS)]  # which is not in the windows itself
    assert told(STATION, "<urn:land>") == [(None, ALWAYS)]  # nor is what follows from it alone
    assert told(TRAIN, "<urn:hall>") == []  # two windows: no graph holds both premises
    assert told(STATION, "<urn:hall>") == [("urn:w2", 11)]
    assert told("<urn:ann>", CITY) == [(None, 11), ("urn:n", ALWAYS)]


NODES = [f"<urn:{name}>" for name in "abcd"]
LINKS = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.integers(1, 9)), max_size=6)


@settings(max_examples=examples(60), deadline=None)
@given(LINKS, LINKS, LINKS, LINKS, st.integers(1, 12), st.booleans())
def test_the_graphs_are_those_that_the_query_sees(s, t, kb, n, instant, entails) -> None:
    query = parse(WINDOWS if entails else WINDOWS.replace("USING ENTAILMENT mine", ""))
    streams, graphs = {"urn:s": chunk(*s), "urn:t": chunk(*t)}, {"urn:kb": chunk(*kb), "urn:n": chunk(*n)}
    watched = Watched(query, instant, holding(query, instant, streams), graphs)
    said = ask(
        Question(
            "SELECT ?g ?s ?o FROM <urn:q> { { ?s <urn:in> ?o } UNION { GRAPH ?g { ?s <urn:in> ?o } } }",
            watched={"urn:q": watched},
            rules={"mine": IS_IN},
        )
    )
    rows = said.table.rows()
    held = {(row.get("g", "<>")[1:-1] or None, row["s"], row["o"]) for row in rows}
    assert held == {
        (reason.graph, s, o)
        for s in NODES
        for o in NODES
        for reason in explained(query, instant, (s, "<urn:in>", o), streams, graphs, IS_IN)
    }


def test_a_triple_is_read_as_people_write_it() -> None:
    assert triple_of('<urn:a> a "x"@EN .') == ("<urn:a>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", '"x"@en')
    assert triple_of("<urn:a> <urn:p> 01")[2] == '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'
    for text, reason in (
        ("x y", "'x y' is not a triple: write its subject"),
        ("", "is not a triple"),
        ("<urn:a> <urn:p> 1, 2", "holds several triples: ask for one"),
    ):
        with pytest.raises(Refusal, match=reason):
            triple_of(text)


def test_a_triple_may_be_written_with_the_prefixes_of_the_query() -> None:
    query = parse(
        "PREFIX ex: <http://ex.org/> PREFIX : <urn:> REGISTER QUERY q AS SELECT ?s "
        "FROM STREAM ex:s [RANGE 5s STEP 1s] WHERE { ?s ex:p 'PREFIX no: <urn:no>' }"
    )
    assert triple_of("ex:a :p xsd:string", query) == (
        "<http://ex.org/a>",
        "<urn:p>",
        "<http://www.w3.org/2001/XMLSchema#string>",
    )
    assert triple_of("<urn:a> a ex:b .", query)[2] == "<http://ex.org/b>"
    for text, asked in (("no:a ex:p ex:b", query), ("ex:a ex:p ex:b", None)):
        with pytest.raises(Refusal, match=r"write its subject, .* \(The prefix \S+ has not been declared"):
            triple_of(text, asked)


@pytest.mark.parametrize(
    ("prologue", "start"),
    [
        ("REGISTER QUERY q AS", "http://server/"),
        ("BASE <http://ex.org/x/> REGISTER QUERY base AS", "http://ex.org/x/"),
        ("REGISTER QUERY ask AS BASE <http://ex.org/x/>", "http://ex.org/x/"),
        ("BASE <x/> REGISTER QUERY q AS", "http://server/x/"),
        ("BASE <http://a/> REGISTER QUERY q AS BASE<y/> PREFIX base: <http://no/>", "http://a/y/"),
        (
            "# BASE <http://no/>\nBASE # SELECT\n <http://ex.org/>\nREGISTER QUERY q USING ENTAILMENT <r> AS",
            "http://ex.org/",
        ),
    ],
)
def test_relative_iris_of_a_triple_start_where_those_of_the_query_do(prologue: str, start: str) -> None:
    text = f"{prologue} SELECT ?s FROM STREAM <s> [RANGE 5s STEP 1s] WHERE {{ ?s <p> 'BASE <http://no/>' }}"
    query = parse(text, base="http://server/")
    assert query.windows[0].stream == f"{start}s", "the parser says the same"
    assert triple_of("<a> <p> <#b>", query, "http://server/") == (f"<{start}a>", f"<{start}p>", f"<{start}#b>")


def test_without_a_base_a_relative_iri_is_none() -> None:
    query = parse("REGISTER QUERY q AS SELECT ?s FROM STREAM <urn:s> [RANGE 5s STEP 1s] WHERE { ?s ?p ?o }")
    with pytest.raises(Refusal, match="No scheme found"):
        triple_of("<a> <p> <b>", query)


@pytest.mark.parametrize(
    "text",
    [
        f"<urn:a> <urn:p> {'[ <urn:p> ' * 3000}",
        f"<urn:a> <urn:p> {'(' * 15_000}{')' * 15_000}",
        f"@prefix a: <urn:{'x' * 15_000}> . {'a:b a:c a:d . ' * 1000}",
        f'<urn:a> <urn:p> "{"x" * 40_000}"',
        "<urn:a> <urn:p> 1 . " * 1500,
        "<<( " * 5000,
    ],
)
def test_of_a_text_no_more_than_two_triples_are_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terms: list[object] = []
    monkeypatch.setattr(module, "from_oxigraph", lambda term: terms.append(term) or from_oxigraph(term))
    with pytest.raises(Refusal) as refused:
        triple_of(text)
    assert len(terms) <= 6 and len(str(refused.value)) < 2000


def test_reading_ends_with_the_first_triple_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    query = parse(
        "REGISTER QUERY q AS SELECT ?x FROM STREAM <urn:s> [RANGE 100ms STEP 1ms] USING ENTAILMENT mine "
        "WHERE { ?x <urn:in> ?y }"
    )
    rules = rules_of(("mine",), {"mine": IS_IN})
    read: list[int] = []

    def pieces() -> Iterator[Chunk]:
        for t in range(1, 100):
            read.append(t)
            yield Chunk.from_triples([(f"<urn:{t}>", "<urn:in>", CITY), (f"<urn:{t}>", "<urn:q>", CITY)], [t, t])

    def asked(p: str) -> list[Reason]:
        read.clear()
        return reasons(query, rules, 100, ("<urn:1>", p, CITY), lambda _: pieces(), {})

    monkeypatch.setattr(module, "MOST_FACTS", 7)
    with pytest.raises(Refusal, match="^more than 7 triples of the default graph can have a part in this, and at "):
        asked("<urn:in>")
    assert len(read) == 8
    # No rule makes it, so there is nothing else that could have a part; all is read.
    assert [reason.derivation.tag for reason in asked("<urn:q>")] == [101] and len(read) == 99
    monkeypatch.setattr(module, "MOST_ELEMENTS", 20)
    with pytest.raises(Refusal, match="^the windows of the default graph see more than 20 elements, and at most so "):
        asked("<urn:q>")
    assert len(read) == 11


def explained(
    query: ContinuousQuery,
    instant: int,
    triple: tuple[str, str, str],
    streams: Mapping[str, Chunk],
    graphs: Mapping[str, Chunk] | None = None,
    mine: str = "",
) -> list[Reason]:
    rules = rules_of(("mine",), {"mine": mine}) if mine else ()
    windows = holding(query, instant, streams)
    return reasons(query, rules, instant, triple, lambda place: [windows[place]], graphs or {})


def holding(query: ContinuousQuery, instant: int, streams: Mapping[str, Chunk]) -> list[Chunk]:
    """What each window holds of streams that are in order."""
    return [(elements := streams[window.stream]).take(visible(window, elements.t, instant)) for window in query.windows]


def test_what_windows_hold_is_read_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    query = parse(
        "REGISTER QUERY q AS SELECT ?x FROM STREAM <urn:s> [RANGE 9ms STEP 1ms] FROM NAMED WINDOW <urn:w> ON <urn:t> "
        "[RANGE 9ms STEP 1ms] WHERE { ?x <urn:in> ?y }"
    )
    pieces = {0: [chunk((TRAIN, CITY, 1)), chunk((TRAIN, CITY, 2))], 1: [chunk((STATION, CITY, 3))]}
    assert held(query, pieces.__getitem__) == [pieces[0], pieces[1]]
    monkeypatch.setattr(module, "MOST_ELEMENTS", 1)
    with pytest.raises(Refusal, match="^the windows of the default graph see more than 1 elements, and at most so "):
        held(query, pieces.__getitem__)


RULE = parse_rules("[r: (?a <urn:in> ?b) -> (?a <urn:on> ?b)]").rules[0]
DERIVATIONS = st.recursive(
    st.builds(Derivation, st.just((TRAIN, "<urn:in>", CITY)), st.sampled_from([5, ALWAYS])),
    lambda below: st.builds(
        Derivation,
        st.just((TRAIN, "<urn:on>", CITY)),
        st.sampled_from([5, ALWAYS]),
        st.just(RULE),
        st.lists(below, max_size=3).map(tuple),
    ),
)


@given(DERIVATIONS)
def test_a_tree_is_the_derivation(derivation: Derivation) -> None:
    assert as_tree(derivation) == tree_of(derivation)


def tree_of(derivation: Derivation) -> dict:
    """As the definition has it."""
    until = {} if derivation.tag == ALWAYS else {"until": derivation.tag}
    rest: dict = {"given": True}
    if derivation.rule is not None:
        premises = [tree_of(premise) for premise in derivation.premises]
        rest = {"rule": "r", "text": str(derivation.rule), "premises": premises}
    return {"triple": list(derivation.triple), **until, **rest}


@pytest.mark.parametrize("depth, premises", [(module.MOST_DEPTH + 1, 1), (40, 2)])
def test_a_derivation_that_is_too_large_to_be_read(depth: int, premises: int) -> None:
    """Far below each other, or few that stand in many places."""
    derivation = Derivation((TRAIN, "<urn:in>", CITY), 5)
    for _ in range(depth):
        derivation = Derivation((TRAIN, "<urn:on>", CITY), 5, RULE, (derivation,) * premises)
    with pytest.raises(Refusal, match="^its derivation has more than 10,000 steps, or more than 250 below each other"):
        as_json([Reason(None, derivation)])
    (below,) = {id(premise): premise for premise in derivation.premises}.values()
    assert depth == 40 or json.loads(json.dumps(as_json([Reason(None, below)])))["holds"]
