"""What a query sees at a moment: the one place that says what its dataset is made of.

    the default graph        the windows without a name and the graphs of FROM, and what follows from all of that
    a named window           what it holds, and what follows from that with the help of the graphs of FROM: without
                             these, and without what follows from these alone
    a graph of FROM NAMED    as it is

The moment is an instant of the query, as the log stood when the query answered it: what was logged later is not seen,
however it is stamped, nor what was logged before the query was registered (see `moment`). A window of time is looked at
as of its own last step, a window that counts as it was at its own last turn.

    for graph in graphs_of(query):
        graph.name, graph.places, graph.background, graph.help          # None: the default graph
    elements = contents(content, number, window, moment, count)
    dataset_of(query, [elements], background, closed={None: (s, p, o)})

How the parts are computed is left to who asks: the engine maintains closures (`closures`), what is asked once reads the
log and closes it anew (`asking`). Both put them together here.

Invariants: each window of a query is in exactly one graph; help is never in the graph that it helps, unless its window
says the same; a graph that does not entail has no help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from csparql_spark.answers.functions import Stamps
from csparql_spark.answers.relevant import Columns
from csparql_spark.answers.snapshot import Dataset, merged
from csparql_spark.answers.stamps import stamps_of
from csparql_spark.engine.moment import Moment
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.windows.content import Content, Elements
from csparql_spark.windows.counting import TurnCount
from csparql_spark.windows.rule import bounds_of


class Graph(NamedTuple):
    """A graph of a dataset. `name` is None for the default graph; `places` are those of its windows in the text;
    `background` is in it, `help` is not, and has a part in what follows; `entails`: it has in it what follows from
    it."""

    name: str | None
    places: tuple[int, ...]
    background: tuple[str, ...]
    help: tuple[str, ...]
    entails: bool

    @property
    def is_window(self) -> bool:
        """Whether it is a named window: in it is only what the window has a part in."""
        return self.name is not None and bool(self.places)


def graphs_of(query: ContinuousQuery) -> list[Graph]:
    """The graphs of a query: the default graph first, then its named windows and graphs, in the order of the text."""
    entails = bool(query.entailment)
    unnamed = tuple(place for place, window in enumerate(query.windows) if window.name is None)
    return [
        Graph(None, unnamed, query.graphs, (), entails),
        *(
            Graph(window.name, (place,), (), query.graphs if entails else (), entails)
            for place, window in enumerate(query.windows)
            if window.name is not None
        ),
        *(Graph(graph, (), (graph,), (), False) for graph in query.named_graphs),
    ]


def names_of(query: ContinuousQuery) -> tuple[str, ...]:
    """The names that the graphs of a query have: those that GRAPH with a variable goes through."""
    return tuple(dict.fromkeys(graph.name for graph in graphs_of(query) if graph.name is not None))


def dataset_of(
    query: ContinuousQuery,
    windows: Sequence[Elements],
    background: Callable[[str], Columns],
    closed: Mapping[str | None, Columns],
    *,
    stamped: bool = False,
) -> Dataset:
    """The dataset of a query whose windows hold this, in the order of the text. `closed` has the graphs that entail, as
    `entailed` makes them; with `stamped` the dataset says when a triple came."""
    graphs: dict[str | None, Columns] = {}
    for graph in graphs_of(query):  # of two of one name a window hides the other
        if graph.name not in graphs:
            graphs[graph.name] = (
                closed[graph.name]
                if graph.entails
                else merged([*(windows[place][:3] for place in graph.places), *map(background, graph.background)])
            )
    default = graphs.pop(None)
    stamps: Stamps | None = stamps_of(windows) if stamped and windows else None
    return Dataset(default, {name: columns for name, columns in graphs.items() if name is not None}, stamps)


def entailed(graph: Graph, stated: Columns, closure: Columns, owned: Callable[[], Columns]) -> Columns:
    """A graph that entails. `stated` is what its windows hold, `closure` what follows from that with its background and
    its help, and `owned` gives what of it does not follow from background and help alone."""
    return merged([owned(), stated]) if graph.is_window else closure


def contents(content: Content, stream: int, window: Window, moment: Moment, count: TurnCount | None) -> Elements:
    """What a window holds at a moment. `count` is where a window that counts stands then."""
    if count is not None:
        begin, end = count.view()
        return content.counted(stream, moment.since, begin, end, graphs=window.elements is not None)
    bounds = bounds_of(window, moment.instant)
    return content.window(stream, bounds.low, bounds.closes, moment.since)
