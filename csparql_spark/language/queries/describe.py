"""Windows and instants in words, for people who ask what a query will do.

    describe_window(Window("http://ex.org/t", range=30_000, step=5_000))
        ->  'the last 30 s of <http://ex.org/t>, seen anew every 5 s'
    describe_instants(query)
        ->  'every 5 s: at the multiples of 5 s since 1970-01-01T00:00:00Z'

The rules that the words follow: the window of RANGE R at instant t holds what came after t - R and until t, t
included; instants are the multiples of STEP since the epoch; with several windows they are the union of their grids;
with COMPUTE EVERY they are its multiples, each window taken as of its own last instant.
"""

from __future__ import annotations

from csparql_spark.language.durations import in_words
from csparql_spark.language.queries.query import ContinuousQuery, Window

_EPOCH = "since 1970-01-01T00:00:00Z"


def describe_window(window: Window) -> str:
    """What one window shows."""
    stream = f"<{window.stream}>"
    place = f" (the graph <{window.name}>)" if window.name is not None else ""
    if window.range is not None and window.step is not None:
        phrase = f"the last {in_words(window.range)} of {stream}{place}, seen anew every {in_words(window.step)}"
        if window.step == window.range:
            return f"{phrase}: each element once"
        if window.step > window.range:
            return f"{phrase}: {in_words(window.step - window.range)} of every {in_words(window.step)} are never seen"
        return phrase
    size, step, thing = _counted(window)
    last, every = (thing if number == 1 else several(number, thing) for number in (size, step))
    phrase = f"the last {last} of {stream}{place}, seen anew after every {every}"
    return f"{phrase}: each {thing} once" if size == step else phrase


def describe_instants(query: ContinuousQuery) -> str:
    """When a query is evaluated."""
    if not query.windows:
        return "once, when it is asked"
    steps = sorted({window.step for window in query.windows if window.step is not None})
    counted = [window for window in query.windows if window.step is None]
    if query.every is not None:
        lead = f"every {in_words(query.every)}: at the multiples of {in_words(query.every)} {_EPOCH}"
        if all(query.every % step == 0 for step in steps) and not counted:
            return lead
        return f"{lead}, each window as of its own last instant"
    parts: list[str] = []
    # A grid whose step is a multiple of another step adds no instants.
    grids = [step for step in steps if not any(step % other == 0 for other in steps if other < step)]
    if grids:
        every = " and every ".join(in_words(step) for step in grids)
        multiples = " or ".join(in_words(step) for step in grids)
        parts.append(f"every {every}: at the multiples of {multiples} {_EPOCH}")
    for window in counted:
        _, step, thing = _counted(window)
        have = "has" if step == 1 else "have"
        parts.append(f"whenever {several(step, f'more {thing}')} of <{window.stream}> {have} arrived")
    return "; ".join(parts)


def describe_output(query: ContinuousQuery) -> str:
    """What becomes of the answers."""
    phrase = {
        "RSTREAM": "all answers, at each instant",
        "ISTREAM": "the answers that are new since the instant before",
        "DSTREAM": "the answers that have ceased since the instant before",
    }[query.output]
    if query.kind == "stream":
        return f"{phrase}, as a stream of triples that other queries can read"
    return phrase


def describe(query: ContinuousQuery) -> str:
    """The whole query in a few lines: what it sees, when it is evaluated, what it tells."""
    lines = [f"sees      {describe_window(window)}" for window in query.windows]
    lines += [f"beside    the graph <{graph}>" for graph in query.graphs]
    lines += [f"beside    the named graph <{graph}>" for graph in query.named_graphs]
    if query.entailment:
        lines.append(f"under     {', '.join(query.entailment)}")
    lines.append(f"evaluated {describe_instants(query)}")
    lines.append(f"tells     {describe_output(query)}")
    return "\n".join(lines)


def _counted(window: Window) -> tuple[int, int, str]:
    if window.triples is not None and window.triples_step is not None:
        return window.triples, window.triples_step, "triple"
    if window.elements is not None and window.elements_step is not None:
        return window.elements, window.elements_step, "graph"
    raise ValueError(f"{window} counts nothing")


def several(number: int, thing: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
