"""The kernel: its functions in C beside those in numpy, on the same columns, by turns, in one process.

For example:

    measure()       # {"merge_20000_us": …, "merge_20000_numpy_us": …, "merge_20000_times": …, "call_us": …, …}

A call is told apart from what it does by one with ten columns of a row or two. What is compared must be equal first.
The cases of terms and of text are in `kernel_terms`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from bench import kernel_terms
from bench.case import Case
from csparql_spark.kernel import native
from csparql_spark.kernel.limits import UNBOUNDED, Field
from csparql_spark.kernel.twin import group as twin_group
from csparql_spark.kernel.twin import join as twin_join
from csparql_spark.kernel.twin import merge as twin_merge
from csparql_spark.kernel.twin import probe as twin_probe
from csparql_spark.kernel.twin import rows as twin_rows
from csparql_spark.kernel.twin import sort as twin_sort

TURNS = 15  # of three times each: the least counts
LEAST_SECONDS = 0.002  # that a turn takes: short calls are repeated
NEVER = -(1 << 62)


def keys(random: np.random.Generator, size: int, bits: int = 50) -> np.ndarray:
    """Sorted and distinct, as packed triples are."""
    found = np.unique(random.integers(0, 1 << bits, size + size // 8 + 8))
    return np.sort(random.permutation(found)[:size])


def two_maps(random: np.random.Generator, many: int, few: int) -> tuple[object, ...]:
    both = keys(random, many + few)
    chosen = np.zeros(len(both), np.bool_)
    chosen[random.permutation(len(both))[:few]] = True
    less, more = both[chosen], both[~chosen]
    return more, tags(random, more), less, tags(random, less), 5


def tags(random: np.random.Generator, of: np.ndarray) -> np.ndarray:
    return random.integers(6, 1000, len(of))


def sought(random: np.random.Generator, many: int, few: int) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys, and some that are looked up there: half of them are there."""
    there = keys(random, many)
    return there, np.sort(np.concatenate((random.permutation(there)[: few // 2], keys(random, few - few // 2))))


def map_of(random: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    runs = [keys(random, size) for size in sizes]
    return [column for run in runs for column in (run, tags(random, run))]


def unsorted(random: np.random.Generator, size: int) -> np.ndarray:
    return random.permutation(keys(random, size))


def shuffled(random: np.random.Generator, many: int, few: int) -> tuple[object, ...]:
    there, looked_up = sought(random, many, few)
    return there, random.permutation(looked_up)


def narrow(random: np.random.Generator) -> tuple[object, ...]:
    """A subject each, of which a run has some rows."""
    runs = map_of(random, 500_000, 20_000)
    return runs, np.sort(random.permutation(runs[0])[:10_000]) & -(1 << 30), 1 << 30, 5, UNBOUNDED


def joined(random: np.random.Generator) -> tuple[object, ...]:
    """What is found becomes the object of a key that whoever asks has begun."""
    runs, low, span, now, most = narrow(random)
    return runs, low, span, np.arange(len(low)) << 30, tags(random, low), now, most, Field(0, (1 << 30) - 1, 0)


def to_absorb(random: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Keys that come to a map which has half of them; each time as if for the first, since their rows are dropped."""
    runs = map_of(random, 500_000, 50_000, 5_000)
    new = np.unique(np.concatenate((random.permutation(runs[0])[:20_000], keys(random, 20_000))))
    return runs, new, tags(random, new)


def rows_of(random: np.random.Generator, groups: int, whole: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """100,000 rows of a group and a value."""
    values = random.normal(20, 5, 100_000)
    return random.integers(0, groups, 100_000), (values * 1e6).astype(np.int64) if whole else values


def summed(kind: Callable[[], object], groups: np.ndarray, values: np.ndarray) -> Callable[[], object]:
    def sums() -> object:
        table = kind()
        table.add(groups, values)
        return table.of(np.arange(len(table)))

    return sums


def changed(kind: Callable[[], object], groups: np.ndarray, values: np.ndarray) -> Callable[[], object]:
    """Three rows come to sums of all, and go again; both times it is asked what their groups have."""
    table = kind()
    table.add(groups, values)
    few, often = np.arange(3), np.ones(3, np.int64)

    def change() -> object:
        table.add(few, values[:3], often)
        after = table.of(few)
        table.add(few, values[:3], -often)
        return after, table.of(few)

    return change


def rows_that_repeat(random: np.random.Generator, distinct: int) -> tuple[list[np.ndarray]]:
    """100,000 rows of three columns."""
    one, two, three = (random.integers(0, 100_000, distinct) for _ in range(3))
    rows = random.integers(0, distinct, 100_000)
    return ([one[rows], two[rows], three[rows]],)


def counted(kind: Callable[[int], object], columns: list[np.ndarray]) -> Callable[[], object]:
    """A thousand rows come to a bag of all, and go again."""
    bag = kind(len(columns))
    bag.add(columns)
    some, often = [column[:1000] + 7 for column in columns], np.ones(1000, np.int64)

    def count() -> object:
        return *bag.add(some, often), *bag.add(some, -often)

    return count


def two_bags(random: np.random.Generator) -> tuple[np.ndarray, int, int]:
    """Two bags of 100,000 rows of which one in a hundred is another."""
    one = random.permutation(100_000)
    other = one.copy()
    other[:1000] = np.arange(100_000, 101_000)
    return np.concatenate((one, random.permutation(other))), 100_000, 101_000


def to_turn(random: np.random.Generator) -> tuple[object, ...]:
    """Triples by predicate, subject and object become triples by predicate, object and subject."""
    p, s, o = (random.integers(0, count, 100_000) for count in (20, 50_000, 50_000))
    triples = np.unique(p << 40 | s << 20 | o)
    columns = (np.array(three, np.int64) for three in ((40, 20, 0), (0xFFFFF,) * 3, (40, 0, 20)))
    return triples, tags(random, triples), np.zeros(len(triples), np.bool_), *columns, 0


CASES = {
    "merge_100": Case(
        "merge 100 rows into 5,000", "merge.merge", twin_merge.merge, lambda random: two_maps(random, 5_000, 100)
    ),
    "merge_20000": Case(
        "merge 20,000 into 500,000", "merge.merge", twin_merge.merge, lambda random: two_maps(random, 500_000, 20_000)
    ),
    "merge_200000": Case(
        "merge 200,000 into 500,000", "merge.merge", twin_merge.merge, lambda random: two_maps(random, 500_000, 200_000)
    ),
    "found_100": Case(
        "look up 100 sorted keys in 5,000", "probe.found", twin_probe.found, lambda random: sought(random, 5_000, 100)
    ),
    "found_40000": Case(
        "look up 40,000 sorted keys in 500,000",
        "probe.found",
        twin_probe.found,
        lambda random: sought(random, 500_000, 40_000),
    ),
    "found_shuffled": Case(
        "the same in no order", "probe.found", twin_probe.found, lambda random: shuffled(random, 500_000, 40_000)
    ),
    "held": Case(
        "those of 500,000 rows that hold", "merge.held", twin_merge.held, lambda random: (*map_of(random, 500_000), 200)
    ),
    "slices": Case("the rows of 10,000 subjects, of two runs", "join.slices", twin_join.slices, narrow),
    "join": Case("keys made of them", "join.join", twin_join.join, joined),
    "pairs": Case(
        "join 40,000 values with 500,000",
        "join.pairs",
        twin_join.pairs,
        lambda random: (*sought(random, 500_000, 40_000), UNBOUNDED),
    ),
    "tags_of": Case(
        "the tags of 40,000 keys, of three runs",
        "probe.tags_of",
        twin_probe.tags_of,
        lambda random: (
            map_of(random, 500_000, 50_000, 5_000),
            *((new := keys(random, 40_000)), tags(random, new)),
            np.maximum,
        ),
    ),
    "absorb": Case(
        "40,000 keys come to a map of three runs",
        "probe.absorb",
        twin_probe.absorb,
        lambda random: (*to_absorb(random), np.maximum, NEVER),
    ),
    "drop": Case(
        "40,000 keys are dropped from it", "probe.drop", twin_probe.drop, lambda random: (*to_absorb(random)[:2], NEVER)
    ),
    "reduced": Case(
        "count, least and greatest of 100,000 values in 50 groups",
        "group.reduced",
        twin_group.reduced,
        lambda random: (*rows_of(random, 50, whole=True), 50),
    ),
    "integer_sums": Case(
        "sum 100,000 integers in 50 groups",
        "group.IntegerSums",
        twin_group.IntegerSums,
        lambda random: rows_of(random, 50, whole=True),
        summed,
    ),
    "double_sums": Case(
        "sum 100,000 doubles in 50 groups, rounded once",
        "group.DoubleSums",
        twin_group.DoubleSums,
        lambda random: rows_of(random, 50),
        summed,
    ),
    "double_sums_10000": Case(
        "the same in 10,000 groups",
        "group.DoubleSums",
        twin_group.DoubleSums,
        lambda random: rows_of(random, 10_000),
        summed,
    ),
    "double_changes": Case(
        "3 of 100,000 doubles in 50 groups come and go",
        "group.DoubleSums",
        twin_group.DoubleSums,
        lambda random: rows_of(random, 50),
        changed,
    ),
    "dense_rows_50": Case(
        "number 100,000 rows of three columns, 50 of them distinct",
        "rows.dense_rows",
        twin_rows.dense_rows,
        lambda random: rows_that_repeat(random, 50),
    ),
    "dense_rows_100000": Case(
        "the same, nearly all of them distinct",
        "rows.dense_rows",
        twin_rows.dense_rows,
        lambda random: rows_that_repeat(random, 1_000_000),
    ),
    "row_bag": Case(
        "1,000 rows come to a bag of 100,000 and go",
        "rows.RowBag",
        twin_rows.RowBag,
        lambda random: rows_that_repeat(random, 1_000_000),
        counted,
    ),
    "unpaired": Case(
        "how two bags of 100,000 rows differ, in 1,000 of them", "rows.unpaired", twin_rows.unpaired, two_bags
    ),
    "unite": Case(
        "unite 100,000 rows of 10,000 keys",
        "sort.unite",
        twin_sort.unite,
        lambda random: (
            unsorted(random, 10_000)[random.integers(0, 10_000, 100_000)],
            random.integers(6, 1000, 100_000),
            np.maximum,
            5,
        ),
    ),
    "ordered": Case(
        "sort 100,000 keys", "sort.ordered", twin_sort.ordered, lambda random: (unsorted(random, 100_000),)
    ),
    "order": Case(
        "the order of 100,000 keys", "sort.order_of", twin_sort.order_of, lambda random: (unsorted(random, 100_000),)
    ),
    "turn": Case("turn 100,000 triples around", "sort.turn", twin_sort.turn, to_turn),
    "distinct": Case(
        "the distinct of 500,000 sorted values",
        "sort.distinct",
        twin_sort.distinct,
        lambda random: (np.sort(keys(random, 250_000)[random.integers(0, 250_000, 500_000)]),),
    ),
    "dense_ranks": Case(
        "rank 100,000 values of 1,000",
        "sort.dense_ranks",
        twin_sort.dense_ranks,
        lambda random: (unsorted(random, 1_000)[random.integers(0, 1_000, 100_000)],),
    ),
    **kernel_terms.CASES,
}
LOADING = """
import time
began = time.perf_counter()
from csparql_spark.kernel import native
print((time.perf_counter() - began) * 1e3)
"""


def measure(turns: int = TURNS) -> dict[str, object]:
    """µs by function, in C and in numpy, and how many times the one the other takes."""
    if native.library is None:
        raise RuntimeError(native.missing)
    numbers: dict[str, object] = {}
    for name, case in CASES.items():
        # Each has columns of its own: some are written to.
        arguments, others = (case.arguments(np.random.default_rng(7)) for _ in range(2))
        module, function = case.ours.split(".")
        ours = getattr(__import__(f"csparql_spark.kernel.compiled.{module}", fromlist=[function]), function)
        one, other = case.ready(ours, *arguments), case.ready(case.numpy, *others)
        _same(name, case.told(one()), case.told(other()))
        mine, numpys = _by_turns(one, other, turns)
        numbers |= {f"{name}_us": mine * 1e6, f"{name}_numpy_us": numpys * 1e6, f"{name}_times": numpys / mine}
    numbers["call_us"] = call() * 1e6
    numbers["load_ms"] = min(float(subprocess.check_output([sys.executable, "-c", LOADING])) for _ in range(5))
    numbers["library_kb"] = _size() / 1e3
    return numbers


def call() -> float:
    """Of ten columns and three numbers: seconds."""
    columns = [np.arange(2, dtype=np.int64) for _ in range(10)]
    low, outs, runs = columns[0], columns[1:4], columns[4:]
    slices = native.library.slices

    def often() -> None:
        for _ in range(1000):
            slices(low, 0, 5, 99, *outs, *runs)

    return _seconds(often, 20) / 1000


def _size() -> int:
    with open(native.library.__file__, "rb") as library:
        return len(library.read())


def _same(name: str, ours: object, numpys: object) -> None:
    for one, other in zip(*(part if isinstance(part, tuple) else (part,) for part in (ours, numpys)), strict=True):
        # Rows of several runs come in another order.
        if name not in ("slices", "join") and not np.array_equal(one, other) or len(one) != len(other):
            raise RuntimeError(f"{name}: not the same")


def _by_turns(one: Callable[[], object], other: Callable[[], object], turns: int) -> tuple[float, float]:
    """The least seconds of each: what a machine does besides happens to both."""
    best = [float("inf"), float("inf")]
    for _ in range(turns):
        for place, function in enumerate((one, other)):
            best[place] = min(best[place], _seconds(function, 3))
    return best[0], best[1]


def _seconds(function: Callable[[], object], times: int) -> float:
    """The least of some times, each of as many calls as take long enough to be told apart. The first call is not
    counted: it finds the memory of whoever had its turn before."""
    best = float("inf")
    function()
    for _ in range(times):
        calls, began, passed = 0, time.perf_counter(), 0.0
        while passed < LEAST_SECONDS:
            function()
            calls += 1
            passed = time.perf_counter() - began
        best = min(best, passed / calls)
    return best
