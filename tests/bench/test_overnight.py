"""What bench.overnight pushes, asks and judges is what it says."""

from __future__ import annotations

import pytest

from bench.overnight import passing
from bench.overnight.facts import QUARTER, TOP, Facts, schema
from bench.overnight.judging import judged
from bench.overnight.passing import KINDS, guest
from bench.overnight.standing import SCHEMA, STEP, TEXTS, Checked
from csparql_spark.answers.bindings import Result
from csparql_spark.asking.admission import check_rules
from csparql_spark.asking.replay import Script, answer
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.rdf.terms import parse as term

BASE, QUADS, TRIPLES = "http://night.test/", RdfFormat.N_QUADS, RdfFormat.N_TRIPLES
STREAM = f"{BASE}streams/facts"


def parse(content: bytes, format: RdfFormat) -> Chunk:
    return parse_push(content, format, base=None, blank_prefix="b")


@pytest.mark.parametrize("query, count", [("Counted", Facts.count), ("Classed", Facts.classed)])
def test_what_is_counted_is_known_beforehand(query: str, count) -> None:
    facts = Facts(300, begun=6_880_000_003)
    end = facts.begun + 57
    chunk = parse(b"".join(facts.body(quarter) for quarter in range(facts.begun, end)), QUADS)
    script = Script.of(
        TEXTS[query],
        base=BASE,
        streams={STREAM: chunk},
        background={SCHEMA: parse(schema(), TRIPLES)},
        until=(end - 1) * QUARTER,
    )
    reach = script.query.windows[0].range
    checked, seen = Checked(query, lambda instant, reach: count(facts, instant, reach), reach), []
    for told in answer(script.entries()):
        seen.append(int(term(Result.from_bytes(told.payload).table.rows()[0]["n"]).value))
        checked.take(told.instant, seen[-1])
    assert checked.broken == [] and checked.checked == len(seen) > 12
    assert len(set(seen)) > 10 and TOP in TEXTS["Classed"]


def test_facts_never_come_again() -> None:
    facts = Facts(2000, begun=100)
    assert facts.size(99) == 0 and len({facts.size(quarter) for quarter in range(100, 107)}) == 7
    assert sum(map(facts.size, range(100, 128))) == pytest.approx(2000 * 28 * QUARTER / 1000, rel=0.01)
    chunk = parse(facts.body(100) + facts.body(101), QUADS)
    assert len(set(chunk.triples())) == len(chunk) == facts.size(100) + facts.size(101)
    assert (chunk.first, chunk.unstamped) == (100 * QUARTER, 0) and chunk.last < 102 * QUARTER


def test_a_wrong_count_a_gap_and_a_repetition_are_named() -> None:
    checked = Checked("Counted", lambda instant, reach: 7, 5000)
    checked.take(1000, 7)
    checked.take(1000 + STEP, 8)
    checked.take(5000, 7)
    checked.take(4000, 7)
    assert checked.broken == [
        "Counted at 2000: 8 were counted, and 7 were pushed",
        "Counted: 5000 follows 2000",
        "Counted: 4000 is told again",
    ]
    assert checked.checked == 4


def test_guests_are_all_different_and_can_be_read() -> None:
    guests = [guest(number) for number in range(4 * KINDS)]
    texts = [text.partition(" AS ")[2] for one in guests for text in one.texts.values()]
    assert len(set(texts)) > 0.9 * len(texts)
    read_ones = [read(text, BASE) for one in guests[: 2 * KINDS] for text in one.texts.values()]
    assert {query.entailment for query in read_ones} == {(), ("rho-df",), ("rdfs",), (passing.RULES,)}
    assert {query.output for query in read_ones} == {"RSTREAM", "ISTREAM"}
    assert sum(one.stream is not None for one in guests) == 4
    assert len({one.graph for one in guests if one.graph}) == 4
    names = [name for one in guests for name in one.texts]
    assert len(names) == len(set(names)) == 4 * KINDS + 4


def test_rooms_and_rules_change() -> None:
    first, second = (set(parse(passing.rooms(version), TRIPLES).triples()) for version in (0, 1))
    assert len(first) == len(second) == 2 * passing.DEVICES and len(first - second) == passing.DEVICES // 10
    for version in range(2):
        assert len(check_rules(passing.RULES, passing.rules(version), {}).rules) == 2 + version
    chunk = parse(passing.signals(3, 30), TRIPLES)
    assert len(chunk) == len(set(chunk.triples())) == 60


@pytest.mark.parametrize(
    "series, flat",
    [
        ([500.0] * 60, True),
        ([400.0] * 10 + [500.0] * 50, True),  # it has warmed up
        ([500.0] * 50 + [560.0] * 10, False),
        ([500.0] * 50 + [540.0] * 10, True),
        ([500.0 + minute for minute in range(60)], True),  # 8 % in all
        ([500.0 + 2 * minute for minute in range(60)], False),
        ([500.0] * 20 + [700.0] * 25 + [500.0] * 15, True),  # up and down again
        ([40.0 + minute / 8 for minute in range(60)], True),  # small, and by little
        ([600.0 - minute for minute in range(60)], True),
    ],
)
def test_judging(series: list[float], flat: bool) -> None:
    assert judged(series, part=0.1, small=8.0).flat is flat


def test_what_is_judged_is_told() -> None:
    verdict = judged([100.0, 200.0, 200.0, 200.0, 200.0, 300.0], part=0.1, small=8.0)
    assert (verdict.early, verdict.last, verdict.most, verdict.flat) == (200.0, 300.0, 300.0, False)
    assert verdict.told()["percent"] == pytest.approx(50.0)
    with pytest.raises(ValueError, match="2 points are too few to judge"):
        judged([1.0, 2.0], part=0.1, small=8.0)
