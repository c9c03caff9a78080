"""`run --why`: why a triple holds, at each instant of a replay.

For example:

    csparql-spark run query.csparql --stream … --why '<http://ex.org/ann> <http://ex.org/isIn> <http://ex.org/rome>'
"""

from __future__ import annotations

import json

import click

from csparql_spark.answers.bindings import Result
from csparql_spark.asking.replay import Script
from csparql_spark.asking.why import as_json, reasons
from csparql_spark.entailment.evaluate.lookup import Triple
from csparql_spark.entailment.rules.regimes import rules_of
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.rule import visible


class Reasons:
    """Prints, in the place of each answer, the derivation of one triple."""

    def __init__(self, script: Script, triple: Triple, form: str) -> None:
        self._script, self._triple, self._form = script, triple, form
        self._rules = rules_of(script.query.entailment, script.rules)
        self._streams = {iri: chunk.take(chunk.t.argsort(kind="stable")) for iri, chunk in script.streams.items()}

    def __call__(self, name: str, at: int, answer: Result) -> None:
        found = reasons(
            self._script.query,
            self._rules,
            at,
            self._triple,
            lambda place: [self._holding(place, at)],
            self._script.background,
        )
        if self._form == "json":
            click.echo(json.dumps({"query": name, "at": at, **as_json(found)}, ensure_ascii=False))
        elif not found:
            click.echo(f"── at {at}: does not hold")
        for graph, derivation in found if self._form != "json" else ():
            click.echo(f"── at {at}{'' if graph is None else f', in <{graph}>'}:\n{derivation}")

    def _holding(self, place: int, at: int) -> Chunk:
        """What a window holds at an instant: in a recording nothing is late."""
        window = self._script.query.windows[place]
        elements = self._streams[window.stream]
        return elements.take(visible(window, elements.t, at))
