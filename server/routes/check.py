"""Checking: what is wrong with a text, told without doing anything, for editors.

    POST /check                          the text of a query            {"ok": false, "errors": [{"line": 3, …}], …}
    POST /check?kind=question            what /sparql is to be asked
    POST /check?kind=rules&name=lab      the text of a rule file
    POST /check?name=HotRooms            as PUT /queries/HotRooms would say it, also with If-Match

The checks are those of a registration, so what is `ok` would be registered now, and texts are read in guarded children,
as there (see `asking.guarded.texts`). A response is 200 whatever is found.
Each error has a place (line and column from 1, in characters), a `hint`, and where it is plain what to write instead a
`fix`: a replacement of some characters, after which that error is gone.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from heapq import nlargest
from typing import NotRequired, TypedDict, cast

from flask import Blueprint, request

from csparql_spark.answers.limits import TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.guarded.texts import QuerySummary, Texts
from csparql_spark.entailment.rules.regimes import known
from csparql_spark.entailment.rules.sets import NAMES, RuleSetError
from csparql_spark.language import LanguageError
from csparql_spark.language.errors import Fix, Lines
from csparql_spark.language.queries.mentions import Mention
from csparql_spark.server.dependents import streams_of
from csparql_spark.server.http import bodies, names
from csparql_spark.server.http.conditions import asked_condition
from csparql_spark.server.http.problems import FixBody, Problem, fix_body, of_excess, sentence
from csparql_spark.server.routes.description import WindowBody, window_body
from csparql_spark.server.routes.registration import Admission, asks_the_same
from csparql_spark.server.routes.rules import checked_rules, refuse_built_in, refuse_empty
from csparql_spark.server.routes.vocabulary import prefixes_of
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources import derived
from csparql_spark.server.stores import Stores

TEXT_TYPES = ("text/plain", "application/sparql-query", "application/x-jena-rules")
KINDS = ("query", "question", "rules")
UNNAMED = "unnamed"
MOST_MISTAKES = 20  # of names that are not there, that are told at once
MOST_MEANT = 3  # of them for which one is looked for that is meant
MOST_COMPARED, LONGEST_COMPARED = 10, 300  # names that are looked at for one that is meant, and their characters
_WARNING = re.compile(r"line (\d+), column (\d+): (.*)", re.DOTALL)


class PlaceBody(TypedDict):
    """Lines and columns from 1, in characters; the end is the place after the last one."""

    line: int
    column: int
    endLine: int
    endColumn: int


class MistakeBody(PlaceBody):
    """A mistake, where it is, and what to do."""

    message: str
    hint: str | None
    code: str
    fix: FixBody | None


class QueryWarningBody(TypedDict):
    message: str
    line: NotRequired[int]
    column: NotRequired[int]


class SubjectBody(TypedDict, total=False):
    """What the text is about. `rules` is how many a rule file has."""

    name: str | None
    form: str | None
    streams: list[str]
    windows: list[WindowBody]
    rules: int


class CheckBody(SubjectBody):
    """What was found in a text."""

    ok: bool
    kind: str
    warnings: list[QueryWarningBody]
    errors: list[MistakeBody]


def routes(settings: Settings, stores: Stores, texts: Texts) -> Blueprint:
    blueprint = Blueprint("check", __name__)

    @blueprint.post("/check")
    def check() -> CheckBody:
        kind = request.args.get("kind", "query")
        if kind not in KINDS:
            raise Problem("bad-setting", f"kind={kind[:100]} cannot be checked: write query, question or rules.")
        name = names.decoded(request.args["name"]) if request.args.get("name") else None
        text = bodies.declared(request, settings.query_limit, TEXT_TYPES, "The text")
        checker = Checker(settings, stores, texts)
        try:
            if kind == "question":
                return checker.question(text)
            return checker.query(name, text) if kind == "query" else checker.rules(name, text)
        except LanguageError as error:
            return outcome(kind, errors=[language_mistake(stores, text, error)])
        except TooMuch as error:
            return outcome(kind, errors=[at_start(of_excess(error))])

    return blueprint


class Checker:
    """Checks texts. Raises `LanguageError`, and `TooMuch` for those that cannot be read within the limits."""

    def __init__(self, settings: Settings, stores: Stores, texts: Texts) -> None:
        self._stores, self._texts = stores, texts
        self._admission = Admission(settings, stores, texts)
        self._base = f"{stores.names.base}/"

    def query(self, name: str | None, text: str) -> CheckBody:
        reading = self._texts.read(text, self._base)
        asked = reading.query
        subject: SubjectBody = {
            "name": asked.name,
            "form": asked.form,
            "streams": list(streams_of(asked)),
            "windows": [window_body(window) for window in asked.windows],
        }
        errors = unknown(self._stores, text, reading) or self._taken(name or asked.name, text, reading)
        if not errors:
            try:
                self._admission.let_in(name or asked.name or UNNAMED, reading)
            except (Refusal, Problem) as refused:
                errors = [refused_mistake(text, reading, refused)]
        return outcome(asked.kind, asked.warnings, errors, subject)

    def question(self, text: str) -> CheckBody:
        """A question that is asked once: of a graph that is not there nothing is known, and that is no mistake."""
        reading = self._texts.read(text, self._base)
        asked = reading.query
        errors = [mistake for mistake in unknown(self._stores, text, reading) if mistake["code"] != "unknown-graph"]
        if not errors and (asked.name is not None or asked.output != "RSTREAM"):
            errors = [
                named(
                    text,
                    reading,
                    "refused",
                    "A question that is asked once has no name, and no ISTREAM or DSTREAM.",
                    "Leave REGISTER … AS out.",
                )
            ]
        return outcome("question", asked.warnings, errors, {"form": asked.form, "streams": list(streams_of(asked))})

    def rules(self, name: str | None, text: str) -> CheckBody:
        try:
            if name is not None:
                refuse_built_in(name)
            refuse_empty(text)
            file = checked_rules(self._stores, self._texts, name or UNNAMED, text)
        except (Refusal, Problem) as refused:
            return outcome("rules", errors=[at_start(refused)])
        return outcome("rules", file.warnings, subject={"name": name, "rules": file.rules})

    def _taken(self, name: str | None, text: str, reading: QuerySummary) -> list[MistakeBody]:
        """The name, if something else has it."""
        if name is None:
            return []
        registry = self._stores.registry
        live = registry.query(name)
        if live is not None:
            if live.text == text and asks_the_same(self._texts, live, self._base):
                return []
            condition = asked_condition()
            try:
                condition.refuse(live, name)
            except Problem as problem:
                return [named(text, reading, problem.code, str(problem), "Load what it asks for now.")]
            if not condition.replaces:
                sentence, hint = (
                    f"The query {name} is registered and asks for something else.",
                    "Use another name, or replace it.",
                )
                return [named(text, reading, "query-exists", sentence, hint)]
        stream = registry.stream(self._stores.names.stream_iri(name)) if reading.query.kind == "stream" else None
        if stream is not None and stream.producer != name:
            return [
                named(
                    text,
                    reading,
                    "stream-exists",
                    f"The query would make the stream <{stream.iri}>, and there is one already.",
                    "Use another name.",
                )
            ]
        return []


def outcome(
    kind: str,
    warnings: tuple[str, ...] = (),
    errors: list[MistakeBody] | None = None,
    subject: SubjectBody | None = None,
) -> CheckBody:
    nothing: SubjectBody = {"name": None, "form": None, "streams": [], "windows": []}
    return {
        "ok": not errors,
        "kind": kind,
        **nothing,
        **(subject or {}),
        "warnings": [warning_body(warning) for warning in warnings],
        "errors": errors or [],
    }


def warning_body(warning: str) -> QueryWarningBody:
    match = _WARNING.fullmatch(warning)
    if match is None:
        return {"message": warning}
    return {"line": int(match[1]), "column": int(match[2]), "message": match[3]}


def language_mistake(stores: Stores, text: str, error: LanguageError) -> MistakeBody:
    """A mistake in the language; a prefix that is not declared may be one that other queries declare."""
    fix = error.fix
    if fix is None and error.code == "undeclared-prefix":
        prefix = error.offending.partition(":")[0]
        iri = prefixes_of(stores).get(prefix)
        if iri is not None:
            fix = Fix.declaring(text, prefix, iri)
    return {
        "line": error.line,
        "column": error.column,
        "endLine": error.line,
        "endColumn": error.end_column,
        "message": error.message,
        "hint": error.hint,
        "code": error.code,
        "fix": fix_body(fix),
    }


def unknown(stores: Stores, text: str, reading: QuerySummary) -> list[MistakeBody]:
    """The streams, graphs and rule sets that the query reads and that are not there, each where the text names it."""
    registry = stores.registry
    streams = derived.readable(registry).keys()
    graphs = {graph.name for graph in registry.settings("background")}
    rules = {*NAMES, *(rules.name for rules in registry.settings("rules"))}
    mistakes: list[MistakeBody] = []
    for mention in reading.mentions:
        if len(mistakes) == MOST_MISTAKES:
            break
        compared = len(mistakes) < MOST_MEANT
        if mention.role == "stream" and mention.name not in streams:
            mistakes.append(
                missing(
                    text,
                    mention,
                    "unknown-stream",
                    f"There is no stream <{mention.name}>.",
                    streams if compared else (),
                    "Create it first.",
                )
            )
        elif mention.role == "graph" and mention.name not in graphs:
            mistakes.append(
                missing(
                    text,
                    mention,
                    "unknown-graph",
                    f"There is no background graph <{mention.name}>.",
                    graphs if compared else (),
                    "Load it first.",
                )
            )
        elif mention.role == "rules" and ":" not in mention.name and not known_rules(mention.name, rules):
            mistakes.append(
                missing(
                    text,
                    mention,
                    "unknown-rules",
                    f"There is no rule set {mention.name}.",
                    rules if compared else (),
                    f"There are {', '.join(sorted(rules))}.",
                )
            )
    return mistakes


def known_rules(name: str, rules: set[str]) -> bool:
    try:
        known(name, rules)
    except RuleSetError:
        return False
    return True


def missing(
    text: str, mention: Mention, code: str, message: str, there: Collection[str], otherwise: str
) -> MistakeBody:
    """A thing that is not there; perhaps one of a similar name is meant."""
    close = similar(mention.name, there)
    fix = None
    if close:
        written = close[0] if mention.role == "rules" else f"<{close[0]}>"
        fix = Fix.replacing(text, mention.start, mention.end, written)
    return {
        **place(text, mention),
        "message": message,
        "hint": f"Did you mean {close[0]}?" if close else otherwise,
        "code": code,
        "fix": fix_body(fix),
    }


def similar(name: str, there: Collection[str]) -> list[str]:
    """The one of these names that is most like another, if one is. To compare two takes as long as their lengths
    multiplied: only those are compared that have most in common with it at their beginnings and ends."""

    def common(one: str) -> int:
        begin = alike(one, name)
        return begin + alike(one[begin:][::-1], name[begin:][::-1])

    if not there or len(name) > LONGEST_COMPARED:
        return []
    short = sorted(one for one in there if len(one) <= LONGEST_COMPARED)
    promising = nlargest(MOST_COMPARED, short, key=common)
    return get_close_matches(name, promising, n=1, cutoff=0.75)


def alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return next((place for place, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def refused_mistake(text: str, reading: QuerySummary, refused: Refusal | Problem) -> MistakeBody:
    """What was refused, at the place that it is about, as far as that is known."""
    if refused.code in ("name-mismatch", "cycle"):
        return named(text, reading, refused.code, sentence(str(refused)), None)
    return at_start(refused)


def at_start(refused: Refusal | Problem) -> MistakeBody:
    errors = refused.members.get("errors") if isinstance(refused, Problem) else None
    if isinstance(errors, list) and errors:
        # The errors of a problem document have a place and a message at least.
        return cast(MistakeBody, {"hint": None, "fix": None, "code": refused.code, **errors[0]})
    return {
        "line": 1,
        "column": 1,
        "endLine": 1,
        "endColumn": 2,
        "message": sentence(str(refused)),
        "hint": None,
        "code": refused.code,
        "fix": None,
    }


def named(text: str, reading: QuerySummary, code: str, message: str, hint: str | None) -> MistakeBody:
    """A mistake about the query's name, where the text has it."""
    where = next((mention for mention in reading.mentions if mention.role == "name"), Mention("name", "", 0, 1))
    return {**place(text, where), "message": message, "hint": hint, "code": code, "fix": None}


def place(text: str, mention: Mention) -> PlaceBody:
    lines = Lines(text)
    (line, column), (end_line, end_column) = lines.locate(mention.start), lines.locate(mention.end)
    return {"line": line, "column": column, "endLine": end_line, "endColumn": end_column}
