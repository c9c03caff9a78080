"""What is missing: how much of what a query looks for is there at an instant, when its answer has no rows.

Each pattern of the body is counted by itself, and then it is tried how many of them, in the order of the text, can be
found together: the first that cannot be joined to those before it is the one that leaves the answer empty. Filters come
after all of that, so if all patterns are found together it is a filter, or something that is said in another group,
that lets nothing through.

    found = looked(query, 17_000, elements, background, rules)
    found.patterns              # [Pattern("?room <urn:celsius> ?t", 12), Pattern("?room <urn:floor> ?f", 0)]
    found.lost                  # 1: the second pattern
    found.says                  # "Nothing matches ?room <urn:floor> ?f."

It is asked once, beside the engine, from the log: windows, background and what they entail are put together anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from csparql_spark.answers.plan import plan
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.one_shot import ask
from csparql_spark.language import ContinuousQuery
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.windows.rule import visible

MOST_TRIPLES = 200_000
WINDOWS = "urn:csparql-spark:windows"       # the graph that the windows of one default graph are, put together


class Pattern(NamedTuple):
    text: str
    matches: int


class Found(NamedTuple):
    triples: int                    # that the windows see
    patterns: list[Pattern]         # of the body, in the order of the text; none if it may look at anything
    lost: int | None                # the first pattern that cannot be joined to those before it
    says: str


def looked(query: ContinuousQuery, instant: int, elements: Mapping[str, Chunk], background: Mapping[str, Chunk],
           rules: Mapping[str, str]) -> Found:
    """What there is of what a query looks for. `elements`: what was logged on each stream since its registration,
    stamped. Raises `Refusal` if there is too much to look at."""
    seen = [(chunk := elements[window.stream]).take(visible(window, chunk.t, instant)) for window in query.windows]
    triples = sum(map(len, seen))
    size = triples + sum(map(len, background.values()))
    if size > MOST_TRIPLES:
        raise Refusal("not-supported", f"the windows and the background hold {size:,} triples, and at most "
                      f"{MOST_TRIPLES:,} are looked through for what is missing: ask about a narrower window")
    made = plan(query)
    named = any(window.name is not None for window in query.windows) or query.named_graphs
    if not triples and not query.graphs:
        return Found(0, [], None, "The windows are empty: nothing came in on the streams in that time.")
    if made.reads is None or named or not made.reads:
        return Found(triples, [], None, f"The windows hold {triples:,} triples. The body is not made of plain "
                     "patterns, so what matches them is not counted.")
    graphs = {**background, WINDOWS: Chunk.concat(seen)}
    if query.entailment:        # once, and not for each pattern anew
        graphs = {WINDOWS: _closed(graphs, query, rules)}

    def answered(body: str) -> list[dict[str, str]]:
        return ask(body, graphs, base=None, default_graphs=list(graphs)).table.rows()

    counts: dict[tuple[str, ...], int] = {}
    for pattern in (pattern for group in made.reads for pattern in group):
        if pattern not in counts:
            (row,) = answered(f"SELECT (COUNT(*) AS ?__matches) WHERE {{ {written(pattern)} }}")
            counts[pattern] = int(row["__matches"].split('"')[1])
    lost, place, patterns = None, 0, []
    for group in made.reads:
        for length, pattern in enumerate(group, 1):
            patterns.append(Pattern(" ".join(pattern), counts[pattern]))
            if lost is None and not answered(
                    f"SELECT * WHERE {{ {' '.join(map(written, group[:length]))} }} LIMIT 1"):
                lost = place
            place += 1
    return Found(triples, patterns, lost, _sentence(triples, patterns, lost))


def _closed(graphs: Mapping[str, Chunk], query: ContinuousQuery, rules: Mapping[str, str]) -> Chunk:
    """All that the graphs say, with what they entail."""
    answer = ask("CONSTRUCT WHERE { ?s ?p ?o }", graphs, base=None, default_graphs=list(graphs),
                 entailment=query.entailment, rules=rules)
    return parse_push(answer.ntriples, RdfFormat.N_TRIPLES, base=None, blank_prefix="missing.")


def written(pattern: tuple[str, ...]) -> str:
    return " ".join(f"?_{node[2:]}" if node.startswith("_:") else node for node in pattern) + " ."


def _sentence(triples: int, patterns: list[Pattern], lost: int | None) -> str:
    held = f"The windows hold {triples:,} triple{'' if triples == 1 else 's'}."
    if lost is None:
        return (f"{held} All patterns are found together, so a filter, or a part that is said apart, lets nothing "
                "through.")
    pattern = patterns[lost]
    if not pattern.matches:
        return f"{held} Nothing matches {pattern.text}."
    return f"{held} {pattern.matches:,} match {pattern.text}, but none of them fits the patterns before it."

