"""Random small logs: streams on both clocks, late and repeated elements, ticks, queries that come and go."""

from __future__ import annotations

import functools

from hypothesis import Phase, settings
from hypothesis import strategies as st

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import Entry, QueryRecord, StreamRecord

from .naive import Asked, Logged

# Without the phase that makes a failing log smaller: it takes minutes, and the logs are small anyway.
law = functools.partial(settings, deadline=None, report_multiple_bugs=False,
                        phases=[Phase.explicit, Phase.reuse, Phase.generate])

ONE = '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'
STREAMS = {"urn:a": ("arrival", 0), "urn:e": ("event", 0), "urn:f": ("event", 4)}
GRAPHS = ("urn:g", "urn:h")
WINDOWS = ((5, 5), (8, 2), (4, 7), (12, 4))           # RANGE and STEP: equal, sliding, with gaps, and on another grid
BODIES = (
    (("s", "o"), (("?s", "<urn:p>", "?o"),), False),
    (("s", "x"), (("?s", "<urn:p>", "?o"), ("?o", "<urn:q>", "?x")), False),       # o is projected away: rows repeat
    (("x", "none"), (("?x", "?y", "?x"),), False),
    (("s",), (("?s", "?p", ONE), ("_:b", "?p", "<urn:b>")), False),
    (("p",), (("?s", "?p", "?o"),), True),
    ((), (("<urn:a>", "<urn:p>", "<urn:b>"),), False),
)

nodes = st.sampled_from(["<urn:a>", "<urn:b>"])
triples = st.tuples(nodes, st.sampled_from(["<urn:p>", "<urn:p>", "<urn:q>"]), st.one_of(nodes, st.just(ONE)))
names = st.sampled_from(["q", "r", "s", "t"])
later = st.integers(0, 5)                             # how much later than the entry before
stamps = st.integers(-9, 6)                           # relative to the arrival: late, or early


@st.composite
def steps(draw: st.DrawFn) -> list[tuple]:
    """Few streams and few sets of graphs, so that queries meet in groups; the first step is a registration."""
    streams = draw(st.lists(st.sampled_from(list(STREAMS)), min_size=1, max_size=2, unique=True))
    graphs = draw(st.lists(st.sampled_from([(), ("urn:g",), GRAPHS]), min_size=1, max_size=2, unique=True))
    asked = st.builds(lambda stream, window, body, graphs: Asked(stream, *window, *body, graphs),
                      st.sampled_from(streams),
                      st.sampled_from(WINDOWS), st.sampled_from(BODIES), st.sampled_from(graphs))
    register = st.tuples(st.just("register"), later, names, asked)
    chunks = [
        st.tuples(st.just("chunk"), later, st.just(stream), st.lists(min_size=1, max_size=5, elements=st.tuples(
            triples, st.none() if STREAMS[stream][0] == "arrival" else st.one_of(stamps, stamps, stamps, st.none()))))
        for stream in streams]
    tick = st.tuples(st.just("tick"), st.integers(-1, 9), st.none(), st.none())
    event_ticks = [st.tuples(st.just("tick"), stamps, st.just(stream), st.none()) for stream in streams
                   if STREAMS[stream][0] == "event"]
    background = st.tuples(st.just("background"), later, st.sampled_from(GRAPHS), st.lists(triples, max_size=4))
    unregister = st.tuples(st.just("unregister"), later, names, st.none())
    empty = st.tuples(st.just("chunk"), later, st.just(streams[0]), st.just([]))
    any_step = st.one_of(*chunks * 4, tick, tick, *event_ticks, register, register, background, background, unregister,
                         empty)
    return [draw(register), *draw(st.lists(any_step, min_size=14, max_size=30))]


def written(made: list[tuple]) -> list[Logged]:
    """The steps as a log: stamped in order, without those that a guard would refuse."""
    log = [Logged(seq, 0, "stream", stream, clock) for seq, (stream, clock) in enumerate(STREAMS.items(), 1)]
    at, live = 0, set()
    for kind, number, subject, value in made:
        if kind == "register" and subject in live or kind == "unregister" and subject not in live:
            continue
        live = live | {subject} if kind == "register" else live - {subject} if kind == "unregister" else live
        if kind == "tick" and subject is not None:
            log.append(Logged(len(log) + 1, at + number, kind, subject))
            continue
        if kind == "chunk":
            value = [(triple, None if stamp is None else at + number + stamp) for triple, stamp in value]
        log.append(Logged(len(log) + 1, at + number, kind, subject, value))
        # After a tick at T nothing is stamped T or earlier.
        at = max(at, at + number + (kind == "tick"))
    return log


logs = steps().map(written)


def by_hand(*lines: tuple) -> list[Entry]:
    """A log of lines (at, kind, subject, value), after the streams above were made."""
    made = [Logged(seq, 0, "stream", stream, clock) for seq, (stream, clock) in enumerate(STREAMS.items(), 1)]
    return entries(made + [Logged(seq, *line) for seq, line in enumerate(lines, len(made) + 1)])


def entries(log: list[Logged]) -> list[Entry]:
    """The same log, as the store gives it."""
    return [entry(logged) for logged in log]


def entry(logged: Logged) -> Entry:
    seq, at, kind, subject, value = logged.seq, logged.at, logged.kind, logged.subject, logged.value
    match kind:
        case "stream":
            return Entry(seq, kind, at, subject,
                         payload=StreamRecord.draft(subject, name=subject, clock=value[0], delay=value[1]).payload)
        case "register":
            return Entry(seq, kind, at, subject, payload=QueryRecord.draft(subject, text=value.text, base=None).payload)
        case "chunk":
            chunk = Chunk.from_triples([triple for triple, _ in value],
                                       [Chunk.UNSTAMPED if t is None else t for _, t in value])
            return Entry(seq, kind, at, subject, len(chunk), chunk.first, chunk.last, chunk.unstamped, chunk.to_ipc())
        case "background":
            chunk = Chunk.from_triples(value)
            return Entry(seq, kind, at, subject, len(chunk), payload=chunk.to_ipc())
    return Entry(seq, kind, at, subject)
