"""Random small logs: streams on both clocks, late and repeated elements, ticks, queries of all kinds that come and
go, are replaced, pause and go on."""

from __future__ import annotations

import dataclasses
import functools
import json

from hypothesis import Phase, settings
from hypothesis import strategies as st

from csparql_spark.language.queries.query_cache import compiled_of, read
from csparql_spark.log import Entry
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.store import QueryRecord, StreamRecord
from tests.engine.asked import Asked, Seen
from tests.engine.naive import Logged

# Without the phase that makes a failing log smaller: it takes minutes, and the logs are small anyway.
law = functools.partial(
    settings, deadline=None, report_multiple_bugs=False, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)

ONE = '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'
STREAMS = {"urn:a": ("arrival", 0), "urn:e": ("event", 0), "urn:f": ("event", 4)}
GRAPHS = ("urn:g", "urn:h")
# How much is seen and how often: equal, sliding, with gaps, and on another grid.
TIMES = ((5, 5), (8, 2), (4, 7), (12, 4))
COUNTS = ((2, 2), (4, 1), (1, 3), (3, 2))
SETS = (((), ()), (("urn:g",), ()), (GRAPHS, ()), (("urn:g",), ("urn:h",)))  # FROM, and FROM NAMED
BODIES = (
    (("s", "o"), (("?s", "<urn:p>", "?o"),), False),
    (("s", "x"), (("?s", "<urn:p>", "?o"), ("?o", "<urn:q>", "?x")), False),  # o is projected away: rows repeat
    (("x", "none"), (("?x", "?y", "?x"),), False),
    (("s",), (("?s", "?p", ONE), ("_:b", "?p", "<urn:b>")), False),
    (("p",), (("?s", "?p", "?o"),), True),
    ((), (("<urn:a>", "<urn:p>", "<urn:b>"),), False),
)

nodes = st.sampled_from(["<urn:a>", "<urn:b>"])
triples = st.tuples(nodes, st.sampled_from(["<urn:p>", "<urn:p>", "<urn:q>"]), st.one_of(nodes, st.just(ONE)))
O_OF_S = ("?s", "<urn:p>", "?o")
PLACED = (  # over the windows v and w
    (("s", "o"), (("<urn:v>", *O_OF_S),), False),
    (("s", "x"), (("<urn:v>", *O_OF_S), ("<urn:w>", "?o", "<urn:q>", "?x")), False),
    (("s", "o", "p"), (O_OF_S, ("<urn:v>", "?s", "?p", "?o")), False),
    (("g", "s"), (("?g", *O_OF_S),), False),
    (("g",), (("?g", *O_OF_S), ("?g", "?o", "?p", "?x")), True),
)
names = st.sampled_from(["q", "r", "s", "t"])
later = st.integers(0, 5)  # how much later than the entry before
stamps = st.integers(-9, 6)  # relative to the arrival: late, or early


# Strategies are made once for each choice: to make and check them anew for each log takes longer than to draw it.


@functools.cache
def windows(streams: tuple[str, ...], name: str | None = None) -> st.SearchStrategy[Seen]:
    return st.sampled_from(streams).flatmap(
        lambda stream: st.one_of(
            st.sampled_from(TIMES).map(lambda extent: Seen(stream, *extent, name=name)),
            st.tuples(st.sampled_from(COUNTS), st.sampled_from(["TRIPLES", "ELEMENTS"])).map(
                lambda extent: Seen(stream, *extent[0], extent[1], name=name)
            ),
        )
    )


@functools.cache
@st.composite
def queries(draw: st.DrawFn, streams: tuple[str, ...], sets: tuple[tuple, ...]) -> Asked:
    graphs, named = draw(st.sampled_from(sets))
    kind = draw(st.sampled_from(["plain", "merged", "merged", "named"]))
    output = draw(st.sampled_from(["RSTREAM"] * 3 + ["ISTREAM", "DSTREAM"]))
    if kind == "plain":
        body = draw(st.sampled_from(BODIES))
        return Asked.over(
            draw(st.sampled_from(streams)),
            *draw(st.sampled_from(TIMES)),
            *body,
            graphs=graphs,
            named=named,
            output=output,
        )
    every = draw(st.sampled_from([None, None, None, 3, 10]))
    if kind == "named":
        seen = [draw(windows(streams, "urn:v")), draw(windows(streams, "urn:w"))]
        seen += draw(st.lists(windows(streams), max_size=1))
        return Asked(tuple(seen), *draw(st.sampled_from(PLACED)), graphs, named, every, output)
    seen = draw(st.lists(windows(streams), min_size=1, max_size=3, unique=True))
    if len(streams) > 1 and draw(st.booleans()):
        seen = [draw(windows((stream,))) for stream in streams]
    shape = draw(st.sampled_from(["rows", "rows", "stamps", "graph"]))
    if shape == "stamps":
        return Asked(tuple(seen), ("s", "o", "when"), (O_OF_S,), False, graphs, named, every, output, stamped=O_OF_S)
    if shape == "graph":
        return Asked(tuple(seen), (), (O_OF_S,), False, graphs, named, every, output, made=(("?o", "<urn:of>", "?s"),))
    return Asked(tuple(seen), *draw(st.sampled_from(BODIES)), graphs, named, every, output)


