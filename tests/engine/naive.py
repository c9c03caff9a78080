"""The naive twin of the pipeline: what each query says, from the log alone, by the words of `windows.progress` and
`windows.counting`.

It keeps what was told, and the turns of windows that count. Each instant is found by looking at the whole log again,
each window is a set of triples made from all entries, and a pattern is matched by trying every triple for each of its
lines. It is slow, and short enough to be believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from csparql_spark.language import parse_rules
from tests.engine.asked import Asked, Quad, Row, Seen, Triple
from tests.entailment import twin

Element = list[tuple[Triple, int]]  # what counts as one: its triples, each with its stamp
Graphs = dict[str, set[Triple]]  # by name, as it is written; "" is the default graph

INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


@dataclass(frozen=True)
class Logged:
    """An entry of the log. Its value: of a stream (clock, delay); of a registration what is asked; of a chunk its
    triples, each with its stamp or None; of background its triples."""

    seq: int
    at: int
    kind: str
    subject: str | None = None
    value: object = None


@dataclass(frozen=True)
class Said:
    """What a query says at an instant: rows, or nothing more for ever because there are too many of them."""

    instant: int
    rows: list[Row] | None


def answers(log: list[Logged], limit: int = 1_000_000) -> dict[int, list[Said]]:
    """What each query says, by the place of its registration."""
    return {entry.seq: list(answers_of(entry, log, limit)) for entry in log if entry.kind == "register"}


@dataclass(frozen=True)
class Look:
    """What a query looks at when it answers an instant: what its windows hold, and its graphs, as the log stood at
    `place`."""

    instant: int
    place: int
    windows: list[Element]
    graphs: Graphs


def answers_of(registered: Logged, log: list[Logged], limit: int) -> Iterator[Said]:
    asked: Asked = registered.value
    before: list[Row] = []
    for look in looks_of(registered, log):
        rows = solutions(asked, look.graphs, stamps(look.windows))
        if len(rows) > limit or asked.made and len(list(matches(asked.patterns, look.graphs, {}))) > limit:
            yield Said(look.instant, None)
            return
        before, changed = (
            rows,
            {"RSTREAM": rows, "ISTREAM": without(rows, before), "DSTREAM": without(before, rows)}[asked.output],
        )
        yield Said(look.instant, changed)


def looks_of(registered: Logged, log: list[Logged]) -> Iterator[Look]:
    """What a query looks at, instant by instant."""
    asked: Asked = registered.value
    after = [entry for entry in log if entry.seq > registered.seq]
    mine = [entry for entry in after if entry.subject == registered.subject]
    end = min((entry.seq for entry in mine if entry.kind == "unregister"), default=len(log) + 1)
    # Of another version it hears, and then no more.
    replaced = min((entry.seq for entry in mine if entry.kind == "register"), default=end)
    life = [
        entry
        for entry in after
        if entry.seq < end
        and entry.seq <= replaced
        and (entry.kind not in ("pause", "resume", "register") or entry.subject == registered.subject)
    ]
    clocks = {entry.subject: entry.value for entry in log if entry.kind == "stream" and entry.subject in asked.streams}
    told: list[int] = []
    turns: list[tuple[int, Seen, int]] = []
    for place in range(1, len(life) + 1):
        heard = life[:place]
        turns += new_turns(asked, heard, told, turns)
        for t in due(asked, registered.at, clocks, heard, told, turns):
            told.append(t)
            if not is_paused(asked, heard):
                windows = [content(window, t, heard, turns) for window in asked.windows]
                yield Look(t, heard[-1].seq, windows, dataset(asked, windows, heard[-1].seq, log))


def is_paused(asked: Asked, heard: list[Logged]) -> bool:
    """Whether instants that have passed with the newest entry are passed over: what has passed when a pause or a
    resume is logged counts as before it, and so does what has passed when another version is."""
    turns = [entry.kind == "pause" for entry in heard[:-1] if entry.kind in ("pause", "resume")]
    return turns[-1] if turns else asked.paused


def without(rows: list[Row], others: list[Row]) -> list[Row]:
    """A bag less another one."""
    left = Counter(tuple(row.items()) for row in others)
    kept = []
    for row in rows:
        if left[tuple(row.items())] > 0:
            left[tuple(row.items())] -= 1
        else:
            kept.append(row)
    return kept


# --- instants


def due(
    asked: Asked,
    registered: int,
    clocks: dict[str, tuple[str, int]],
    heard: list[Logged],
    told: list[int],
    turns: list[tuple[int, Seen, int]],
) -> list[int]:
    """What has to be answered now: the multiples of steps that have passed, and turns."""
    steps = {asked.every} if asked.every else {window.step for window in asked.windows if not window.counts}
    turned = set() if asked.every else {instant for instant, _, _ in turns} - set(told)
    if not steps:
        return sorted(turned)
    begin = beginning(registered, clocks, heard)
    passed = [reading(stream, clock, clocks, heard) for stream, clock in clocks.items()]
    if begin is None or None in passed:
        return []
    instants = {t for t in range(begin, min(passed) + 1) if any(t % step == 0 for step in steps)}
    return sorted(instants - set(told) | {t for t in turned if t <= min(passed)})


def new_turns(
    asked: Asked, heard: list[Logged], told: list[int], turns: list[tuple[int, Seen, int]]
) -> list[tuple[int, Seen, int]]:
    """The turns that the newest entry has made: (instant, window, after how many elements)."""
    found: list[tuple[int, Seen, int]] = []
    for unit in ("TRIPLES", "ELEMENTS"):
        for stream in asked.streams:
            came = [max(stamp for _, stamp in element) for element in counted(stream, unit, heard)]
            for number in range(len(counted(stream, unit, heard[:-1])) + 1, len(came) + 1):
                turning = [
                    window
                    for window in asked.windows
                    if (window.stream, window.unit) == (stream, unit) and number % window.step == 0
                ]
                before = [instant for instant, _, _ in turns + found]
                if asked.every is None:
                    before = [instant + 1 for instant in told + before]
                found += [(max([came[number - 1], *before]), window, number) for window in turning]
    return found


def beginning(registered: int, clocks: dict[str, tuple[str, int]], heard: list[Logged]) -> int | None:
    """From when on instants are answered: it is found when all streams on event clocks have begun."""
    event = [stream for stream, (kind, _) in clocks.items() if kind == "event"]
    if not event:
        return registered + 1
    for place in range(1, len(heard) + 1):
        known = heard[:place]
        came = [stamp for stream in event for _, stamp in elements(stream, known)]
        if came and all(event_clock(stream, clocks[stream][1], known) is not None for stream in event):
            return min(came) if len(event) == len(clocks) else max(min(came), registered + 1)
    return None


# --- clocks: the newest time of which it is known that nothing stamped with it or earlier is expected any more


def reading(stream: str, clock: tuple[str, int], clocks: dict[str, object], heard: list[Logged]) -> int | None:
    kind, delay = clock
    return event_clock(stream, delay, heard) if kind == "event" else arrival_clock(list(clocks), heard)


def arrival_clock(streams: list[str], heard: list[Logged]) -> int | None:
    chunks = [entry.at - 1 for entry in heard if entry.kind == "chunk" and entry.subject in streams and entry.value]
    ticks = [entry.at for entry in heard if entry.kind == "tick" and entry.subject is None]
    ticks += [entry.at - 1 for entry in heard if entry.kind in ("pause", "resume")]
    ticks += [entry.at for entry in heard if entry.kind == "register"]  # that of the next version: nothing follows
    return max(chunks + ticks, default=None)


def event_clock(stream: str, delay: int, heard: list[Logged]) -> int | None:
    stamps = [stamp - delay - 1 for _, stamp in elements(stream, heard)]
    ticks = [entry.at for entry in heard if entry.kind == "tick" and entry.subject == stream]
    return max(stamps + ticks, default=None)


# --- what is there


def chunks(stream: str, heard: list[Logged]) -> list[Element]:
    return [
        [(triple, entry.at if stamp is None else stamp) for triple, stamp in entry.value]
        for entry in heard
        if entry.kind == "chunk" and entry.subject == stream
    ]


def elements(stream: str, heard: list[Logged]) -> Element:
    return [element for chunk in chunks(stream, heard) for element in chunk]


def counted(stream: str, unit: str, heard: list[Logged]) -> list[Element]:
    """What a window counts: triples, or all those of a push that have the same stamp."""
    if unit == "TRIPLES":
        return [[element] for element in elements(stream, heard)]
    return [
        [element for element in chunk if element[1] == stamp]
        for chunk in chunks(stream, heard)
        for stamp in sorted({stamp for _, stamp in chunk})
    ]


def content(window: Seen, t: int, heard: list[Logged], turns: list[tuple[int, Seen, int]]) -> Element:
    """What a window holds at t: as of its own last step, or its last turn."""
    if window.counts:
        upto = max((number for instant, of, number in turns if of == window and instant <= t), default=0)
        last = counted(window.stream, window.unit, heard)[max(0, upto - window.size) : upto]
        return [element for parts in last for element in parts]
    end = t // window.step * window.step
    return [(triple, stamp) for triple, stamp in elements(window.stream, heard) if end - window.size < stamp <= end]


def dataset(asked: Asked, windows: list[Element], place: int, log: list[Logged]) -> Graphs:
    """The graphs at a place in the log: unnamed windows and FROM are one graph."""

    def background(graph: str) -> set[Triple]:
        versions = [
            entry.value for entry in log if entry.kind == "background" and entry.subject == graph and entry.seq <= place
        ]
        return set(versions[-1] if versions else ())

    known = set().union(*map(background, asked.graphs))
    graphs: Graphs = {"": set(known)}
    graphs |= {f"<{graph}>": background(graph) for graph in asked.named}
    for window, held in zip(asked.windows, windows, strict=True):
        graphs.setdefault(f"<{window.name}>" if window.name else "", set()).update(triple for triple, _ in held)
    if asked.rules:
        alone = entailed(asked.rules, known)
        for name in {f"<{window.name}>" for window in asked.windows if window.name}:
            graphs[name] |= entailed(asked.rules, graphs[name] | known) - alone
        graphs[""] = entailed(asked.rules, graphs[""])
    return graphs


def entailed(rules: str, triples: set[Triple]) -> set[Triple]:
    """Triples, with all that follows from them under the rules of a text."""
    return set(twin.closure(parse_rules(rules).rules, dict.fromkeys(triples, twin.ALWAYS)))


def stamps(windows: list[Element]) -> dict[Triple, int]:
    """The latest stamp of each triple that some window holds."""
    found: dict[Triple, int] = {}
    for triple, stamp in (element for window in windows for element in window):
        found[triple] = max(stamp, found.get(triple, stamp))
    return found


# --- what is said


def solutions(asked: Asked, graphs: Graphs, stamped: Mapping[Triple, int] = {}) -> list[Row]:
    """One row for each way to match the patterns, in the order of its terms; for CONSTRUCT, one for each triple."""
    rows: list[Row] = []
    for bound in matches(asked.patterns, graphs, {}):
        if asked.stamped is not None:
            when = stamped.get(tuple(bound.get(node, node) for node in asked.stamped))
            bound |= {} if when is None else {"?when": f'"{when}"^^{INTEGER}'}
        made = [tuple(bound.get(node, node) for node in triple) for triple in asked.made or ()]
        rows += [
            dict(zip("spo", triple, strict=True)) for triple in made if triple[0][0] != '"' and triple[1][0] == "<"
        ]
        if asked.made is None:
            rows.append({name: bound[f"?{name}"] for name in asked.variables if f"?{name}" in bound})
    names = asked.variables if asked.made is None else tuple("spo")
    rows.sort(key=lambda row: [row.get(name, "") for name in names])
    if asked.distinct or asked.made is not None:
        rows = [row for place, row in enumerate(rows) if place == 0 or row != rows[place - 1]]
    return rows


def matches(patterns: Sequence[Triple | Quad], graphs: Graphs, bound: Row) -> Iterator[Row]:
    """Where it is not said in which graph a pattern is, it is in the default graph; `?g` is each one with a name."""
    if not patterns:
        yield bound
        return
    where, *pattern = ("", *patterns[0])[-4:]
    for name, graph in graphs.items():
        inside = dict(bound)
        if name != where and (where[:1] != "?" or not name or inside.setdefault(where, name) != name):
            continue
        for triple in graph:
            more = dict(inside)
            if all(
                more.setdefault(node, term) == term if node[0] in "?_" else node == term
                for node, term in zip(pattern, triple, strict=True)
            ):
                yield from matches(patterns[1:], graphs, more)
