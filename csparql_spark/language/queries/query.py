"""What a text asks for: the one object that leaves the language.

A `ContinuousQuery` is the same for C-SPARQL and RSP-QL: which streams are seen through which windows, which background
graphs stand beside them, how answers are turned into output, and a body in standard SPARQL 1.1 that is evaluated at
every instant. Durations are whole milliseconds. Two queries are equal when they ask for the same: the text they were
read from and the warnings about it do not count.

    query = parse("REGISTER QUERY Hot AS SELECT ?s FROM STREAM <http://ex.org/t> [RANGE 30s STEP 5s] { ?s ?p 1 }")
    query.windows[0]        ->  Window(stream='http://ex.org/t', range=30000, step=5000)
    query.body              ->  'SELECT ?s\\n{ ?s ?p 1 }'
    query.variables         ->  ('s',)

Invariants. A window has exactly one of `range`, `triples`, `elements`, and with it its step. A window without a `name`
is merged into the default graph; a window with one is the named graph of that name, and the body says GRAPH for the
text's WINDOW. The body holds no relative IRI, no undeclared prefix, no comment.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Window:
    """What is seen of one stream: the last `range` milliseconds, `triples` triples or `elements` graphs."""

    stream: str
    range: int | None = None
    step: int | None = None
    triples: int | None = None
    triples_step: int | None = None
    elements: int | None = None
    elements_step: int | None = None
    name: str | None = None
    named: bool = False

    def __repr__(self) -> str:
        shown = [f"{key}={value!r}" for key, value in self.__dict__.items() if value not in (None, False)]
        return f"Window({', '.join(shown)})"


@dataclass(frozen=True)
class ContinuousQuery:
    """A registered (or plain) query, as the rest of the house knows it. `groups`: what a SELECT groups by, if that
    tells its rows apart. `listed`: they are in an order of their own."""

    text: str = field(compare=False, repr=False)
    name: str | None
    kind: str
    form: str
    output: str
    every: int | None
    windows: tuple[Window, ...]
    graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    entailment: tuple[str, ...]
    body: str
    variables: tuple[str, ...]
    groups: tuple[str, ...] | None
    listed: bool
    warnings: tuple[str, ...] = field(compare=False)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that tell the rows of a SELECT apart; without any there is one row."""
        return self.variables if self.groups is None else self.groups
