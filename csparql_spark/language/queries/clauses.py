"""The clauses that are not SPARQL: REGISTER, COMPUTE EVERY, FROM, windows, entailment.

Each function reads one kind of node. What a node says wrongly goes to the diagnostics, and the rest is read on, so that
the leftmost problem of the whole text can be found.
"""

from __future__ import annotations

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.durations import DurationProblem, iso_milliseconds, milliseconds
from csparql_spark.language.errors import Fix
from csparql_spark.language.queries.prologue import NameProblem, Names, is_basic
from csparql_spark.language.queries.query import Window
from csparql_spark.language.queries.syntax import Node
from csparql_spark.language.tokens import Token

MOST_ELEMENTS = 10**9


class Clauses:
    """Reads clause nodes of one text, with the names declared in its prologue."""

    def __init__(self, text: str, names: Names, diagnostics: Diagnostics) -> None:
        self.text = text
        self.names = names
        self.diagnostics = diagnostics

    def iri(self, node: Node) -> str:
        """The absolute IRI of an `Iri` node."""
        token = node.tokens()[0]
        try:
            if token.kind == "IRIREF":
                return self.names.resolve(token.text[1:-1])
            return self.names.expand(token.text)
        except NameProblem as problem:
            self.diagnostics.add(token.start, token.end, problem.code, problem.message, hint=problem.hint)
            return ""

    def declare(self, prologue: Node) -> None:
        """Take the declarations of a `Prologue` node."""
        for node in prologue.nodes():
            reference = node.token("IRIREF")
            if reference is None:
                continue
            try:
                if node.rule == "Base":
                    self.names.declare_base(reference.text[1:-1])
                else:
                    self._declare_prefix(node.tokens()[1], reference)
            except NameProblem as problem:
                self.diagnostics.add(reference.start, reference.end, problem.code, problem.message, hint=problem.hint)

    def _declare_prefix(self, prefix: Token, reference: Token) -> None:
        if not is_basic(prefix.text):
            self.diagnostics.add(
                prefix.start,
                prefix.end,
                "bad-character",
                f"The prefix {prefix.text} has a character beyond U+FFFF.",
                hint="Choose another prefix.",
            )
        self.names.declare(prefix.text[:-1], reference.text[1:-1])

    def name(self, node: Node) -> str:
        """The name of a query: a word as it is written, or an absolute IRI."""
        iri = node.node("Iri")
        if iri is not None:
            return self.iri(iri)
        return node.tokens()[0].text

    def entailment(self, node: Node) -> list[str]:
        """The regimes of an `Entailment` node: names as written, IRIs absolute."""
        regimes: list[str] = []
        for regime in node.nodes("Regime"):
            iri = regime.node("Iri")
            if iri is not None:
                regimes.append(self.iri(iri))
                continue
            word = regime.tokens()[0]
            if word.key in ("WHERE", "FROM", "AS", "USING", "UNDER"):
                self.diagnostics.add(
                    word.start,
                    word.end,
                    "missing-regime",
                    f'Found "{word.text}" where the name of an entailment was expected.',
                    hint="Write USING ENTAILMENT rdfs, or another name or <IRI>.",
                )
            regimes.append(word.text)
        return regimes

    def duration(self, node: Node) -> int:
        """The milliseconds of a `Duration` node, or of the number and unit that a `Range` begins with."""
        words = node.tokens()
        first, last = words[0], words[-1]
        if first is not last and last.key in ("STEP", "SLIDE", "TUMBLING", "AS"):
            self.diagnostics.add(
                first.start,
                first.end,
                "missing-unit",
                f"{first.text} has no unit.",
                hint=f"Write {first.text}s for seconds.",
                fix=Fix.replacing(self.diagnostics.text, first.start, first.end, f"{first.text}s"),
            )
            return 1
        if first.text.upper() == "BGP":
            self.diagnostics.add(
                first.start,
                first.end,
                "unsupported-window",
                "A window of graph patterns (BGP) is not supported.",
                hint="Use RANGE 10s or RANGE TRIPLES 10.",
            )
            return 1
        try:
            if first is last:
                return iso_milliseconds(first.text)
            return milliseconds(first.text, last.text)
        except DurationProblem as problem:
            start = last.start if problem.code == "bad-unit" else first.start
            instead = problem.instead
            shown = f"Write {instead}" if first is last else f"Write {first.text}{instead}"
            fix = None if instead is None else Fix.replacing(self.diagnostics.text, start, last.end, instead, shown)
            self.diagnostics.add(start, last.end, problem.code, problem.message, hint=problem.hint, fix=fix)
            return 1

    def count(self, node: Node) -> int:
        """The first number of a `Triples`, `Elements` or `CountTail` node."""
        number = node.leaf("INTEGER")
        digits = number.text.lstrip("0")
        if not digits:
            self.diagnostics.add(
                number.start,
                number.end,
                "zero-count",
                "A window of no elements sees nothing.",
                hint="Write at least 1.",
            )
            return 1
        if len(digits) > 10 or int(digits) > MOST_ELEMENTS:
            self.diagnostics.add(
                number.start, number.end, "bad-count", "This window is too large.", hint="10^9 is the most."
            )
            return 1
        return int(digits)

    def check_numbers(self, tree: Node) -> None:
        """Check all durations and counts below a node, also of clauses that are not complete."""
        for node in tree.walk("Duration", "Range", "Triples", "Elements", "CountTail"):
            words = [token for token in node.tokens() if token.kind == "WORD"]
            if node.rule in ("Duration", "Range") and words and words[-1].key != "TRIPLES":
                self.duration(node)
            elif node.rule != "Duration" and node.token("INTEGER") is not None:
                if node.rule != "Range" or words:
                    self.count(node)

    def window(self, node: Node, stream: str, name: str | None, named: bool) -> Window:
        """The window of a `Window` node."""
        extent = node.child("Extent")
        elements = extent.node("Elements")
        if elements is not None:
            size, step = self.count(elements), self._count_step(elements)
            return Window(stream, elements=size, elements_step=step or size, name=name, named=named)
        triples = extent.node("Triples") or extent.child("Range")
        tail = triples.node("CountTail")
        if tail is not None:
            size, step = self.count(triples), self._count_step(triples)
            return Window(stream, triples=size, triples_step=step or size, name=name, named=named)
        length = self.duration(triples)
        tail = triples.node("RangeTail")
        step_node = tail.node("Duration") if tail is not None else None
        step = self.duration(step_node) if step_node is not None else length
        return Window(stream, range=length, step=step, name=name, named=named)

    def _count_step(self, node: Node) -> int | None:
        tail = node.child("CountTail")
        return self.count(tail) if tail.token("INTEGER") is not None else None
