"""The clauses that are not SPARQL: REGISTER, COMPUTE EVERY, FROM, windows, entailment.

Each function reads one kind of node. What a node says wrongly goes to the problems, and the rest is read on, so that
the leftmost problem of the whole text can be found.
"""

from __future__ import annotations

from csparql_spark.language.durations import DurationProblem, iso_milliseconds, milliseconds
from csparql_spark.language.problems import Problems
from csparql_spark.language.prologue import NameProblem, Names
from csparql_spark.language.query import Window
from csparql_spark.language.syntax import Node

MOST_ELEMENTS = 10**9


class Clauses:
    """Reads clause nodes of one text, with the names declared in its prologue."""

    def __init__(self, text: str, names: Names, problems: Problems) -> None:
        self.text = text
        self.names = names
        self.problems = problems

    def iri(self, node: Node) -> str:
        """The absolute IRI of an `Iri` node."""
        token = node.children[0]
        try:
            if token.kind == "IRIREF":
                return self.names.resolve(token.text[1:-1])
            return self.names.expand(token.text)
        except NameProblem as problem:
            self.problems.add(token.start, token.end, problem.code, problem.message, hint=problem.hint)
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
                    self.names.declare(node.tokens()[1].text[:-1], reference.text[1:-1])
            except NameProblem as problem:
                self.problems.add(
                    reference.start, reference.end, problem.code, problem.message, hint=problem.hint
                )

    def name(self, node: Node) -> str:
        """The name of a query: a word as it is written, or an absolute IRI."""
        iri = node.node("Iri")
        if iri is not None:
            return self.iri(iri)
        words = node.tokens()
        if len(words) == 2 and words[0].end != words[1].start:
            self.problems.add(
                words[1].start,
                words[1].end,
                "missing-as",
                f'Found "{words[1].text}" where AS was expected.',
                expected="AS",
                hint="The name of a query is one word.",
            )
        return "".join(word.text for word in words)

    def entailment(self, node: Node) -> list[str]:
        """The regimes of an `Entailment` node: names as written, IRIs absolute."""
        regimes: list[str] = []
        for regime in node.nodes("Regime"):
            iri = regime.node("Iri")
            regimes.append(self.iri(iri) if iri is not None else regime.tokens()[0].text)
        return regimes

    def duration(self, node: Node) -> int:
        """The milliseconds of a `Duration` node, or of the number and unit that a `Range` begins with."""
        words = node.tokens("INTEGER") + [word for word in node.tokens() if word.kind == "WORD"]
        first, last = words[0], words[-1]
        try:
            if first is last:
                return iso_milliseconds(first.text)
            return milliseconds(first.text, last.text)
        except DurationProblem as problem:
            start = last.start if problem.code == "bad-unit" else first.start
            self.problems.add(start, last.end, problem.code, problem.message, hint=problem.hint)
            return 1

    def count(self, node: Node) -> int:
        """The first number of a `Triples`, `Elements` or `CountTail` node."""
        number = node.token("INTEGER")
        digits = number.text.lstrip("0")
        if not digits:
            self.problems.add(
                number.start,
                number.end,
                "zero-count",
                "A window of no elements sees nothing.",
                hint="Write at least 1.",
            )
            return 1
        if len(digits) > 10 or int(digits) > MOST_ELEMENTS:
            self.problems.add(
                number.start, number.end, "bad-count", "This window is too large.", hint="10^9 is the most."
            )
            return 1
        return int(digits)

    def window(self, node: Node, stream: str, name: str | None, named: bool) -> Window:
        """The window of a `Window` node."""
        extent = node.node("Extent")
        elements = extent.node("Elements")
        if elements is not None:
            size, step = self.count(elements), self._count_step(elements)
            return Window(stream, elements=size, elements_step=step or size, name=name, named=named)
        triples = extent.node("Triples") or extent.node("Range")
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
        tail = node.node("CountTail")
        return self.count(tail) if tail.token("INTEGER") is not None else None
