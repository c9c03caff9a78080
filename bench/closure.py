"""Entailment: what it costs to keep what follows from a window, beside deriving it anew. Processor time of one thread.

(a) The experiment of the IMaRS paper: trees of `isIn`, which is transitive; a share of the edges changes at each slide.
    All strategies run on the same relations and joins, and they differ in nothing but what they do at a slide.
(b) RDFS over a tree of classes: windows of some sizes that slide by a tenth.
(c) RDFS over a stream of some rates, a window of 10 s that slides each second: the price of a triple.
(d) RDFS over windows that do not slide together: a share of what they hold is taken back and replaced at each instant.

RDFS is the minimal fragment (`rho-df`), and, where it says so, the eleven rules of the paper's Figure 3 (`rdfs`), which
also say of every term that it is a Resource. The rules are prepared as in a worker, for a query that asks for anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from csparql_spark.entailment.maintain.deletion import DeleteRederive
from csparql_spark.entailment.maintain.expiration import Expiration
from csparql_spark.entailment.maintain.recompute import Recompute
from csparql_spark.entailment.maintain.strategy import Materialization
from csparql_spark.entailment.rules.preparing import closed, prepare
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.language.rules.rule import Atom, Rule
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.tags import ALWAYS

STRATEGIES = {"recompute": Recompute, "delete_rederive": DeleteRederive, "expiration": Expiration}
SLIDES = 10  # in a window
RATES = (0.1, 0.5, 1, 2.5, 5, 10, 13, 20)

IS_IN = Rule((Atom("?a", "<urn:isIn>", "?c"),), (Atom("?a", "<urn:isIn>", "?b"), Atom("?b", "<urn:isIn>", "?c")))

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUBCLASS, SUBPROPERTY, DOMAIN, RANGE = (
    f"<{RDFS}{name}>" for name in ("subClassOf", "subPropertyOf", "domain", "range")
)
CLASSES = [(depth, number) for depth in range(6) for number in range(5**depth)]
PROPERTIES = 50
ENTITIES = 10_000


def changes(edges: int, slides: int = 20) -> dict[str, float]:
    """ms for a slide, by strategy and by how many percent of the edges change; how many times as quick expiration is
    as the others; and the percentage from which it is not quicker than to recompute, if there is one."""
    numbers: dict[str, float] = {}
    even = {}
    for rate in RATES:
        count = max(1, round(edges * rate / 100))
        taken = {
            name: _slides(strategy, edges, count, slides // 4 if name == "recompute" else slides)
            for name, strategy in STRATEGIES.items()
        }
        numbers |= {f"{name}_{rate}": ms for name, ms in taken.items()}
        numbers |= {
            f"times_{name}_{rate}": ms / taken["expiration"] for name, ms in taken.items() if name != "expiration"
        }
        even[rate] = np.log(taken["recompute"] / taken["expiration"])
    return {"edges": edges, **numbers, "break_even_percent": _zero(even)}


def _zero(values: dict[float, float]) -> float | None:
    """Where a curve through these points crosses zero for the first time."""
    for (x, y), (next_x, next_y) in zip(values.items(), list(values.items())[1:]):
        if next_y <= 0:
            return x + (next_x - x) * y / (y - next_y)
    return None


def _slides(strategy: type, edges: int, count: int, slides: int) -> float:
    """The median of the slides after the window is full: `count` edges leave and as many come. The others, of the same
    tree, are background."""
    dictionary = TermDictionary()
    s, p, o = _tree(edges, dictionary)
    width = min(SLIDES, int(0.6 * edges / count))  # slides in a window: there is always some background
    chosen = np.random.default_rng(7).permutation(edges)
    moving, background = np.split(chosen, [(width + 1) * count])
    facts = strategy(dictionary, [IS_IN])
    facts.insert(s[background], p[background], o[background], np.full(len(background), ALWAYS))
    taken: list[float] = []
    for slide in range(width + slides):
        rows = np.take(moving, np.arange(slide * count, (slide + 1) * count), mode="wrap")
        new = Facts(s[rows], p[rows], o[rows], np.full(count, slide + width))
        taken.append(_seconds(lambda: _slide(facts, slide, new)))
    return 1000 * float(np.median(taken[width:]))


def _slide(facts: Materialization, now: int, new: Facts) -> None:
    facts.expire(now)
    facts.insert(*new)
    if isinstance(facts, Recompute):  # which does nothing before
        facts.visible(now)


def _tree(edges: int, dictionary: TermDictionary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A tree of about five levels: each edge leads from a node to its parent."""
    branching = max(2, round(edges**0.2))
    ids = dictionary.encode(f"<urn:{number}>" for number in range(edges + 1))
    predicate = dictionary.encode(["<urn:isIn>"])[0]
    return ids[1:], np.full(edges, predicate), ids[np.arange(edges) // branching]


def from_scratch(edges: int) -> dict[str, float]:
    """The closure of the tree, derived from its edges."""
    dictionary = TermDictionary()
    s, p, o = _tree(edges, dictionary)
    derived = 0

    def work() -> None:
        nonlocal derived
        facts = Expiration(dictionary, [IS_IN])
        facts.insert(s, p, o, np.full(edges, ALWAYS))
        derived = facts.visible(0).size

    return {"edges": edges, "ms": 1000 * min(_seconds(work) for _ in range(3)), "facts": derived}


class Sensors:
    """A stream whose triples have one of 50 properties, each of which has a domain, a range and a super-property."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self.classes = dict(zip(CLASSES, dictionary.encode(f"<urn:c{d}-{n}>" for d, n in CLASSES).tolist()))
        self.properties = dictionary.encode(f"<urn:p{n}>" for n in range(PROPERTIES))
        self.supers = dictionary.encode(f"<urn:super{n}>" for n in range(5))
        self.entities = dictionary.encode(f"<urn:e{n}>" for n in range(ENTITIES))
        self.names = dict(
            zip(
                (SUBCLASS, SUBPROPERTY, DOMAIN, RANGE),
                dictionary.encode([SUBCLASS, SUBPROPERTY, DOMAIN, RANGE]).tolist(),
            )
        )
        self._random = np.random.default_rng(11)

    def schema(self) -> Facts:
        rows = [
            (self.classes[depth, number], self.names[SUBCLASS], self.classes[depth - 1, number // 5])
            for depth, number in CLASSES
            if depth
        ]
        deep = [name for (depth, _), name in self.classes.items() if depth == 5]
        for place, property_ in enumerate(self.properties.tolist()):
            rows.append((property_, self.names[DOMAIN], deep[place * 17 % len(deep)]))
            rows.append((property_, self.names[RANGE], deep[place * 31 % len(deep)]))
            rows.append((property_, self.names[SUBPROPERTY], int(self.supers[place % 5])))
        return Facts(*(np.array(column, dtype=np.int64) for column in zip(*rows)), np.full(len(rows), ALWAYS))

    def chunk(self, count: int, tag: int) -> Facts:
        pick = self._random.integers
        return Facts(
            self.entities[pick(0, ENTITIES, count)],
            self.properties[pick(0, PROPERTIES, count)],
            self.entities[pick(0, ENTITIES, count)],
            np.full(count, tag),
        )


def windows(regime: str = "rho-df", slides: int = 20) -> dict[str, float]:
    """By the size of the window, ms for a slide by a tenth, and stream triples closed in a second."""
    numbers: dict[str, float] = {}
    for size in (1_000, 10_000, 100_000):
        per_slide = _streamed(regime, size // SLIDES, slides)
        numbers[f"slide_ms_{size}"] = 1000 * per_slide
        numbers[f"triples_per_s_{size}"] = size / SLIDES / per_slide
    return numbers


def rates(slides: int = 10) -> dict[str, float]:
    """By the rate of the stream, µs for a triple."""
    return {
        f"us_per_triple_{rate}": 1e6 * _streamed("rho-df", rate, slides) / rate
        for rate in (800, 4_000, 20_000, 100_000)
    }


def _streamed(regime: str, count: int, slides: int) -> float:
    """The median of the slides by `count` triples of a window that holds ten times as many."""
    dictionary = TermDictionary()
    stream, rules = Sensors(dictionary), rules_of((regime,), {})
    prepared = prepare(rules, dictionary, closed(rules, dictionary, stream.schema()[:3]), None)
    facts = Expiration(dictionary, prepared.rules)
    facts.load_closed(*prepared.background, np.full(len(prepared.background[0]), ALWAYS))
    taken = [_seconds(lambda: _slide(facts, slide, chunk)) for slide, chunk in _chunks(stream, count, SLIDES + slides)]
    return float(np.median(taken[SLIDES:]))


def jumps(size: int = 10_000, instants: int = 5) -> dict[str, float]:
    """ms for an instant, by strategy and by how many percent of the window are replaced."""
    return {
        f"{name}_{percent}": 1000 * _jumped(STRATEGIES[name], size, max(1, round(size * percent / 100)), instants)
        for percent in (0.2, 1, 2, 10)
        for name in ("expiration", "recompute")
    }


def _jumped(strategy: type, size: int, count: int, instants: int) -> float:
    """The median of the instants of a window that holds `size` triples, of which `count` are others each time."""
    dictionary = TermDictionary()
    stream, rules = Sensors(dictionary), rules_of(("rdfs",), {})
    prepared = prepare(rules, dictionary, closed(rules, dictionary, stream.schema()[:3]), None)
    facts = strategy(dictionary, prepared.rules)
    facts.load_closed(*prepared.background, np.full(len(prepared.background[0]), ALWAYS))
    window = [stream.chunk(count, ALWAYS - 1) for _ in range(size // count)]
    for chunk in window:
        facts.insert(*chunk)
    facts.visible(0)

    def jump() -> None:
        facts.remove(*window.pop(0)[:3])
        window.append(stream.chunk(count, ALWAYS - 1))
        facts.insert(*window[-1])
        facts.visible(0)

    return float(np.median([_seconds(jump) for _ in range(instants)]))


def _chunks(stream: Sensors, count: int, slides: int) -> Iterator[tuple[int, Facts]]:
    for slide in range(slides):
        yield slide, stream.chunk(count, slide + SLIDES)


def _seconds(work: Callable[[], None]) -> float:
    """Of the processor: it is one thread that does nothing but calculate, whoever else may be at work."""
    start = time.process_time()
    work()
    return time.process_time() - start
