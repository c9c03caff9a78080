"""`run --why`: why a triple holds, at each instant of a replay.

    csparql-spark run query.csparql --stream … --why '<http://ex.org/ann> <http://ex.org/isIn> <http://ex.org/rome>'
"""

from __future__ import annotations

import json

import click

from csparql_spark.answers.bindings import Answer
from csparql_spark.entailment.naive import Triple
from csparql_spark.entailment.regimes import rules_of
from csparql_spark.pipeline.replay import Script
from csparql_spark.pipeline.why import as_tree, facts_of, why


class Reasons:
    """Prints, in the place of each answer, the derivation of one triple."""

    def __init__(self, script: Script, triple: Triple, form: str) -> None:
        self._script, self._triple, self._form = script, triple, form
        self._rules = rules_of(script.query.entailment, script.rules)

    def __call__(self, name: str, at: int, answer: Answer) -> None:
        streams = {iri: [chunk.take(chunk.t.argsort(kind="stable"))] for iri, chunk in self._script.streams.items()}
        facts = facts_of(self._script.query, at, streams, self._script.background)
        derivation = why(self._rules, facts, self._triple)
        if self._form == "json":
            told = None if derivation is None else as_tree(derivation)
            click.echo(json.dumps({"query": name, "at": at, "why": told}, ensure_ascii=False))
        elif derivation is None:
            click.echo(f"── at {at}: does not hold")
        else:
            click.echo(f"── at {at}:\n{derivation}")
