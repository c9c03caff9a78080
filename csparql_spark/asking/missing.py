"""What is missing: how much of what a query looks for is there at an instant, when its answer has no rows.

Each pattern of the body is counted by itself, and then it is tried how many of them, in the order of the text, can be
found together: the first that cannot be joined to those before it is the one that leaves the answer empty. Filters come
after all of that, so if all patterns are found together it is a filter, or something that is said in another group,
that lets nothing through.

    found = looked(Watched(query, 17_000, windows, background), rules)
    found.patterns              # [PatternCount("?room <urn:celsius> ?t", 12), PatternCount("?room <urn:floor> ?f", 0)]
    found.lost                  # 1: the second pattern
    found.says                  # "Nothing matches ?room <urn:floor> ?f."

It is asked once, beside the engine, from the log: of the dataset that the query saw (see `engine.dataset`), its default
graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from csparql_spark.answers.patterns import Pattern
from csparql_spark.answers.plan import plan
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.one_shot import Question, Watched, ask, default_graph
from csparql_spark.rdf.chunk import Chunk

MOST_TRIPLES = 200_000
SIGHT = "urn:csparql-spark:default-graph"  # what the query sees, under a name
# What came before a query was registered is in none of its windows, so that time may have been a busy one.
NOTHING_CAME = (
    "The windows are empty: nothing came in on the streams in that time, or only before the query was registered."
)
NAMED = (
    "The query has named windows or graphs, and what matches a pattern there is not counted: try parts of the body at "
    "/sparql, over FROM <queries/NAME/window>, with GRAPH."
)
NOT_PLAIN = "The body is not made of plain patterns, so what matches them is not counted."


class PatternCount(NamedTuple):
    text: str
    matches: int


class Missing(NamedTuple):
    triples: int  # that the windows see
    patterns: list[PatternCount]  # of the body, in the order of the text; none if it may look at anything
    lost: int | None  # the first pattern that cannot be joined to those before it
    says: str


def looked(watched: Watched, rules: Mapping[str, str]) -> Missing:
    """What there is of what a query looks for. Raises `Refusal` if there is too much to look at."""
    query, triples = watched.query, sum(map(len, watched.windows))
    size = triples + sum(len(watched.graphs[graph]) for graph in query.graphs)
    if size > MOST_TRIPLES:
        raise Refusal(
            "not-supported",
            f"the windows and the background hold {size:,} triples, and at most "
            f"{MOST_TRIPLES:,} are looked through for what is missing: ask about a narrower window",
        )
    reads = plan(query).reads
    named = any(window.name is not None for window in query.windows) or query.named_graphs
    if not triples and not query.graphs:
        return Missing(0, [], None, NOTHING_CAME)
    if named or not reads:
        return Missing(triples, [], None, f"{_size(triples)} {NAMED if named else NOT_PLAIN}")
    graphs = {SIGHT: default_graph(watched, rules)}
    counts = {pattern: _count(pattern, graphs) for pattern in dict.fromkeys(itertools.chain(*reads))}
    lost: int | None = None
    patterns: list[PatternCount] = []
    for group in reads:
        for length, pattern in enumerate(group, 1):
            if lost is None and not _are_found(group[:length], graphs):
                lost = len(patterns)
            patterns.append(PatternCount(" ".join(pattern), counts[pattern]))
    return Missing(triples, patterns, lost, _sentence(triples, patterns, lost))


def _count(pattern: Pattern, graphs: Mapping[str, Chunk]) -> int:
    """How many triples match a pattern."""
    (row,) = _rows(f"SELECT (COUNT(*) AS ?__matches) WHERE {{ {written(pattern)} }}", graphs)
    return int(row["__matches"].split('"')[1])


def _are_found(patterns: Sequence[Pattern], graphs: Mapping[str, Chunk]) -> bool:
    """Whether patterns are found together."""
    return bool(_rows(f"SELECT * WHERE {{ {' '.join(map(written, patterns))} }} LIMIT 1", graphs))


def _rows(text: str, graphs: Mapping[str, Chunk]) -> list[dict[str, str]]:
    table = ask(Question(text, graphs, default_graphs=list(graphs))).table
    return [] if table is None else table.rows()


def written(pattern: Pattern) -> str:
    return " ".join(f"?_{node[2:]}" if node.startswith("_:") else node for node in pattern) + " ."


def _size(triples: int) -> str:
    return f"The windows hold {triples:,} triple{'' if triples == 1 else 's'}."


def _sentence(triples: int, patterns: list[PatternCount], lost: int | None) -> str:
    size = _size(triples)
    if lost is None:
        return (
            f"{size} All patterns are found together, so a filter, or a part that is said apart, lets nothing through."
        )
    pattern = patterns[lost]
    if not pattern.matches:
        return f"{size} Nothing matches {pattern.text}."
    match = "matches" if pattern.matches == 1 else "match"
    return f"{size} {pattern.matches:,} {match} {pattern.text}, but none of them fits the patterns before it."
