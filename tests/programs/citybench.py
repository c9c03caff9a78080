"""The CityBench queries and the streams of the city of Aarhus, where they lie beside the repository; and what the
queries say, the long way round.

    streams_of(query, rows=4)                 what its streams send: each a recording, as `replay` reads it
    instants_of(query, streams)               when it is answered
    said(query, streams, instant)             what it says: Oxigraph, on a store made for this instant alone

A sensor sends one row of its file a second, as in the benchmark's published runs; a row is one observation of each
property that the sensor observes. The first stream of a query sends on the second, the others 250 ms after the one
before, so that elements lie at the edges of windows and between them.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pyoxigraph as ox

from csparql_spark.language import ContinuousQuery, Window, parse

CITYBENCH = Path(__file__).resolve().parents[3] / "shared" / "citybench"

START = 1_407_754_800_000  # 2014-08-11T11:00:00Z
ROW_EVERY = 1_000
NEXT_STREAM = 250

SENSOR = "http://www.insight-centre.org/dataset/SampleEventService#"
SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO = "http://purl.oclc.org/NET/sao/"
CT = "http://www.insight-centre.org/citytraffic#"
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
XSD = "http://www.w3.org/2001/XMLSchema#"

GASES = ("ozone", "particullate_matter", "carbon_monoxide", "sulfure_dioxide", "nitrogen_dioxide")

Answer = list[tuple[str, ...]] | bool


@dataclass(frozen=True)
class Recording:
    """What a stream sends: triples, each with its stamp."""

    elements: list[tuple[int, ox.Triple]]

    @cached_property
    def text(self) -> str:
        return "".join(f"{triple} <urn:t:{stamp}> .\n" for stamp, triple in self.elements)

    @property
    def first(self) -> int:
        return min(stamp for stamp, _ in self.elements)

    @property
    def last(self) -> int:
        return max(stamp for stamp, _ in self.elements)


def query_of(name: str) -> ContinuousQuery:
    return parse(text_of(name))


def text_of(name: str) -> str:
    """A query with the line that the benchmark's driver puts before it."""
    return f"REGISTER QUERY {name} AS\n{(CITYBENCH / 'queries' / f'{name}.csparql').read_text(encoding='utf-8')}"


# --- background


def file_of(graph: str) -> str:
    """`…/AarhusCulturalEvents.rdf` is the file `AarhusCulturalEvents.n3.gz`."""
    return graph.rpartition("/")[2].removesuffix(".rdf")


@cache
def static(name: str) -> list[ox.Quad]:
    with gzip.open(CITYBENCH / "static" / f"{name}.n3.gz") as lines:
        return list(ox.parse(lines.read(), format=ox.RdfFormat.N3))


@cache
def static_text(name: str) -> str:
    return ox.serialize(static(name), format=ox.RdfFormat.N_TRIPLES).decode()


@cache
def properties() -> dict[str, list[tuple[str, ox.NamedNode]]]:
    """What each sensor observes: the local name of the property's class, and the property."""
    classes = {
        quad.subject: quad.object.value.removeprefix(CT)
        for quad in static("SensorRepository")
        if quad.predicate == TYPE and quad.object.value.startswith(CT)
    }
    found: dict[str, list[tuple[str, ox.NamedNode]]] = {}
    for quad in static("SensorRepository"):
        if quad.predicate.value == f"{SSN}observes":
            found.setdefault(quad.subject.value, []).append((classes[quad.object], quad.object))
    return found


@cache
def distances() -> dict[str, float]:
    with open(CITYBENCH / "static" / "trafficMetaData.csv", encoding="utf-8", newline="") as file:
        return {row["REPORT_ID"]: float(row["DISTANCE_IN_METERS"]) for row in csv.DictReader(file)}


# --- streams


def streams_of(query: ContinuousQuery, rows: int) -> dict[str, Recording]:
    sensors = dict.fromkeys(window.stream for window in query.windows)
    return {sensor: recording(sensor, START + number * NEXT_STREAM, rows) for number, sensor in enumerate(sensors)}


@cache
def recording(sensor: str, start: int, rows: int) -> Recording:
    return Recording(
        [
            (start + number * ROW_EVERY, triple)
            for number, row in enumerate(rows_of(sensor, rows))
            for triple in observations(sensor, number, row)
        ]
    )


