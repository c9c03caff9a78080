"""The dataset of a query: which windows and background graphs make each of its graphs, and what its windows see.

    the default graph        the windows without a name and the graphs of FROM, and what follows from all of that
    a named window           what it sees, and what follows from that with the help of the graphs of FROM: without
                             these, and without what follows from these alone
    a graph of FROM NAMED    as it is

    for graph in graphs_of(query):
        graph.name, graph.windows, graph.background          # None: the default graph
    for piece in seen(window, 17_000, chunks):               # stamped chunks in the order of the log, one by one
        ...

Invariant: `seen` holds no more of a stream than the window does, and of a window of time no more than one chunk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.rule import is_timed, visible


class Graph(NamedTuple):
    """A graph of a dataset. `name` is None for the default graph; `background` is in it, `help` is not, and has a part
    in what follows; `entails`: it has in it what follows from it."""

    name: str | None
    windows: tuple[Window, ...]
    background: tuple[str, ...]
    help: tuple[str, ...]
    entails: bool


def graphs_of(query: ContinuousQuery) -> list[Graph]:
    """The graphs of a query: the default graph first, then its named windows and graphs, in the order of the text."""
    entails = bool(query.entailment)
    unnamed = tuple(window for window in query.windows if window.name is None)
    return [Graph(None, unnamed, query.graphs, (), entails),
            *(Graph(window.name, (window,), (), query.graphs if entails else (), entails)
              for window in query.windows if window.name is not None),
            *(Graph(graph, (), (graph,), (), False) for graph in query.named_graphs)]


def seen(window: Window, instant: int, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """What a window sees at an instant, of the stamped chunks of its stream, in the order of the log."""
    if is_timed(window):
        for chunk in chunks:
            yield chunk.take(visible(window, chunk.t, instant))
        return
    held: deque[Chunk] = deque()
    count, newest = 0, np.empty(0, np.int64)
    for chunk in chunks:
        held.append(chunk.take(chunk.t <= instant))
        count += len(held[-1])
        if window.triples is not None:
            while count - len(held[0]) >= window.triples:
                count -= len(held.popleft())
        else:
            newest = np.unique(np.concatenate([newest, held[-1].t]))[-window.elements:]
            while len(newest) == window.elements and len(held) > 1 and held[0].t.max(initial=newest[0] - 1) < newest[0]:
                held.popleft()
    whole = Chunk.concat(list(held))
    yield whole.take(visible(window, whole.t, instant))
