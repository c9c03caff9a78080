"""Streams, windows and graphs: what the dataset clauses declare, and what GRAPH and WINDOW may name.

C-SPARQL merges its windows and its FROM graphs into the default graph: a bare pattern sees them all, and GRAPH never
sees a stream. RSP-QL's windows are named graphs: WINDOW names one of them, or ranges over them with a variable.

    FROM STREAM <s> [RANGE 5s]                     { ?s ?p ?o }
    FROM NAMED WINDOW <w> ON <s> [RANGE PT5S]      { WINDOW <w> { ?s ?p ?o } }
"""

from __future__ import annotations

from dataclasses import dataclass, field

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.durations import in_words
from csparql_spark.language.queries.clauses import Clauses
from csparql_spark.language.queries.query import Window
from csparql_spark.language.queries.rewriting import Rewriting
from csparql_spark.language.queries.scope import visible
from csparql_spark.language.queries.syntax import Node


@dataclass
class DatasetClauses:
    """What the dataset clauses of one text declare, in their order."""

    windows: list[Window] = field(default_factory=list)
    graphs: list[str] = field(default_factory=list)
    named_graphs: list[str] = field(default_factory=list)
    entailment: list[str] = field(default_factory=list)

    def window_named(self, name: str) -> Window | None:
        """The window that is the named graph `name`."""
        return next((window for window in self.windows if window.name == name), None)


def read_dataset(datasets: Node, clauses: Clauses) -> DatasetClauses:
    """The declarations of a `Datasets` node."""
    dataset = DatasetClauses()
    for node in datasets.nodes():
        if node.rule == "Entailment":
            dataset.entailment += clauses.entailment(node)
        elif node.node("Graph") is not None:
            found = dataset.graphs if node.token("NAMED") is None else dataset.named_graphs
            found.append(clauses.iri(node.child("Graph").child("Iri")))
        elif node.node("Stream") is not None:
            stream = node.child("Stream")
            named = node.token("NAMED") is not None
            window = clauses.window(stream.child("Window"), clauses.iri(stream.child("Iri")), None, named)
            _warn_of(window, stream, clauses.diagnostics)
            if any(window.stream == other.stream and other.name is None for other in dataset.windows):
                clauses.diagnostics.warn(
                    stream.start, f"<{window.stream}> has several windows; what they see is merged."
                )
            dataset.windows.append(window)
        else:
            window = _named_window(node.child("NamedWindow"), dataset, clauses)
            _warn_of(window, node.child("NamedWindow"), clauses.diagnostics)
            dataset.windows.append(window)
    return dataset


def check_graphs(form: Node, dataset: DatasetClauses, clauses: Clauses, rewriting: Rewriting) -> None:
    """Check what GRAPH and WINDOW blocks name; a WINDOW variable is kept from ranging over graphs."""
    diagnostics = clauses.diagnostics
    streams = {window.stream for window in dataset.windows if window.name is None}
    names = [window.name for window in dataset.windows if window.name is not None]
    used: set[str] = set()
    for block in form.walk("GraphBlock", "WindowBlock"):
        target = block.node("VarOrIri")
        if target is None or target.end < 0:
            continue
        keyword = block.tokens()[0]
        iri = clauses.iri(target.child("Iri")) if target.node("Iri") is not None else None
        if block.rule == "WindowBlock":
            _check_window_block(target, iri, dataset, diagnostics)
        elif iri in streams and iri not in names and iri not in dataset.named_graphs:
            diagnostics.add(
                keyword.start,
                target.end,
                "graph-on-stream",
                "A stream is not a named graph: its window is part of the default graph.",
                hint="Leave GRAPH out, or declare FROM NAMED WINDOW <w> ON <stream> and write WINDOW <w>.",
            )
        elif iri is not None and dataset.windows and iri not in names and iri not in dataset.named_graphs:
            diagnostics.warn(target.start, f"<{iri}> is not among FROM NAMED, so this part matches nothing.")
        elif iri is None and names:
            diagnostics.warn(target.start, "GRAPH with a variable ranges over the named windows too.")
        if iri is None:
            _warn_of_name(block, target.leaf("VAR").text[1:], diagnostics)
            used.update(names)
            if block.rule == "WindowBlock" and dataset.named_graphs:
                variable = f"?{target.leaf('VAR').text[1:]}"
                values = " ".join(f"<{name}>" for name in names)
                rewriting.put_before(block.start, f"{{ VALUES {variable} {{ {values} }} ")
                rewriting.put_after(block.end, " }")
        else:
            used.add(iri)
    if names and not streams and not dataset.graphs:
        for pattern in form.walk("TriplesPath", outside=("GraphBlock", "WindowBlock", "Service", "Filter")):
            diagnostics.warn(
                pattern.start, "this pattern is in no WINDOW, and without a FROM graph it matches nothing."
            )
            break
    for name in names:
        if name not in used:
            start = form.child("Datasets").start
            diagnostics.warn(start, f"the window <{name}> is declared but never used.")


def _named_window(node: Node, dataset: DatasetClauses, clauses: Clauses) -> Window:
    first, second = node.nodes("Iri")
    name_node, stream_node = (second, first) if node.token("AS") is not None else (first, second)
    name = clauses.iri(name_node)
    if dataset.window_named(name) is not None:
        clauses.diagnostics.add(
            name_node.start,
            name_node.end,
            "duplicate-window",
            f"There is already a window <{name}>.",
            hint="Give each window its own name.",
        )
    return clauses.window(node.child("Window"), clauses.iri(stream_node), name, True)


def _check_window_block(target: Node, iri: str | None, dataset: DatasetClauses, diagnostics: Diagnostics) -> None:
    names = [window.name for window in dataset.windows if window.name is not None]
    if iri in names or (iri is None and names):
        return
    if names:
        known = ", ".join(f"<{name}>" for name in names)
        hint = f"The windows are {known}."
    else:
        hint = "Declare it: FROM NAMED WINDOW <w> ON <stream> [RANGE PT10S STEP PT5S]."
    message = f"There is no window <{iri}>." if iri is not None else "There is no named window."
    diagnostics.add(target.start, target.end, "unknown-window", message, hint=hint)


def _warn_of_name(block: Node, name: str, diagnostics: Diagnostics) -> None:
    """A block is matched in each graph by itself; the variable of the graph's name gets its value afterwards."""
    if block.end < 0 or name in visible(block.child("Group")):
        return
    for part in block.walk("Filter", "Bind", outside=("SubSelect",)):
        for token in part.all_tokens("VAR", outside=("Group",)):
            if token.text[1:] == name:
                diagnostics.warn(
                    token.start,
                    f"{token.text} is bound after its {block.tokens()[0].text.upper()} block, so it is unbound here. "
                    f"Write this {part.rule.upper()} behind the block.",
                )
                return


def _warn_of(window: Window, node: Node, diagnostics: Diagnostics) -> None:
    size = window.range or window.triples or window.elements or 0
    step = window.step or window.triples_step or window.elements_step or 0
    if step > size:
        if window.range is not None:
            lost = f"{in_words(step - size)} of every {in_words(step)}"
        else:
            lost = f"{step - size} of every {step}"
        diagnostics.warn(node.child("Window").start, f"STEP is longer than the window: {lost} are never seen.")
