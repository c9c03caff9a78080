"""Texts made from the grammar: any order of what it allows, most of which nobody would write.

    generated(random.Random(7), longest=2000)       # 'PREFIX p: <http://ex.org/> REGISTER QUERY q AS SELECT ?a …'

What the language refuses for its meaning is mostly avoided: names that AS and BIND bind are new ones, a registration
has a stream, aggregates stand where there are groups. The longer a text, the surer it is that something of the kind is in
it all the same: what becomes longer than `longest` is given up while it is made.
"""

from __future__ import annotations

import contextlib
import random
from itertools import count

from csparql_spark.language.queries.grammar import RULES, Part

HEAD = "PREFIX p: <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
DEEPEST = 24  # rules that are open; beyond that, the shortest way out

WORDS = {
    "VAR": ("?a", "?b", "?c", "$d"),
    "IRIREF": ("<http://ex.org/a>", "<http://ex.org/b>", "<urn:x:\\u00e9>", "<rel>"),
    "PNAME_LN": ("p:a", "p:b", "p:with\\,comma", "xsd:integer", "p:%20"),
    "PNAME_NS": ("p:",),
    "STRING": ('"s"', "'it\\'s'", '"""two\nlines"""', '"\\u00e9\\t"', "''"),
    "LANGTAG": ("@en", "@de-AT"),
    "INTEGER": ("1", "01", "25"),
    "DECIMAL": ("1.5", ".5"),
    "DOUBLE": ("1e0", ".5E-3"),
    "SIGNED": ("-1", "+2.5", "-01", "-1e3"),
    "NIL": ("()", "( )"),
    "ANON": ("[]",),
    "END": ("",),
}
UNITS = {"Range": ("s", "m"), "Duration": ("s", "min")}
STREAM = "FROM STREAM <http://ex.org/s> [ RANGE 10s STEP 5s ]"
LONE = {"Name": "q", "Regime": "rdfs", "Range": "PT10S", "Duration": "PT5S"}


def generated(chance: random.Random, *, longest: int, rule: str = "Unit") -> str:
    """A text of a rule of the grammar, of at most `longest` characters."""
    while True:
        with contextlib.suppress(_TooLong):
            return HEAD + _Made(chance, longest - len(HEAD)).text(rule)


class _TooLong(Exception):
    pass


class _Made:
    def __init__(self, chance: random.Random, room: int) -> None:
        self._chance = chance
        self._room = room + 1  # no space stands before the first word
        self._numbers = count(1)
        self._words: list[str] = []
        self._rules: list[str] = []

    def text(self, rule: str) -> str:
        self._put(Part("rule", rule))
        return " ".join(self._words)

    def _say(self, word: str) -> None:
        self._room -= len(word) + 1
        if self._room < 0:
            raise _TooLong
        self._words.append(word)

    def _put(self, part: Part) -> None:
        match part.kind:
            case "token":
                self._say(self._word(part.name))
            case "rule":
                # Prologues and registrations are there or not; neither is of interest twice.
                if part.name == "Prologue":
                    return
                if part.name == "Datasets" and "REGISTER" in self._words:
                    self._say(STREAM)
                self._rules.append(part.name)
                self._put(RULES[part.name])
                self._rules.pop()
            case "sequence":
                for inner in part.parts:
                    self._put(inner)
            case "choice":
                self._put(self._chosen(part))
            case _:
                likely = 0.5 if len(self._rules) < DEEPEST else 0.03
                for _ in range(1 if part.kind == "optional" else 3):
                    if self._chance.random() > likely or not self._fits(part.parts[0]):
                        break
                    self._put(part.parts[0])

    def _chosen(self, part: Part) -> Part:
        options = [option for option in part.parts if self._fits(option)]
        if len(self._rules) > DEEPEST:
            options = [option for option in options if option.kind == "token" or option.name in _LEAVES] or options
        return self._chance.choice(options)

    def _fits(self, part: Part) -> bool:
        """Whether a rule has a good chance to mean something here."""
        match part.name:
            case "Aggregate" | "WindowBlock" | "Timestamp" | "GroupBy" | "Having" | "Output":
                return self._chance.random() < 0.05
            case "Set":
                places = [rule for rule in self._rules if rule in ("Projection", "Having", "OrderBy", "Group", "Set")]
                return bool(places) and places[-1] not in ("Group", "Set") and self._chance.random() < 0.2
        return True

    def _word(self, name: str) -> str:
        rule = self._rules[-1] if self._rules else ""
        if name == "VAR" and self._words and self._words[-1] == "AS":
            return f"?n{next(self._numbers)}"
        if name == "BLANK":
            return f"_:l{next(self._numbers)}"
        if name == "WORD":
            return self._chance.choice(UNITS[rule]) if self._words[-1].isdigit() else LONE[rule]
        if name == "MISSING_CARETS":
            return "^^" if rule == "Literal" else ""
        if name == "IRIREF" and self._words and self._words[-1] in ("PREFIX", "BASE"):
            return "<http://ex.org/>"
        return self._chance.choice(WORDS[name]) if name in WORDS else name


_LEAVES = frozenset("Iri Literal PlainLiteral Number Boolean VarOrTerm VarOrPlainTerm VarOrIri".split())
