"""Which triples can matter to a plan: a reduction before the matching, by columns.

A plan reads basic graph patterns. A triple matters to one of them when it fits some of its patterns by itself, and
when, for each variable that patterns share, the other patterns have a candidate with the same term. What matters to
none of them can be left out without changing any answer:

    patterns   ?r :level :high . ?r :value ?v
    triples    r1 :level :high   r1 :value 7        kept: r1 is on both sides
               r2 :level :low    r2 :value 9        left out: r2 is not high, so its value does not matter
               r3 :colour :red                      left out: no pattern

It is a filter, not a join: what it keeps may still be too much (it looks at one variable at a time), never too little.

    s, p, o = relevant(plan.reads, dictionary, s, p, o)
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.rdf.dictionary import TermDictionary

ROUNDS = 2  # what one round has left out lets the next one leave out more; most is gone after two

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def relevant(
    reads: tuple[tuple[Pattern, ...], ...] | None,
    dictionary: TermDictionary,
    s: np.ndarray,
    p: np.ndarray,
    o: np.ndarray,
) -> Columns:
    """The triples of the columns that can matter to what is read; all of them if that is not known."""
    columns = (s, p, o)
    if reads is None:
        return columns
    mask = np.zeros(len(s), dtype=bool)
    for patterns in reads:
        candidates = _candidates(patterns, dictionary, columns)
        if all(len(rows) for rows in candidates):  # a pattern that nothing fits leaves no solution at all
            for rows in candidates:
                mask[rows] = True
    return s[mask], p[mask], o[mask]


def _candidates(patterns: tuple[Pattern, ...], dictionary: TermDictionary, columns: Columns) -> list[np.ndarray]:
    """For each pattern the rows that can be matched by it."""
    candidates = [fitting(pattern, dictionary, columns) for pattern in patterns]
    shared = shared_places(patterns)
    for _ in range(ROUNDS):
        for places in shared:
            known = np.ones(len(dictionary), dtype=bool)
            for pattern, position in places:
                members = np.zeros(len(dictionary), dtype=bool)
                members[columns[position][candidates[pattern]]] = True
                known &= members
            for pattern, position in places:
                rows = candidates[pattern]
                candidates[pattern] = rows[known[columns[position][rows]]]
    return candidates


def fitting(pattern: Pattern, dictionary: TermDictionary, columns: Columns) -> np.ndarray:
    """The rows that fit a pattern by themselves."""
    fits: np.ndarray | None = None
    for position, node in enumerate(pattern):
        if not is_variable(node):
            id = dictionary.find(node)
            alike = columns[position] == (-1 if id is None else id)
        elif (before := pattern.index(node)) < position:
            alike = columns[position] == columns[before]
        else:
            continue
        fits = alike if fits is None else fits & alike
    return np.arange(len(columns[0])) if fits is None else fits.nonzero()[0]


def shared_places(patterns: tuple[Pattern, ...]) -> list[list[tuple[int, int]]]:
    """For each variable that several patterns share: where it stands, once for each pattern."""
    places: dict[str, dict[int, int]] = {}
    for number, pattern in enumerate(patterns):
        for position, node in enumerate(pattern):
            if is_variable(node):
                places.setdefault(node, {}).setdefault(number, position)
    return [list(found.items()) for found in places.values() if len(found) > 1]
