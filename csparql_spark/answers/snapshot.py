"""The snapshot evaluator: an Oxigraph store that is kept in step with a dataset, and asked at each instant.

Oxigraph sees names, not terms: the triple (3, 1, 4) of ids is stored as `<i:3> <i:1> <i:4>`, and the plan says the
query over names (see `over_ids`). Patterns ask which terms are equal, and equal terms have equal ids; our terms come
back as they were sent, while Oxigraph by itself would turn "01"^^xsd:integer into "1".

Oxigraph cannot be ended once it has begun. What is sure to be too much is refused; what may be long is evaluated in a
process of its own (see `forked`), and fails when its time is over; what cannot be long (see `products`) is evaluated
here and pays nothing. Measured with 100,000 triples: the look beforehand takes a millisecond for each pattern, the
other process 1 to 5 ms.

Where the query gives no order, rows are put in the order of their terms, so that an answer is a function of the
dataset alone, and not of the order in which its triples came.

    snapshot = Snapshot(plan, content, Limits(milliseconds=2_000))
    snapshot.move(Dataset(default=(s, p, o)), instant=5_000)
    snapshot.answer(limit=1_000_000)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.answers.cells import ids_in
from csparql_spark.answers.construct import described, instantiated
from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.forked import Broken, Failed, TooLarge, TooSlow, apart
from csparql_spark.answers.functions import Functions, Stamps
from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.patterns import is_variable
from csparql_spark.answers.products import largest_product, most_solutions
from csparql_spark.answers.relevant import Columns, relevant
from csparql_spark.relations.rows import Triples
from csparql_spark.windows.content import Content

DEFAULT = ""  # the name of the default graph
MOST_MULTIPLIED = 100_000_000  # solutions of patterns that are not connected: ten seconds, if they are but counted
MOST_HERE = 200_000  # solutions that are soon gone through, whatever is asked of each
TRIPLE_BYTES = 150  # bytes of a triple in the store, about

_NOTHING: Columns = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Dataset:
    """What a query sees at an instant: ids of the triples of its graphs. `stamps` says when a triple came."""

    default: Columns = _NOTHING
    named: Mapping[str, Columns] = field(default_factory=dict)
    stamps: Stamps | None = None


def merged(graphs: Iterable[Columns]) -> Columns:
    """The columns of several graphs, one after the other."""
    parts = list(graphs)
    if not parts:
        return _NOTHING
    s, p, o = (np.concatenate(column) for column in zip(*parts, strict=True))
    return s, p, o


class Snapshot:
    """A plan, and what of a moving dataset can matter to it."""

    def __init__(self, plan: Plan, content: Content, limits: Limits | None = None) -> None:
        self.plan = plan
        self.limits = Limits() if limits is None else limits
        self._content = content
        self._start()
        self.version = 0  # grows when what is held changes

    def _start(self) -> None:
        self._generation = self._content.dictionary.generation
        self._store = ox.Store()
        self._stored = {DEFAULT: Triples.none()}
        self._in_step = True  # whether the store holds what is said to be stored
        self._functions = Functions(self._content.dictionary)
        self._text: tuple[int, str] | None = None
        self._most: tuple[int, int] | None = None
        self._dataset = Dataset()
        self._instant = 0

    def move(self, dataset: Dataset, *, instant: int = 0) -> None:
        """Look at this dataset from now on. It costs what changed of what matters."""
        if not self._in_step or self._generation != self._content.dictionary.generation:
            version = self.version
            self._start()
            self.version = version + 1
        stored, self._stored, self._in_step = self._stored, {}, False  # should one of the next steps fail
        graphs = {DEFAULT: dataset.default, **(dataset.named if self.plan.asks_named else {})}
        changed = graphs.keys() != stored.keys()
        if changed and self.plan.graph_blocks:
            self._text = None
        for name in stored.keys() - graphs.keys():
            self._store.remove_graph(self._graph(name))
            del stored[name]
        seen = {
            name: Triples.of(*relevant(self.plan.reads, self._content.dictionary, *columns))
            for name, columns in graphs.items()
        }
        # Before they are in the store: to put them there takes as long as to look at them.
        self.limits.check_bytes(TRIPLE_BYTES * sum(map(len, seen.values())), "the triples that it looks at")
        for name, triples in seen.items():
            if name and name not in stored:
                self._store.add_graph(self._graph(name))  # a graph without a triple is one, too
            changed |= self._step(name, stored.get(name, Triples.none()), triples)
            stored[name] = triples
        if changed or self.plan.volatile or self.plan.stamps:
            self.version += 1
        self._dataset, self._instant = dataset, instant
        self._stored, self._in_step = stored, True
        for triples in stored.values():
            product = largest_product(self.plan.reads, self._content.dictionary, triples.s, triples.p, triples.o)
            if product > MOST_MULTIPLIED:
                raise TooMuch(
                    f"parts of its pattern have nothing in common, and together {product:,} solutions: "
                    f"{MOST_MULTIPLIED:,} are gone through at most; connect the parts by a variable"
                )

    def _step(self, name: str, stored: Triples, triples: Triples) -> bool:
        """Bring one graph from what is held to these triples; whether that was a change."""
        gone = stored.minus(triples)
        cleared = len(gone) > len(triples)
        if cleared:
            self._store.clear_graph(self._graph(name))
            stored = gone = Triples.none()
        new = triples.minus(stored)
        if len(gone):
            lines = _lines(gone).decode()
            graph = f"GRAPH {self._graph(name)} {{ {lines} }}" if name else lines
            self._store.update(f"DELETE DATA {{ {graph} }}")
        if len(new):
            self._store.load(_lines(new), ox.RdfFormat.N_TRIPLES, to_graph=self._graph(name), lenient=True)
        return bool(cleared or len(gone) or len(new))

    def _graph(self, name: str) -> ox.NamedNode | ox.DefaultGraph:
        if not name:
            return ox.DefaultGraph()
        return ox.NamedNode(f"i:{self._content.dictionary.encode([f'<{name}>'])[0]}")

    @property
    def state_bytes(self) -> int:
        """What is held for the plan, about."""
        return TRIPLE_BYTES * sum(len(triples) for triples in self._stored.values())

    def answer(self, *, limit: int | None = None) -> Result:
        """What the plan says of the dataset; `TooManyRows` if that is more than `limit` rows or triples (the plan's
        limit, if nothing else is said), `TooMuch` if it takes too long or needs too much memory."""
        plan = self.plan
        limits = self.limits if limit is None else replace(self.limits, rows=limit)
        limit = limits.rows
        limits.check_bytes(self.state_bytes, "the triples that it looks at")
        self._functions.begin(instant=self._instant, stamps=self._dataset.stamps)
        rows = self._rows(0 if plan.form == "ASK" else limit)  # one row says yes
        if plan.form == "ASK":
            return Result.boolean(len(rows) > 0)
        limits.check_rows(len(rows))
        if plan.form == "SELECT":
            return Result.from_table(self._table(rows))
        if plan.form == "CONSTRUCT":
            lines = instantiated(plan, self._table(rows))
        else:
            lines = described(plan, rows, Triples.of(*self._dataset.default), self._content.dictionary)
        limits.check_rows(len(lines), "triples")
        return Result.graph("".join(lines))

    def _table(self, rows: np.ndarray) -> Bindings:
        """Rows of ids as a table of terms, in their order or in that of the terms."""
        bound = rows[rows >= 0]
        distinct = np.sort(bound)
        distinct = distinct[np.concatenate(([True], distinct[1:] != distinct[:-1]))] if len(distinct) else distinct
        terms = self._functions.decode(distinct)
        order = sorted(range(len(terms)), key=terms.__getitem__)
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1  # an unbound cell comes first
        place = np.where(rows >= 0, np.searchsorted(distinct, rows), len(order))
        ranks = rank[place]
        if not self.plan.ordered and ranks.shape[1]:
            ranks = ranks[np.lexsort(ranks.T[::-1])]
        return Bindings.from_ids(
            self.plan.variables,
            pa.array([terms[i] for i in order], pa.string()),
            list(ranks.T),
            len(rows),
            in_order=True,
        )

    def _rows(self, limit: int) -> np.ndarray:
        """One row of ids for each solution; -1 where a variable is unbound."""
        plan, dictionary = self.plan, self._content.dictionary
        if plan.form == "DESCRIBE" and not plan.variables:
            return np.empty((0, 0), dtype=np.int64)
        if self._text is None or self._text[0] != limit:
            self._text = limit, plan.text(dictionary, limit=limit, graphs=sorted(self._stored.keys() - {DEFAULT}))
        text = self._evaluated(self._text[1]) if self._most_solutions() <= MOST_HERE else self._apart(self._text[1])
        head, _, cells = text.partition(b"\n")
        width = head.count(b"\t") + 1
        if not cells:
            return np.empty((0, len(plan.variables)), dtype=np.int64)
        return ids_in(cells, width)[:, : len(plan.variables)]

    def _evaluated(self, text: str) -> bytes:
        return self._functions.solutions(self._store, text, self.plan.aggregates)

    def _most_solutions(self) -> int:
        """How many solutions are gone through at most."""
        if self._most is None or self._most[0] != self.version:
            s, p, o = merged((triples.s, triples.p, triples.o) for triples in self._stored.values())
            graphs = max(1, len(self._stored) - 1)
            blocks = sum(is_variable(name) for name in self.plan.graph_blocks)
            rows = self.plan.rows * graphs**blocks  # each graph has them, or a count of none
            self._most = (
                self.version,
                rows * most_solutions(self.plan.blocks, self._content.dictionary, s, p, o, MOST_HERE),
            )
        return self._most[1]

    def _apart(self, text: str) -> bytes:
        """Evaluate it where it can be ended. What was computed there gets its ids here, too."""

        def work() -> bytes:
            found = self._evaluated(text)
            return b"%d\n%b%b" % (len(found), found, "\n".join(self._functions.computed).encode())

        limits = self.limits
        try:
            length, _, rest = apart(work, seconds=limits.seconds, room=limits.bytes).partition(b"\n")
        except TooSlow as error:
            raise OF_ANSWERS.of_time(limits.seconds, on_the_clock=error.on_the_clock) from error
        except TooLarge as error:
            raise OF_ANSWERS.of_memory(limits.bytes) from error
        except Broken as error:
            raise TooMuch(str(error)) from error
        except Failed as error:
            raise RuntimeError(str(error)) from error
        found, computed = rest[: int(length)], rest[int(length) :].decode()
        self._functions.computed = computed.split("\n") if computed else []
        return found


def _lines(triples: Triples) -> bytes:
    s, p, o = (pa.array(column).cast(pa.string()) for column in (triples.s, triples.p, triples.o))
    lines = pc.binary_join_element_wise("<i:", s, "> <i:", p, "> <i:", o, "> .\n", "")
    return lines.buffers()[2].to_pybytes()
