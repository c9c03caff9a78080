"""Rule sets: what follows from what. Queries name them with USING ENTAILMENT.

    GET    /rules              those of the server, and those that users brought, with what there is to warn of
    PUT    /rules/lab          a rule file in Jena's syntax                  201; 200 if there was one
    GET    /rules/lab          the text, as it was sent
    DELETE /rules/lab          204; 409 while a query uses it

A rule file is checked whole before it is logged, in a guarded child (see `asking.guarded.texts`). A change is seen at
the next instant of the queries that use the set. The names of the server's own sets, and what else stands for them, are
taken.
"""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from flask import Blueprint, Response, request

from csparql_spark.answers.limits import TooMuch
from csparql_spark.asking.guarded.texts import FileSummary, Texts
from csparql_spark.asking.log_view import Current
from csparql_spark.entailment.rules.regimes import W3C
from csparql_spark.entailment.rules.sets import NAMES, text_of
from csparql_spark.language import LanguageError, parse_rules
from csparql_spark.language.rules.terms import RULE_SETS
from csparql_spark.log import Refused
from csparql_spark.log.contents import RulesSet, draft_of
from csparql_spark.log.guards import Every, IsSet, Unchanged, Unread
from csparql_spark.server.dependents import asked_of, readers
from csparql_spark.server.http import bodies
from csparql_spark.server.http.problems import Problem, of_language
from csparql_spark.server.quotas import room, tell_if_full
from csparql_spark.server.settings import Settings
from csparql_spark.server.stores import Stores
from csparql_spark.store.registry import KnowledgeRecord

KIND: Final = "rules"
TEXT_TYPES = ("text/plain", "application/x-jena-rules")
TAKEN = {name.lower() for name in (*NAMES, *RULE_SETS)}


class RuleSetBody(TypedDict):
    """What there is to say of a rule set."""

    name: str
    url: str
    built_in: bool
    rules: int
    changed: int | None
    warnings: NotRequired[list[str]]


class RuleStore:
    """The rule sets that users brought, as entries of the log make them, and how all are described."""

    def __init__(self, stores: Stores, texts: Texts) -> None:
        self._names, self._registry, self._log = stores.names, stores.registry, stores.log
        self._texts = texts
        self._warnings: dict[str, tuple[int, list[str]]] = {}  # and the entries that they are of

    def described(self, rules: KnowledgeRecord) -> RuleSetBody:
        return {**self.body(rules.name, rules.rows), "changed": rules.changed}

    def listed(self, rules: KnowledgeRecord) -> RuleSetBody:
        return {**self.described(rules), "warnings": self._warnings_of(rules)}

    def _warnings_of(self, rules: KnowledgeRecord) -> list[str]:
        """What there is to say of a rule file that was let in."""
        remembered = self._warnings.get(rules.name)
        if remembered is not None and remembered[0] == rules.id:
            return remembered[1]
        id, text = self.current(rules.name)
        if id is None or text is None:
            return []
        try:
            warnings = self._texts.remarks(text)[0]
        except (LanguageError, TooMuch) as error:
            warnings = [str(error)]
        self._warnings[rules.name] = id, warnings
        return warnings

    def built_in(self, name: str) -> RuleSetBody:
        return {**self.body(name, len(parse_rules(text_of(name)).rules)), "warnings": []}

    def body(self, name: str, count: int) -> RuleSetBody:
        return {
            "name": name,
            "url": self._names.rules_url(name),
            "built_in": is_built_in(name),
            "rules": count,
            "changed": None,
        }

    def unknown(self, name: str) -> Problem:
        there = ", ".join([*NAMES, *(rules.name for rules in self._registry.settings(KIND))])
        return Problem(
            "unknown-rules",
            f"There is no rule set {name}: there are {there}. Bring it with PUT {self._names.rules_url(name)}.",
            rules=name,
        )

    def current(self, name: str) -> tuple[int | None, str | None]:
        """The place of the entry that set the rule set, and its text; nothing, if there is no such set, and no text
        if that is damaged."""
        entry = self._log.last_as_is(name, KIND, self._log.tail())
        if entry is not None and entry.damage is not None:
            return entry.seq, None
        return (None, None) if entry is None or entry.payload is None else (entry.seq, entry.payload.decode())


