"""Admission: which continuous queries are let in.

A query is admitted when it parses, reads streams and graphs that exist, and can be answered.

    admit("REGISTER QUERY q AS SELECT …", base="http://127.0.0.1:8000/", streams={"http://…/temp"})
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from csparql_spark.answers.plan import Unsupported, plan
from csparql_spark.entailment.evaluate.program import Program
from csparql_spark.entailment.maintain.strategies import AUTO, refusal
from csparql_spark.entailment.rules.regimes import known, rules_of
from csparql_spark.entailment.rules.safety import UnsafeRules
from csparql_spark.entailment.rules.sets import RuleSetError
from csparql_spark.language import ContinuousQuery, LanguageError, RuleFile, parse_rules
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.dictionary import TermDictionary


class Refusal(Exception):
    """A query that is well formed and not let in: `code` for programs, the text for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_rules(name: str, text: str, others: Mapping[str, str]) -> RuleFile:
    """The rule file of a text that is to be known as `name`. `others` are the users' rule sets, by name. Raises
    `LanguageError` when it does not parse, and `Refusal`."""
    file = parse_rules(text)
    try:
        Program(rules_of((name,), {**others, name: text}), TermDictionary())
    except (RuleSetError, UnsafeRules) as error:
        raise Refusal("bad-rules", str(error)) from error
    return file


def check_together(names: Collection[str], texts: Mapping[str, str]) -> None:
    """Refuse rule sets that were let in one by one, and have no meaning under one query: rules of one may feed those of
    another for ever. `texts` are the users' rule sets, by name. Raises `Refusal`."""
    if len(names) < 2 or not any(name in texts for name in names):
        return
    try:
        Program(rules_of(names, texts), TermDictionary())
    except UnsafeRules as error:
        raise Refusal("bad-rules", f"the rule sets {', '.join(names)} cannot be used together: {error}") from error


def check_maintained(names: Collection[str], texts: Mapping[str, str], maintenance: str) -> None:
    """Refuse rule sets whose closures the strategy that is asked for cannot maintain. A rule set that cannot be read
    any more is no matter of its strategy: the engine fails the query. Raises `Refusal`."""
    if not names or maintenance == AUTO:
        return
    try:
        because = refusal(maintenance, rules_of(names, texts))
    except (LanguageError, RuleSetError):
        return
    if because is not None:
        raise Refusal("not-supported", f"{because}: set maintenance to another strategy, or to {AUTO}")


def admit(
    text: str, *, base: str | None, streams: Collection[str], graphs: Collection[str] = (), rules: Collection[str] = ()
) -> ContinuousQuery:
    """The query of the text. Raises `LanguageError` when it does not parse, and `Refusal`."""
    query = read(text, base)
    refuse_unanswerable(query)
    refuse_missing(query, streams=streams, graphs=graphs, rules=rules)
    return query


def refuse_unanswerable(query: ContinuousQuery) -> None:
    """Refuse what cannot be registered, whatever there is. Raises `Refusal`."""
    if not query.windows:
        raise Refusal("no-stream", "the query reads no stream: add FROM STREAM <…> [RANGE … STEP …] before WHERE")
    try:
        plan(query)
    except Unsupported as error:
        raise Refusal("not-supported", str(error)) from error


def refuse_missing(
    query: ContinuousQuery, *, streams: Collection[str], graphs: Collection[str] = (), rules: Collection[str] = ()
) -> None:
    """Refuse a query that reads what is not there; that takes no more than to look things up. Raises `Refusal`."""
    for window in query.windows:
        if window.stream not in streams:
            raise Refusal(
                "unknown-stream",
                f"there is no stream <{window.stream}>: create it first with PUT /streams/{{name or encoded IRI}}",
            )
    if query.kind == "query" and query.form == "ASK" and query.output != "RSTREAM":
        raise Refusal(
            "not-supported",
            f"{query.output} tells which rows are new or have ceased, and ASK has none: "
            "leave it out, or SELECT what the question is about",
        )
    for name in query.entailment:
        try:
            known(name, rules)
        except RuleSetError as error:
            raise Refusal("unknown-rules", str(error)) from error
    for graph in (*query.graphs, *query.named_graphs):
        if graph not in graphs:
            raise Refusal(
                "unknown-graph",
                f"there is no background graph <{graph}>: load it first with "
                "PUT /graphs?graph={encoded IRI}, or give it to `csparql-spark run` with --background",
            )
    _check_names(query)


def _check_names(query: ContinuousQuery) -> None:
    """Refuse two things of one name: one of them would hide the other."""
    for window in query.windows:
        if window.stream in (*query.graphs, *query.named_graphs):
            raise Refusal(
                "not-supported",
                f"<{window.stream}> is read both as a stream and as a background graph: put "
                "one of them under another IRI",
            )
        if window.name in query.named_graphs:
            raise Refusal(
                "not-supported",
                f"<{window.name}> names both a window and a graph of FROM NAMED: give the window another name",
            )
