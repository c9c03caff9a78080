"""The naive twin of the pipeline: what each query says, from the log alone, by the words of `windows.progress`.

It keeps nothing. Each instant is found by looking at the whole log again, each window is a set of triples made from
all entries, and a pattern is matched by trying every triple for each of its lines. It is slow, and short enough to be
believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Triple = tuple[str, str, str]
Row = dict[str, str]


@dataclass(frozen=True)
class Asked:
    """A query."""

    stream: str
    range: int
    step: int
    variables: tuple[str, ...]
    patterns: tuple[Triple, ...]
    distinct: bool = False
    graphs: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        head = f"SELECT {'DISTINCT ' * self.distinct}{' '.join(f'?{name}' for name in self.variables) or '*'}"
        graphs = "".join(f" FROM <{graph}>" for graph in self.graphs)
        body = " . ".join(" ".join(pattern) for pattern in self.patterns)
        window = f"[RANGE {self.range}ms STEP {self.step}ms]"
        return f"REGISTER QUERY q AS {head} FROM STREAM <{self.stream}> {window}{graphs} WHERE {{ {body} }}"


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


def answers_of(registered: Logged, log: list[Logged], limit: int) -> Iterator[Said]:
    asked: Asked = registered.value
    after = [entry for entry in log if entry.seq > registered.seq]
    end = min((entry.seq for entry in after if entry.kind == "unregister" and entry.subject == registered.subject),
              default=len(log) + 1)
    life = [entry for entry in after if entry.seq < end]
    clock, delay = next(entry.value for entry in log if entry.kind == "stream" and entry.subject == asked.stream)
    told: set[int] = set()
    for place in range(1, len(life) + 1):
        heard = life[:place]
        if clock == "arrival":
            begin, passed = registered.at + 1, arrival_clock(asked.stream, heard)
        else:
            begin, passed = first_stamp(asked.stream, heard), event_clock(asked.stream, delay, heard)
        if begin is None or passed is None:
            continue
        for t in range(begin, passed + 1):
            if t % asked.step == 0 and t not in told:
                told.add(t)
                window = {triple for triple, stamp in elements(asked.stream, heard) if t - asked.range < stamp <= t}
                rows = solutions(asked, window | background(asked.graphs, heard[-1].seq, log))
                if len(rows) > limit:
                    yield Said(t, None)
                    return
                yield Said(t, rows)


# --- clocks: the newest time of which it is known that nothing stamped with it or earlier is expected any more

def arrival_clock(stream: str, heard: list[Logged]) -> int | None:
    chunks = [entry.at - 1 for entry in heard if entry.kind == "chunk" and entry.subject == stream and entry.value]
    ticks = [entry.at for entry in heard if entry.kind == "tick" and entry.subject is None]
    return max(chunks + ticks, default=None)


def event_clock(stream: str, delay: int, heard: list[Logged]) -> int | None:
    stamps = [stamp - delay - 1 for _, stamp in elements(stream, heard)]
    ticks = [entry.at for entry in heard if entry.kind == "tick" and entry.subject == stream]
    return max(stamps + ticks, default=None)


def first_stamp(stream: str, heard: list[Logged]) -> int | None:
    """The earliest stamp in the first chunk that has any."""
    for entry in heard:
        if stamps := [stamp for _, stamp in elements(stream, [entry])]:
            return min(stamps)
    return None


# --- what is there

def elements(stream: str, heard: list[Logged]) -> list[tuple[Triple, int]]:
    return [(triple, entry.at if stamp is None else stamp)
            for entry in heard if entry.kind == "chunk" and entry.subject == stream for triple, stamp in entry.value]


def background(graphs: tuple[str, ...], place: int, log: list[Logged]) -> set[Triple]:
    """What the graphs held at a place in the log."""
    found: set[Triple] = set()
    for graph in graphs:
        versions = [entry.value for entry in log if entry.kind == "background" and entry.subject == graph
                    and entry.seq <= place]
        found |= set(versions[-1] if versions else ())
    return found


# --- what is said

def solutions(asked: Asked, graph: set[Triple]) -> list[Row]:
    """One row for each way to match the patterns, in the order of its terms."""
    rows = []
    for bound in matches(asked.patterns, graph, {}):
        rows.append({name: bound[f"?{name}"] for name in asked.variables if f"?{name}" in bound})
    rows.sort(key=lambda row: [row[name] for name in asked.variables if name in row])
    if asked.distinct:
        rows = [row for place, row in enumerate(rows) if place == 0 or row != rows[place - 1]]
    return rows


def matches(patterns: tuple[Triple, ...], graph: set[Triple], bound: Row) -> Iterator[Row]:
    if not patterns:
        yield bound
        return
    for triple in graph:
        more = dict(bound)
        if all(more.setdefault(node, term) == term if node[0] in "?_" else node == term
               for node, term in zip(patterns[0], triple)):
            yield from matches(patterns[1:], graph, more)
