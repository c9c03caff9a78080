"""Products: how many solutions a pattern has at least, when parts of it have nothing in common.

Patterns that share no variable are multiplied. That is seldom meant, and soon more than any store can go through; what
cannot be stopped when it has begun must be seen before.

    ?a :p ?b . ?c :q ?d          3,000 candidates for the first, 5,000 for the second: 15,000,000 solutions
    ?a :p ?b . ?b :q ?d          connected: nothing is known
    ?a :p ?b . ?c :q ?d { ?b :r ?x }      the second is alone: nothing is known of the first

    largest_product(plan.reads, dictionary, s, p, o)          # 15_000_000
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from csparql_spark.answers.patterns import Pattern, is_variable
from csparql_spark.answers.relevant import fitting
from csparql_spark.rdf.dictionary import TermDictionary


def largest_product(reads: tuple[tuple[Pattern, ...], ...] | None, dictionary: TermDictionary, s: np.ndarray,
                    p: np.ndarray, o: np.ndarray) -> int:
    """The largest number of solutions that some basic graph pattern has because its parts are not connected."""
    largest = 0
    # A part with several patterns, in whatever groups they stand, may have no solution at all.
    alone = {part[0] for part in _parts([pattern for patterns in reads or () for pattern in patterns]) if len(part) == 1}
    for patterns in reads or ():
        sizes = [len(fitting(pattern, dictionary, (s, p, o))) for pattern in patterns if pattern in alone]
        if len(sizes) > 1:
            largest = max(largest, math.prod(sizes))
    return largest


def _parts(patterns: Iterable[Pattern]) -> list[list[Pattern]]:
    """The patterns, divided into those that hang together by their variables."""
    parts: list[tuple[set[str], list[Pattern]]] = []
    for pattern in patterns:
        variables, together = {node for node in pattern if is_variable(node)}, [pattern]
        apart = []
        for names, others in parts:
            if names & variables:
                variables, together = variables | names, others + together
            else:
                apart.append((names, others))
        parts = [*apart, (variables, together)]
    return [together for _, together in parts]