@functools.cache
def kinds(
    streams: tuple[str, ...], sets: tuple[tuple, ...]
) -> tuple[st.SearchStrategy[tuple], st.SearchStrategy[list[tuple]]]:
    """Over these streams and sets of graphs: a registration, and what comes after it."""
    running = queries(streams, sets)
    paused = running.map(lambda asked: dataclasses.replace(asked, paused=True))
    registered = st.one_of(running, running, running, paused)
    register = st.tuples(st.just("register"), later, names, registered)
    chunks = [
        st.tuples(
            st.just("chunk"),
            later,
            st.just(stream),
            st.lists(
                min_size=1,
                max_size=5,
                elements=st.tuples(
                    triples,
                    st.none() if STREAMS[stream][0] == "arrival" else st.one_of(stamps, stamps, stamps, st.none()),
                ),
            ),
        )
        for stream in streams
    ]
    tick = st.tuples(st.just("tick"), st.integers(-1, 9), st.none(), st.none())
    event_ticks = [
        st.tuples(st.just("tick"), stamps, st.just(stream), st.none())
        for stream in streams
        if STREAMS[stream][0] == "event"
    ]
    background = st.tuples(st.just("background"), later, st.sampled_from(GRAPHS), st.lists(triples, max_size=4))
    unregister = st.tuples(st.just("unregister"), later, names, st.none())
    pause = st.tuples(st.just("pause"), later, names, st.none())
    empty = st.tuples(st.just("chunk"), later, st.just(streams[0]), st.just([]))
    any_step = st.one_of(
        *chunks * 4,
        tick,
        tick,
        *event_ticks,
        register,
        register,
        background,
        background,
        unregister,
        pause,
        pause,
        empty,
    )
    return register, st.lists(any_step, min_size=14, max_size=30)


some_streams = st.lists(st.sampled_from(list(STREAMS)), min_size=1, max_size=2, unique=True).map(tuple)
some_sets = st.lists(st.sampled_from(SETS), min_size=1, max_size=2, unique=True).map(tuple)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple]:
    """Few streams and few sets of graphs, so that queries meet in groups; the first step is a registration."""
    register, more = kinds(draw(some_streams), draw(some_sets))
    return [draw(register), *draw(more)]


def written(made: list[tuple]) -> list[Logged]:
    """The steps as a log: stamped in order, without those that a guard would refuse."""
    log = [Logged(seq, 0, "stream", stream, clock) for seq, (stream, clock) in enumerate(STREAMS.items(), 1)]
    at = 0
    live: dict[str, tuple[int, bool]] = {}  # the place of the registration, and whether it is paused now
    for kind, number, subject, value in made:
        if kind in ("unregister", "pause") and subject not in live:
            continue
        if kind == "register":
            live[subject] = len(log) + 1, value.paused
        elif kind == "unregister":
            del live[subject]
        elif kind == "pause":
            value, paused = live[subject]
            live[subject] = value, not paused
            kind = "resume" if paused else "pause"
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
            return Entry(
                seq,
                kind,
                at,
                subject,
                payload=StreamRecord.draft(subject, name=subject, clock=value[0], delay=value[1]).payload,
            )
        case "register":
            # Logs of all versions: with a compiled form, without, and with one that is not of this version.
            compiled = (None, compiled_of(read(value.text, None)), {"version": 0})[seq % 3]
            return Entry(
                seq,
                kind,
                at,
                subject,
                payload=QueryRecord.draft(
                    subject, text=value.text, base=None, paused=value.paused, compiled=compiled
                ).payload,
            )
        case "pause" | "resume":
            return Entry(seq, kind, at, subject, payload=json.dumps({"id": value}).encode())
        case "chunk":
            chunk = Chunk.from_triples(
                [triple for triple, _ in value], [Chunk.UNSTAMPED if t is None else t for _, t in value]
            )
            return Entry(seq, kind, at, subject, len(chunk), chunk.first, chunk.last, chunk.unstamped, chunk.to_ipc())
        case "background":
            chunk = Chunk.from_triples(value)
            return Entry(seq, kind, at, subject, len(chunk), payload=chunk.to_ipc())
        case "rules":
            return Entry(seq, kind, at, subject, payload=value.encode())
    return Entry(seq, kind, at, subject)
