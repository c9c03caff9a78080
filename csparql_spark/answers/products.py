"""Products: how many solutions a body has at least, and how many at most, before it is evaluated.

Patterns that share no variable are multiplied. That is seldom meant, and soon more than any store can go through. What
is sure to be too much is not begun (`largest_product`).

    ?a :p ?b . ?c :q ?d          3,000 candidates for the first, 5,000 for the second: 15,000,000 solutions
    ?a :p ?b . ?b :q ?d          connected: nothing is known
    ?a :p ?b . ?c :q ?d { ?b :r ?x }      the second is alone: nothing is known of the first

    largest_product(plan.reads, dictionary, s, p, o)          # 15_000_000

What may be too much is evaluated where it can be ended, and all else without that price; so the other number is one
that no table on the way to the answer exceeds, in whatever order patterns are joined (`most_solutions`). Of patterns
that hang together, each row meets so many rows of another pattern at most, as that has for one term in a variable that
it shares. What stands in braces of its own may have nothing to do with the rest, whatever its variables are called: an
OPTIONAL, a UNION, a sub-SELECT or an EXISTS multiplies. A path with * may lead from any end of its links to any other.

    ?a :p ?b . ?b :q ?d          3,000 rows, and no ?b has more than two :q: 6,000
    { ?a :p ?b } { ?c :q ?d }    15,000,000, which the first number does not know to be so many
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from csparql_spark.answers.patterns import Block, Pattern, Walk, is_variable
from csparql_spark.answers.relevant import Columns, fitting
from csparql_spark.rdf.dictionary import TermDictionary


def largest_product(
    reads: tuple[tuple[Pattern, ...], ...] | None,
    dictionary: TermDictionary,
    s: np.ndarray,
    p: np.ndarray,
    o: np.ndarray,
) -> int:
    """The largest number of solutions that some basic graph pattern has because its parts are not connected."""
    largest = 0
    # A part with several patterns, in whatever groups they stand, may have no solution at all.
    every = [pattern for patterns in reads or () for pattern in patterns]
    alone = {part[0] for part in _parts(every) if len(part) == 1}
    for patterns in reads or ():
        sizes = [len(fitting(pattern, dictionary, (s, p, o))) for pattern in patterns if pattern in alone]
        if len(sizes) > 1:
            largest = max(largest, math.prod(sizes))
    return largest


def most_solutions(
    blocks: tuple[Block, ...], dictionary: TermDictionary, s: np.ndarray, p: np.ndarray, o: np.ndarray, enough: int
) -> int:
    """A number of solutions that is not exceeded on the way to an answer; no one looks closely at what is within
    `enough`."""
    columns = (s, p, o)
    counts = [[_count(part, dictionary, columns) for part in block] for block in blocks]
    product = math.prod(count for block in counts for count in block)
    if product <= enough:
        return product
    return math.prod(_most(block, found, dictionary, columns) for block, found in zip(blocks, counts, strict=True))


def _count(part: Pattern | Walk, dictionary: TermDictionary, columns: Columns) -> int:
    """How many rows a pattern has; at least one, since what nothing fits may be looked at last."""
    if not isinstance(part, Walk):
        return max(1, len(fitting(part, dictionary, columns)))
    links = (
        len(columns[0]) if part.links is None else sum(len(fitting(link, dictionary, columns)) for link in part.links)
    )
    links *= 1 + part.both
    if part.far:
        links = max(links, len(columns[0]))  # of no length, it leads from each node to itself
        return max(1, links) ** 2
    return max(1, links) ** part.steps


def _most(block: Block, counts: list[int], dictionary: TermDictionary, columns: Columns) -> int:
    """How many solutions the patterns of a block have at most, together."""
    most = 1
    numbers = dict(enumerate(counts))
    for part in _together([_variables(one) for one in block]):
        if len(part) == 1:
            most *= numbers[part[0]]
            continue
        met = {
            place: _meets(
                block[place],
                numbers[place],
                set().union(*(_variables(block[other]) for other in part if other != place)),
                dictionary,
                columns,
            )
            for place in part
        }
        every = math.prod(met.values())
        most *= max(numbers[place] * (every // met[place]) for place in part)
    return most


def _meets(part: Pattern | Walk, count: int, shared: set[str], dictionary: TermDictionary, columns: Columns) -> int:
    """How many rows of a pattern one term in one of the shared variables has at most."""
    if isinstance(part, Walk):
        return count
    rows, most = fitting(part, dictionary, columns), 1
    for position, node in enumerate(part):
        if node in shared:
            most = max(most, int(np.bincount(columns[position][rows]).max(initial=1)))
    return most


def _variables(part: Pattern | Walk) -> set[str]:
    nodes = (part.start, part.end) if isinstance(part, Walk) else part
    return {node for node in nodes if is_variable(node)}


def _together(variables: list[set[str]]) -> list[list[int]]:
    """The places of sets that hang together by what they share."""
    parts: list[tuple[set[str], list[int]]] = []
    for place, mine in enumerate(variables):
        near = [part for part in parts if part[0] & mine]
        parts = [part for part in parts if not part[0] & mine]
        together = [*(one for _, before in near for one in before), place]
        parts.append((mine.union(*(names for names, _ in near)), together))
    return [places for _, places in parts]


def _parts(patterns: Iterable[Pattern]) -> list[list[Pattern]]:
    """The patterns, divided into those that hang together by their variables."""
    patterns = list(patterns)
    return [[patterns[place] for place in places] for places in _together([_variables(one) for one in patterns])]