def rows_of(sensor: str, count: int) -> list[dict[str, str]]:
    path = CITYBENCH / "streams" / f"{sensor.removeprefix(SENSOR)}.stream"
    with open(path, encoding="utf-8", newline="") as file:
        if path.stem == "UserLocationService":
            places = (line.strip().partition("|")[2].split(",") for line in file)
            return [dict(zip(("latitude", "longitude"), next(places), strict=True)) for _ in range(count)]
        lines = csv.DictReader(file)
        return [next(lines) for _ in range(count)]


def observations(sensor: str, number: int, row: dict[str, str]) -> Iterator[ox.Triple]:
    for kind, observed in properties()[sensor]:
        observation = ox.NamedNode(f"{SENSOR}{sensor.removeprefix(SENSOR)}-{kind}-{number}")
        yield ox.Triple(observation, TYPE, ox.NamedNode(f"{SSN}Observation"))
        yield ox.Triple(observation, ox.NamedNode(f"{SSN}observedBy"), ox.NamedNode(sensor))
        yield ox.Triple(observation, ox.NamedNode(f"{SSN}observedProperty"), observed)
        if kind == "Location":
            place = ox.BlankNode(f"place{number}")
            yield ox.Triple(observation, ox.NamedNode(f"{SAO}hasValue"), place)
            yield ox.Triple(place, ox.NamedNode(f"{CT}hasLatitude"), double(row["latitude"]))
            yield ox.Triple(place, ox.NamedNode(f"{CT}hasLongitude"), double(row["longitude"]))
        elif kind != "MeasureTime":  # the benchmark sends it without a value
            yield ox.Triple(observation, ox.NamedNode(f"{SAO}hasValue"), value(kind, row))


def value(kind: str, row: dict[str, str]) -> ox.Literal:
    match kind:
        case "CongestionLevel":
            return double(float(row["vehicleCount"]) / distances()[row["REPORT_ID"]])
        case "EstimatedTime":
            speed = float(row["avgSpeed"])
            return double(distances()[row["REPORT_ID"]] / speed if speed else -1.0)
        case "AvgSpeed":
            return double(float(row["avgSpeed"]))
        case "VehicleCount":
            return double(float(row["vehicleCount"]))
        case "ParkingVacancy":
            return integer(int(row["totalspaces"]) - int(row["vehiclecount"]))
        case "API":
            return integer(max(int(row[gas]) for gas in GASES))
        case "Temperature":
            return double(float(row["tempm"]))
        case "Humidity":
            return integer(int(row["hum"]))
        case "WindSpeed":
            return double(float(row["wspdm"]))
    raise LookupError(f"the benchmark does not say what the value of a {kind} is")


def double(written: object) -> ox.Literal:
    return ox.Literal(str(written), datatype=ox.NamedNode(f"{XSD}double"))


def integer(written: int) -> ox.Literal:
    return ox.Literal(str(written), datatype=ox.NamedNode(f"{XSD}integer"))


# --- what is said


def instants_of(query: ContinuousQuery, streams: dict[str, Recording]) -> list[int]:
    """The multiples of steps from the first element on, to the first at which each window has passed its last one."""
    steps = {window.step for window in query.windows}
    first = min(recording.first for recording in streams.values())
    passed = max(at_or_after(streams[window.stream].last + window.range, {window.step}) for window in query.windows)
    return [t for t in range(first, at_or_after(passed, steps) + 1) if is_multiple(t, steps)]


def at_or_after(instant: int, steps: set[int]) -> int:
    while not is_multiple(instant, steps):
        instant += 1
    return instant


def is_multiple(instant: int, steps: set[int]) -> bool:
    return any(instant % step == 0 for step in steps)


def seen(window: Window, recording: Recording, instant: int) -> list[ox.Triple]:
    """What a window holds at an instant: as of its own last step."""
    end = instant // window.step * window.step
    return [triple for stamp, triple in recording.elements if end - window.range < stamp <= end]


def said(query: ContinuousQuery, streams: dict[str, Recording], instant: int) -> Answer:
    """A new store for the instant: all windows and all FROM graphs, merged. Rows are in the order of the variables."""
    store = ox.Store()
    for graph in query.graphs:
        store.extend(static(file_of(graph)))
    for window in query.windows:
        store.extend(ox.Quad(*triple) for triple in seen(window, streams[window.stream], instant))
    found = store.query(query.body)
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    assert [variable.value for variable in found.variables] == list(query.variables)
    return [tuple("" if term is None else str(term) for term in solution) for solution in found]
