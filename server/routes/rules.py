"""Rule sets: what follows from what. Queries name them with USING ENTAILMENT.

    GET    /rules              those of the server, and those that users brought, with what there is to warn of
    PUT    /rules/lab          a rule file in Jena's syntax                  201; 200 if there was one
    GET    /rules/lab          the text, as it was sent
    DELETE /rules/lab          204; 409 while a query uses it

A rule file is checked whole before it is logged. A change is seen at the next instant of the queries that use the set.
The names of the server's own sets, and what else stands for them, are taken.
"""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from flask import Blueprint, Response, request

from csparql_spark.asking.admission import check_rules, check_together
from csparql_spark.asking.log_view import Current
from csparql_spark.entailment.rules.regimes import W3C, stored
from csparql_spark.entailment.rules.sets import NAMES, text_of
from csparql_spark.language import LanguageError, RuleFile, parse_rules
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

    def __init__(self, stores: Stores) -> None:
        self._names, self._registry, self._log = stores.names, stores.registry, stores.log

    def described(self, rules: KnowledgeRecord) -> RuleSetBody:
        return {**self.body(rules.name, rules.rows), "changed": rules.changed}

    def listed(self, rules: KnowledgeRecord) -> RuleSetBody:
        return {**self.described(rules), "warnings": warnings_of(self.current(rules.name)[1])}

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


def routes(settings: Settings, stores: Stores) -> Blueprint:
    blueprint = Blueprint("rules", __name__)
    sets = RuleStore(stores)
    names, registry, log, writer = stores.names, stores.registry, stores.log, stores.writer

    @blueprint.get("/rules")
    def list_rules() -> dict[str, list[RuleSetBody]]:
        return {"rules": [*map(sets.built_in, NAMES), *map(sets.listed, registry.settings(KIND))]}

    @blueprint.put("/rules/<name:name>")
    def put_rules(name: str) -> tuple[RuleSetBody, int, dict[str, str]]:
        refuse_built_in(name)
        text = bodies.declared(request, settings.query_limit, TEXT_TYPES, "The rule file")
        file = checked(stores, name, text)
        headers = {"Location": names.rules_url(name)}
        warnings = list(file.warnings)
        while True:
            id, before = sets.current(name)
            if before == text and (rules := registry.setting(KIND, name)) is not None and rules.id == id:
                return {**sets.described(rules), "warnings": warnings}, 200, headers
            try:
                guards = [Unchanged(KIND, name, id), *([room(settings, KIND)] if id is None else [])]
                entry = writer.append(draft_of(RulesSet(text, len(file.rules)), name), Every(tuple(guards)))
            except Refused as refused:
                tell_if_full(refused)
                continue  # somebody else was faster: the newest counts
            made = KnowledgeRecord(entry.seq, KIND, name, entry.at, len(file.rules))
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


def checked(stores: Stores, name: str, text: str) -> RuleFile:
    """What `checked_rules` says, for who sets it. Raises `Problem` for what is no rule file."""
    try:
        return checked_rules(stores, name, text)
    except LanguageError as error:
        raise of_language(error, "bad-rules") from None


def checked_rules(stores: Stores, name: str, text: str) -> RuleFile:
    """The rule file, if it could be set under that name now. Raises `LanguageError` and `Refusal`."""
    others = Current(stores.log, stores.registry).rules()
    others.pop(name, None)
    file = check_rules(name, text, others)
    if stores.registry.setting(KIND, name) is None:
        return file  # nobody can use it yet
    used = {
        asked.entailment
        for query in stores.registry.queries()
        if (asked := asked_of(query)) is not None and name in asked.entailment
    }
    for entailment in sorted(used):
        check_together(entailment, {**others, name: text})
    return file


def warnings_of(text: str | None) -> list[str]:
    """What there is to say of a rule file that was let in."""
    try:
        return [] if text is None else list(stored(text).warnings)
    except LanguageError as error:
        return [str(error)]


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
