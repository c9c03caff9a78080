"""Which triples can matter to a plan: a reduction before the matching, by columns.

A triple matters when it fits some pattern by itself, and when, for each variable that patterns share, the other
patterns have a candidate with the same term. The others can be left out without changing any answer:

    patterns   ?r :level :high . ?r :value ?v
    triples    r1 :level :high   r1 :value 7        kept: r1 is on both sides
               r2 :level :low    r2 :value 9        left out: r2 is not high, so its value does not matter
               r3 :colour :red                      left out: no pattern

It is a filter, not a join: what it keeps may still be too much (it looks at one variable at a time), never too little.

    s, p, o = relevant(plan, dictionary, s, p, o)
"""

from __future__ import annotations

import numpy as np

from csparql_spark.answers.plan import Plan
from csparql_spark.rdf.dictionary import TermDictionary

ROUNDS = 2       # what one round has left out lets the next one leave out more; most is gone after two

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def relevant(plan: Plan, dictionary: TermDictionary, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> Columns:
    """The triples of the columns that can matter to the plan."""
    columns = (s, p, o)
    candidates = [_fitting(pattern, dictionary, columns) for pattern in plan.patterns]
    shared = _shared(plan)
    for _ in range(ROUNDS):
        for places in shared:
            known = np.ones(len(dictionary), dtype=bool)
            for pattern, position in places:
                seen = np.zeros(len(dictionary), dtype=bool)
                seen[columns[position][candidates[pattern]]] = True
                known &= seen
            for pattern, position in places:
                rows = candidates[pattern]
                candidates[pattern] = rows[known[columns[position][rows]]]
    kept = np.zeros(len(s), dtype=bool)
    if all(len(rows) for rows in candidates):        # a pattern that nothing fits leaves no solution at all
        for rows in candidates:
            kept[rows] = True
    return s[kept], p[kept], o[kept]


def _fitting(pattern: tuple[str, str, str], dictionary: TermDictionary, columns: Columns) -> np.ndarray:
    """The rows that fit a pattern by themselves."""
    fits = np.ones(len(columns[0]), dtype=bool)
    for position, node in enumerate(pattern):
        if not is_variable(node):
            id = dictionary.find(node)
            fits &= columns[position] == (-1 if id is None else id)
        elif (before := pattern.index(node)) < position:
            fits &= columns[position] == columns[before]
    return np.flatnonzero(fits)


def is_variable(node: str) -> bool:
    return node[0] in "?_"


def _shared(plan: Plan) -> list[list[tuple[int, int]]]:
    """For each variable that several patterns share: where it stands, once for each pattern."""
    places: dict[str, dict[int, int]] = {}
    for number, pattern in enumerate(plan.patterns):
        for position, node in enumerate(pattern):
            if is_variable(node):
                places.setdefault(node, {}).setdefault(number, position)
    return [list(found.items()) for found in places.values() if len(found) > 1]