def routes(settings: Settings, stores: Stores, texts: Texts) -> Blueprint:
    blueprint = Blueprint("rules", __name__)
    sets = RuleStore(stores, texts)
    names, registry, log, writer = stores.names, stores.registry, stores.log, stores.writer

    @blueprint.get("/rules")
    def list_rules() -> dict[str, list[RuleSetBody]]:
        return {"rules": [*map(sets.built_in, NAMES), *map(sets.listed, registry.settings(KIND))]}

    @blueprint.put("/rules/<name:name>")
    def put_rules(name: str) -> tuple[RuleSetBody, int, dict[str, str]]:
        refuse_built_in(name)
        text = bodies.declared(request, settings.query_limit, TEXT_TYPES, "The rule file")
        refuse_empty(text)
        file = checked(stores, texts, name, text)
        headers = {"Location": names.rules_url(name)}
        warnings = list(file.warnings)
        while True:
            id, before = sets.current(name)
            if before == text and (rules := registry.setting(KIND, name)) is not None and rules.id == id:
                return {**sets.described(rules), "warnings": warnings}, 200, headers
            try:
                guards = [Unchanged(KIND, name, id), *([room(settings, KIND)] if id is None else [])]
                entry = writer.append(draft_of(RulesSet(text, file.rules), name), Every(tuple(guards)))
            except Refused as refused:
                tell_if_full(refused)
                continue  # somebody else was faster: the newest counts
            made = KnowledgeRecord(entry.seq, KIND, name, entry.at, file.rules)
            return {**sets.described(made), "warnings": warnings}, 201 if id is None else 200, headers

    @blueprint.get("/rules/<name:name>")
    def read_rules(name: str) -> Response:
        text = text_of(RULE_SETS.get(name, name)) if is_built_in(name) else sets.current(name)[1]
        if text is None:
            log.last(name, KIND, log.tail())  # raises, if it is there and damaged
            raise sets.unknown(name)
        return Response(text, headers={"Cache-Control": "no-store"}, content_type="text/plain; charset=utf-8")

    @blueprint.delete("/rules/<name:name>")
    def delete_rules(name: str) -> tuple[str, int]:
        refuse_built_in(name)
        try:
            writer.append(draft_of(RulesSet(None), name), Every((IsSet(KIND, name), Unread("rules", (name,)))))
        except Refused as refused:
            if isinstance(refused.guard, Unread):
                raise Problem(
                    "rules-in-use",
                    f"The rule set {name} is used by {readers(refused)}.",
                    rules=name,
                    queries=list(refused.readers),
                ) from None
            raise sets.unknown(name) from None
        return "", 204

    return blueprint


def checked(stores: Stores, texts: Texts, name: str, text: str) -> FileSummary:
    """What `checked_rules` says, for who sets it. Raises `Problem` for what is no rule file."""
    try:
        return checked_rules(stores, texts, name, text)
    except LanguageError as error:
        raise of_language(error, "bad-rules") from None


def refuse_empty(text: str) -> None:
    if not text:
        raise Problem(
            "empty-body",
            "Nothing came: send the rule file as the body of the request. A rule set without rules is a file with "
            "a comment (# and some words); to be rid of one, DELETE it.",
        )


def checked_rules(stores: Stores, texts: Texts, name: str, text: str) -> FileSummary:
    """What there is to say of a rule file, if it could be set under that name now. Raises `LanguageError` and
    `Refusal`."""
    others = Current(stores.log, stores.registry).rules()
    others.pop(name, None)
    used = {
        asked.entailment
        # Nobody can use it before it is there.
        for query in (stores.registry.queries() if stores.registry.setting(KIND, name) is not None else ())
        if (asked := asked_of(query)) is not None and name in asked.entailment
    }
    return texts.rule_file(name, text, others, used)


def is_built_in(name: str) -> bool:
    return name in NAMES or name in RULE_SETS


def refuse_built_in(name: str) -> None:
    if name.lower() in TAKEN or name.startswith(W3C):
        raise Problem(
            "built-in-rules",
            f"The name {name} stands for a rule set of the server, which stays as it is: "
            "use another name, and @include this one if you want to add to it.",
            rules=name,
        )
