"""What the random queries ask, and how it is written as a text of the language."""

from __future__ import annotations

from dataclasses import dataclass

Triple = tuple[str, str, str]
Quad = tuple[str, str, str, str]  # a pattern, and the graph or window that it is looked for in
Row = dict[str, str]


@dataclass(frozen=True)
class Seen:
    """A window: the last `size` ms, TRIPLES or ELEMENTS of a stream, each `step` of them; `name` is its IRI."""

    stream: str
    size: int
    step: int
    unit: str = "ms"
    name: str | None = None

    @property
    def counts(self) -> bool:
        return self.unit != "ms"

    @property
    def text(self) -> str:
        extent = {
            "ms": f"RANGE {self.size}ms STEP {self.step}ms",
            "TRIPLES": f"RANGE TRIPLES {self.size} STEP {self.step}",
            "ELEMENTS": f"ELEMENTS {self.size} STEP {self.step}",
        }[self.unit]
        if self.name is None:
            return f"FROM STREAM <{self.stream}> [{extent}]"
        return f"FROM NAMED WINDOW <{self.name}> ON <{self.stream}> [{extent}]"


@dataclass(frozen=True)
class Asked:
    """A query. Its patterns have three nodes, or four: then the first says where (`<graph>`, or `?g` for any of FROM
    NAMED). `stamped` is a triple whose timestamp is asked for as ?when. A CONSTRUCT makes `made`. `rules` are the text
    of the rule set that it is asked under, whose name is `mine`. `paused` is no part of the text, but of the
    registration."""

    windows: tuple[Seen, ...]
    variables: tuple[str, ...]
    patterns: tuple[Triple | Quad, ...]
    distinct: bool = False
    graphs: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    every: int | None = None
    output: str = "RSTREAM"
    stamped: Triple | None = None
    made: tuple[Triple, ...] | None = None
    paused: bool = False
    rules: str = ""

    @classmethod
    def over(
        cls,
        stream: str,
        range: int,
        step: int,
        variables: tuple[str, ...],
        patterns: tuple[Triple, ...],
        distinct: bool = False,
        **more: object,
    ) -> Asked:
        """A query with one window of time."""
        return cls((Seen(stream, range, step),), variables, patterns, distinct, **more)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(window.stream for window in self.windows))

    @property
    def text(self) -> str:
        every = "" if self.every is None else f"COMPUTE EVERY {self.every}ms "
        if self.made is None:
            shown = [f"?{name}" for name in self.variables]
            if self.stamped is not None:
                shown[-1] = f"(f:timestamp({', '.join(self.stamped)}) AS ?when)"
            head = f"SELECT {'DISTINCT ' * self.distinct}{self.output} {' '.join(shown) or '*'}"
        else:
            head = f"CONSTRUCT {self.output} {{ {' . '.join(map(' '.join, self.made))} }}"
        windows = "\n".join(window.text for window in self.windows)
        graphs = "".join(f" FROM <{graph}>" for graph in self.graphs)
        graphs += "".join(f" FROM NAMED <{graph}>" for graph in self.named)
        graphs += " USING ENTAILMENT mine" * bool(self.rules)
        body = " . ".join(map(self._spelled, self.patterns))
        return (
            f"REGISTER QUERY q {every}AS PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> {head}\n{windows}"
            f"{graphs} WHERE {{ {body} }}"
        )

    def _spelled(self, pattern: Triple | Quad) -> str:
        if len(pattern) == 3:
            return " ".join(pattern)
        where, *nodes = pattern
        keyword = "WINDOW" if where[1:-1] in {window.name for window in self.windows} else "GRAPH"
        return f"{keyword} {where} {{ {' '.join(nodes)} }}"
