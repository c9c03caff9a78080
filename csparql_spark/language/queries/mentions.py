"""Mentions: where a text names its streams, graphs, rule sets and itself.

For those who find that something is not there, and want to say so at its place.

    mentions("ASK FROM STREAM <http://ex.org/s> [RANGE 5s] { ?s ?p ?o }")
    # [Mention('stream', 'http://ex.org/s', 16, 33)]
"""

from __future__ import annotations

from dataclasses import dataclass

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.queries.clauses import Clauses
from csparql_spark.language.queries.prologue import Names
from csparql_spark.language.queries.syntax import Node, read_tree
from csparql_spark.language.tokens import tokenize


@dataclass(frozen=True)
class Mention:
    """Characters that name a thing: a `stream`, a `graph` or `rules`, or are the `name` of the query."""

    role: str
    name: str
    start: int
    end: int


def mentions(text: str, base: str | None = None) -> list[Mention]:
    """The mentions of a text that parses, in its order."""
    tree = read_tree(tokenize(text))
    clauses = Clauses(text, Names(base), Diagnostics(text))
    for prologue in tree.nodes("Prologue"):
        clauses.declare(prologue)
    found: list[Mention] = []

    def mention(role: str, node: Node, name: str) -> None:
        found.append(Mention(role, name, node.start, node.end))

    for register in tree.nodes("Register"):
        mention("name", register.child("Name"), clauses.name(register.child("Name")))
    for datasets in tree.walk("Datasets"):
        for node in datasets.walk("Graph", "Stream"):
            mention(node.rule.lower(), node.child("Iri"), clauses.iri(node.child("Iri")))
        for node in datasets.walk("NamedWindow"):
            first, second = node.nodes("Iri")
            stream = first if node.token("AS") is not None else second
            mention("stream", stream, clauses.iri(stream))
    for node in tree.walk("Entailment"):
        for regime, name in zip(node.nodes("Regime"), clauses.entailment(node)):
            mention("rules", regime, name)
    return sorted(found, key=lambda one: one.start)
