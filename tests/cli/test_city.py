"""The demo's city: the same everywhere, lifelike enough, and its queries answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.cli import city
from csparql_spark.cli.city import BEGIN, DISTRICTS, GRAPH, QUERIES, STEP, STREAMS, City
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.testing import Instant, replay

BASE = "http://demo.test/"
MINUTE, HOUR = 60_000, 3_600_000
RUSH = BEGIN + 75 * MINUTE  # eight o'clock


def recorded(stream: str, begin: int, minutes: int, seed: int = 1) -> str:
    return "".join(City(seed).readings(stream, at) for at in range(begin, begin + minutes * MINUTE, STEP))


def answers(name: str, begin: int = RUSH, minutes: int = 3, **more: str) -> list[Instant]:
    text = city.query(name)
    streams = {window.stream for window in read(text, BASE).windows}
    told = {
        iri: more.get(short) or recorded(short, begin, minutes)
        for iri in streams
        for short in [iri.removeprefix(f"{BASE}streams/")]
    }
    return list(replay(text, streams=told, background={GRAPH: City().background()}, base=BASE))


def number(term: str) -> float:
    return float(term.split('"')[1])


@pytest.mark.parametrize("stream", STREAMS)
def test_what_is_said_depends_on_seed_and_instant_alone(stream: str) -> None:
    once, again = City(7), City(7)
    told = [once.readings(stream, BEGIN + n * STEP) for n in range(20)]
    assert [again.readings(stream, BEGIN + n * STEP) for n in reversed(range(20))] == told[::-1]
    assert City(8).readings(stream, BEGIN) != told[0]
    assert len(set(told)) == 20


@pytest.mark.parametrize("stream, count", [("traffic", 72), ("parking", 12), ("weather", 9)])
def test_what_is_said_can_be_pushed(stream: str, count: int) -> None:
    chunk = parse_push(City().readings(stream, BEGIN).encode(), RdfFormat.TRIG, base=None, blank_prefix="b.")
    assert (len(chunk), chunk.unstamped, chunk.last) == (count, 0, BEGIN)


def test_some_readings_come_late_and_only_those_of_one_camera() -> None:
    late = [
        at
        for at in range(BEGIN, BEGIN + HOUR, STEP)
        if f"<urn:t:{at - city.TARDY}> {{ [] c:by s:Market-0 ;" in City().readings("traffic", at)
    ]
    graphs = sum(City().readings("traffic", at).count("<urn:t:") for at in range(BEGIN, BEGIN + HOUR, STEP))
    assert 10 < len(late) < 60 and graphs == HOUR // STEP + len(late)
    assert city.TARDY > city.DELAY


def test_it_has_a_rush_hour_and_car_parks_fill() -> None:
    made, old_town = City(), DISTRICTS[0]
    at = {hour: BEGIN - 45 * MINUTE + (hour - 6) * HOUR for hour in (6, 8, 12, 17)}
    assert made.speed(old_town, at[8]) < made.speed(old_town, at[12]) < made.speed(old_town, at[6])
    assert made.speed(old_town, at[17]) < made.speed(old_town, at[12])
    assert made.full(old_town, at[6]) < 0.3 < 0.8 < made.full(old_town, at[12])
    assert all(0 <= made.rain(BEGIN + n * MINUTE) <= 1 for n in range(1440))
    assert any(made.rain(BEGIN + n * MINUTE) for n in range(1440))


def test_speeds_move_and_are_those_of_all_districts() -> None:
    told = [instant for instant in answers("Speeds") if instant.at <= RUSH + 3 * MINUTE - 10_000]
    assert [later.at - one.at for one, later in zip(told, told[1:], strict=False)] == [10_000] * (len(told) - 1)
    assert len(told) == 18
    for instant in told:
        assert [row["district"] for row in instant.rows] == sorted(f'"{one.name}"' for one in DISTRICTS)
    assert len({row["speed"] for instant in told for row in instant.rows}) > 40
    assert all(3 <= number(row["speed"]) <= 60 for instant in told for row in instant.rows)


def test_reporting_counts_what_nobody_has_said() -> None:
    told = {row["kind"]: number(row["sensors"]) for row in answers("Reporting")[6].rows}
    assert told == {
        '"sensor"': 33,
        '"road sensor"': 24,
        '"camera"': 12,
        '"induction loop"': 12,
        '"barrier"': 6,
        '"parking sensor"': 6,
        '"weather station"': 3,
    }
    said = City().background()
    assert "a c:Camera" in said and "a c:Sensor" not in said and "a c:RoadSensor" not in said


def test_the_chain() -> None:
    jams = [instant for instant in answers("Jams") if instant.ntriples]
    assert len(jams) > 10 and all("#OldTown>" in instant.ntriples for instant in jams[:12])
    stream = "".join(f"<urn:t:{instant.at}> {{ {instant.ntriples} }}\n" for instant in jams)
    told = [instant for instant in answers("ParkInstead", Jams=stream) if instant.rows]
    assert len(told) >= 10
    for instant in told[:12]:
        assert '"Old Town"' in {row["jammed"] for row in instant.rows}
        assert all(number(row["kmh"]) < 30 and number(row["places"]) >= 0 for row in instant.rows)


def test_jams_begin_soon_enough_to_be_watched() -> None:
    told = answers("Jams", BEGIN, 10)
    assert any(instant.ntriples for instant in told if instant.at < BEGIN + 5 * MINUTE)


def test_all_queries_are_read() -> None:
    files = Path(city.__file__).with_name("city_files")
    assert {path.stem for path in files.iterdir()} == set(QUERIES.values())
    assert {name: read(city.query(name), BASE).name for name in QUERIES} == {name: name for name in QUERIES}
