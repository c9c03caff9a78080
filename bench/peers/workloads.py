"""Workloads: jobs that are the same for all peers, by name, size and change.

For example:

    self, single    Laser's grid: a window of some seconds that slides each second over a stream of some rate; a pattern
                    joined with itself, and one pattern (◇). Rows: (a, c), (a, b)
    analytic        three patterns, FILTER and GROUP BY over a sliding window.
                    Rows: (room, sum of values, greatest value, number), values in tenths
    closure         IMaRS' experiment: a tree of `isIn`, which is transitive, some of whose edges change.
                    Rows: (a, c)
    rdfs            domains, ranges, super-properties and a tree of classes over a sliding window: about 14 facts follow
                    from each triple. Rows: (s, p, o), without those of the schema
    many            many queries over one window: (query, observation, sensor, value in tenths)

    cell = CELLS["self"][0]
    job = cell.job(quick=True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.peers.job import Job

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
DECIMAL = "<http://www.w3.org/2001/XMLSchema#decimal>"
WARM = 3
ROOMS, SENSORS, VALUES = 50, 500, 400
PROPERTIES, BRANCHING, DEPTH = 50, 4, 6

SELF = "SELECT ?a ?c WHERE { ?a <urn:next> ?b . ?b <urn:next> ?c }"
SINGLE = "SELECT ?a ?b WHERE { ?a <urn:next> ?b }"
ANALYTIC = (
    "SELECT ?room (AVG(?v) AS ?mean) (MAX(?v) AS ?most) (COUNT(*) AS ?n) WHERE { ?obs <urn:of> ?sensor . "
    "?obs <urn:value> ?v . ?sensor <urn:in> ?room FILTER(?v > 20) } GROUP BY ?room"
)


@dataclass(frozen=True)
class Cell:
    """One column of a table: a workload of a size with a change."""

    workload: str
    size: str
    change: str
    unit: str  # "us": for each triple that comes; "ms": for each slide
    quick: bool  # whether it is part of the quick run
    job: Callable[[int], Job]  # of so many slides that count

    @property
    def bench(self) -> str:
        return f"peers-{self.workload}-{self.size}-{self.change}"

    @property
    def effort(self) -> tuple[float, float]:
        """How large the window is, and how much is asked of it: what is more in both is more to do."""
        return tuple(float(number.rstrip("s%")) for number in (self.size, self.change))

    @property
    def small_slide(self) -> bool:
        """Whether a tenth of the window changes, or less."""
        return float(self.change.rstrip("%")) <= 10 if self.change.endswith("%") else True


def chain(kind: str, width: int, count: int, slides: int) -> Job:
    """Random edges among as many nodes as the window has edges."""
    nodes = max(8, width * count)
    terms = [f"<urn:e{n}>" for n in range(nodes)] + ["<urn:next>"]
    stream = _distinct(
        lambda size, dice: np.stack(
            [dice.integers(0, nodes, size), np.full(size, nodes), dice.integers(0, nodes, size)], axis=1
        ),
        (width + WARM + slides) * count,
    )
    return Job(
        kind,
        width,
        count,
        WARM,
        slides,
        2,
        terms,
        np.empty((0, 3), np.int32),
        stream,
        [SELF if kind == "self" else SINGLE],
        {"next": nodes},
    )


def readings(kind: str, width: int, count: int, slides: int, queries: list[str]) -> Job:
    """Observations of sensors: two triples each, half of a slide the one, half the other."""
    half, total = count // 2, (width + WARM + slides) * (count // 2)
    dice = np.random.default_rng(5)
    terms = [
        "<urn:of>",
        "<urn:value>",
        "<urn:in>",
        *(f'"{n / 10}"^^{DECIMAL}' for n in range(VALUES)),
        *(f"<urn:sensor{n}>" for n in range(SENSORS)),
        *(f"<urn:room{n}>" for n in range(ROOMS)),
    ]
    value, sensor, room = 3, 3 + VALUES, 3 + VALUES + SENSORS
    first = len(terms)
    terms += [f"<urn:o{n}>" for n in range(total)]
    numbers = np.arange(first, first + total)
    of = np.stack([numbers, np.zeros(total, int), sensor + dice.integers(0, SENSORS, total)], axis=1)
    said = np.stack([numbers, np.ones(total, int), value + dice.integers(0, VALUES, total)], axis=1)
    stream = np.stack([of.reshape(-1, half, 3), said.reshape(-1, half, 3)], axis=1).reshape(-1, 3)
    background = np.stack([sensor + np.arange(SENSORS), np.full(SENSORS, 2), room + np.arange(SENSORS) % ROOMS], axis=1)
    tenths = np.full(len(terms), -1)
    tenths[value : value + VALUES] = np.arange(VALUES)
    return Job(
        kind,
        width,
        2 * half,
        WARM,
        slides,
        4,
        terms,
        background,
        stream,
        queries,
        {"of": 0, "value": 1, "in": 2, "room": room, "sensor": sensor},
        tenths,
    )


def room_query(number: int) -> str:
    return (
        f"SELECT ?obs ?sensor ?v WHERE {{ ?obs <urn:of> ?sensor . ?obs <urn:value> ?v . "
        f"?sensor <urn:in> <urn:room{number % ROOMS}> FILTER(?v > {number // ROOMS}) }}"
    )


def tree(edges: int, percent: float, slides: int) -> Job:
    """A tree of about five levels, each edge from a node to its parent; so many edges leave and come."""
    count = max(1, round(edges * percent / 100))
    width = min(10, int(0.6 * edges / count))
    branching = max(2, round(edges**0.2))
    all_edges = np.stack([np.arange(1, edges + 1), np.full(edges, edges + 1), np.arange(edges) // branching], axis=1)
    chosen = all_edges[np.random.default_rng(7).permutation(edges)]
    moving, background = chosen[: (width + 1) * count], chosen[(width + 1) * count :]
    places = np.arange((width + WARM + slides) * count) % len(moving)
    terms = [*(f"<urn:n{n}>" for n in range(edges + 1)), "<urn:isIn>"]
    return Job(
        "closure",
        width,
        count,
        WARM,
        slides,
        2,
        terms,
        background,
        moving[places],
        ["SELECT ?a ?c WHERE { ?a <urn:isIn>+ ?c }"],
        {"isIn": edges + 1},
    )


def typed(size: int, percent: float, slides: int, depth: int = DEPTH) -> Job:
    """Sensor data under a schema; entities are many, so that little is said twice."""
    count, width = max(1, round(size * percent / 100)), round(100 / percent)
    classes = [(level, n) for level in range(depth + 1) for n in range(BRANCHING**level)]
    terms = [RDF_TYPE, *(f"<{RDFS}{name}>" for name in ("subClassOf", "subPropertyOf", "domain", "range"))]
    class_ = {name: len(terms) + place for place, name in enumerate(classes)}
    terms += [f"<urn:c{level}-{n}>" for level, n in classes]
    property_ = len(terms)
    terms += [f"<urn:p{n}>" for n in range(PROPERTIES)]
    above = len(terms)
    terms += [f"<urn:super{n}>" for n in range(5)] + ["<urn:top>"]
    entity, entities = len(terms), max(8, 2 * size)
    terms += [f"<urn:e{n}>" for n in range(entities)]

    def classes_above(leaf: int) -> list[int]:
        return [class_[level, leaf // BRANCHING ** (depth - level)] for level in range(depth + 1)]

    schema = [(class_[level, n], 1, class_[level - 1, n // BRANCHING]) for level, n in classes if level]
    supers, domains, ranges = [], [], []
    for n in range(PROPERTIES):
        leaves = n * 17 % BRANCHING**depth, n * 31 % BRANCHING**depth
        schema += [
            (property_ + n, 3, class_[depth, leaves[0]]),
            (property_ + n, 4, class_[depth, leaves[1]]),
            (property_ + n, 2, above + n % 5),
        ]
        supers += [(property_ + n, above + n % 5), (property_ + n, above + 5)]
        domains += [(property_ + n, name) for name in classes_above(leaves[0])]
        ranges += [(property_ + n, name) for name in classes_above(leaves[1])]
    schema += [(above + n, 2, above + 5) for n in range(5)]
    stream = _distinct(
        lambda size, dice: np.stack(
            [
                entity + dice.integers(0, entities, size),
                property_ + dice.integers(0, PROPERTIES, size),
                entity + dice.integers(0, entities, size),
            ],
            axis=1,
        ),
        (width + WARM + slides) * count,
    )
    names = {"type": 0, "subClassOf": 1, "subPropertyOf": 2, "domain": 3, "range": 4, "entity": entity}
    return Job(
        "rdfs",
        width,
        count,
        WARM,
        slides,
        3,
        terms,
        np.array(schema),
        stream,
        [],
        names,
        supers=np.array(supers),
        domains=np.array(domains),
        ranges=np.array(ranges),
    )


def _distinct(draw: Callable[[int, np.random.Generator], np.ndarray], total: int) -> np.ndarray:
    """So many rows, each once."""
    dice, drawn = np.random.default_rng(5), np.empty((0, 3), int)
    for _ in range(20):
        drawn = np.concatenate([drawn, draw(total, dice)])
        _, places = np.unique(drawn, axis=0, return_index=True)
        drawn = drawn[np.sort(places)]
        if len(drawn) >= total:
            return drawn[:total]
    raise ValueError(f"there are too few different triples to make a stream of {total}: make the window larger")


def _cells() -> dict[str, list[Cell]]:
    grid = [(20, 200, True), (80, 800, True)]
    cells: dict[str, list[Cell]] = {name: [] for name in ("self", "single", "analytic", "closure", "rdfs", "many")}
    for kind in ("self", "single"):
        for width, rate, quick in grid:
            cells[kind].append(
                Cell(
                    kind,
                    f"{width}s",
                    f"{rate}",
                    "us",
                    quick,
                    lambda slides, k=kind, w=width, r=rate: chain(k, w, r, slides),
                )
            )
    for size in (1_000, 10_000, 100_000):
        for percent in (1, 10):
            cells["analytic"].append(
                Cell(
                    "analytic",
                    str(size),
                    f"{percent}%",
                    "ms",
                    size != 10_000,
                    lambda slides, s=size, p=percent: readings("analytic", 100 // p, s * p // 100, slides, [ANALYTIC]),
                )
            )
        cells["rdfs"].append(
            Cell("rdfs", str(size), "10%", "ms", size != 100_000, lambda slides, s=size: typed(s, 10, slides))
        )
    for edges in (10_000, 100_000):
        for percent in (0.1, 1, 2.5, 10, 20):
            cells["closure"].append(
                Cell(
                    "closure",
                    str(edges),
                    f"{percent:g}%",
                    "ms",
                    percent in (0.1, 2.5, 20),
                    lambda slides, e=edges, p=percent: tree(e, p, slides),
                )
            )
    for queries in (1, 10, 100, 1000):
        cells["many"].append(
            Cell(
                "many",
                "10000",
                str(queries),
                "ms",
                queries in (1, 100),
                lambda slides, q=queries: readings("many", 10, 1000, slides, [room_query(n) for n in range(q)]),
            )
        )
    return cells


CELLS = _cells()
