"""What people get wrong in the shape of a rule, and the sentence that helps.

Every syntax error is first the plain sentence "found this where that was expected". The traps know more: they look at
the token that fits nowhere, at its neighbours and at the part of the file that is open. They are tried in order; the
first that recognises its mistake speaks.

    [r: (?x ex:p ?y) => (?y ex:p ?x)]       ->  Found "=>" where an arrow was expected. Write ->.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from csparql_spark.language.diagnostics import Diagnostic
from csparql_spark.language.errors import Lines
from csparql_spark.language.queries.expectations import found_words
from csparql_spark.language.queries.scene import Scene
from csparql_spark.language.queries.traps import trap_characters
from csparql_spark.language.rules.reading import CLOSING, IRIS, Unfit
from csparql_spark.language.rules.terms import RULE_SETS
from csparql_spark.language.tokens import Token

_DIRECTIVES = ("prefix", "include")
_NODES = ("VAR", "STRING", "NUMBER", "WORD", "BLANK", *IRIS)
_END_HINT = "A rule ends with . or stands in [ ]."


@dataclass(frozen=True)
class _Place:
    """The token that fits nowhere, among its neighbours."""

    text: str
    tokens: list[Token]
    unfit: Unfit

    @property
    def token(self) -> Token:
        return self.tokens[self.unfit.index]

    @property
    def part(self) -> str:
        return self.unfit.part

    @property
    def inside(self) -> bool:
        """Whether the token stands within the brackets of a clause."""
        return self.part in ("triple", "call", "type")

    def at(self, distance: int) -> Token:
        """The token so many places further, or the nearest one that is there."""
        return self.tokens[max(0, min(self.unfit.index + distance, len(self.tokens) - 1))]

    def problem(self, code: str, message: str, hint: str | None = None, token: Token | None = None) -> Diagnostic:
        token = token or self.token
        return Diagnostic(token.start, token.end, code, message, self.unfit.expected.rstrip(","), hint)

    def where(self, token: Token) -> str:
        line, column = Lines(self.text).locate(token.start)
        return f"line {line}, column {column}"

    def opened(self) -> list[Token]:
        """The brackets that are open before the token, within the rule."""
        start = self.token.start if self.unfit.draft is None else self.unfit.draft.start
        opened: list[Token] = []
        for token in self.tokens[: self.unfit.index]:
            if token.start < start:
                continue
            if token.key in CLOSING:
                opened.append(token)
            elif opened and token.key == CLOSING[opened[-1].key]:
                opened.pop()
        return opened


def rule_diagnostic(text: str, tokens: list[Token], unfit: Unfit) -> Diagnostic:
    """The problem for the token where the reading stopped."""
    place = _Place(text, tokens, unfit)
    for trap in _TRAPS:
        problem = trap(place)
        if problem is not None:
            return problem
    return place.problem("unexpected", f"Found {found_words(place.token)} where {unfit.expected} was expected.")


def _trap_size(place: _Place) -> Diagnostic | None:
    if place.part != "many":
        return None
    what = "arguments" if place.unfit.clause is not None else "clauses"
    return place.problem("too-large", f"Too many {what} stand before this in a row.", "Write several rules.")


def _trap_characters(place: _Place) -> Diagnostic | None:
    token = place.token
    if token.kind == "TOUCHING":
        message = "It is not clear whether this belongs to the name before it, or is a comment."
        hint = "Put a blank before a comment; a name with # or // is written <http://...>."
        sign = Token(token.kind, token.key, token.text[:1], token.start, token.start + 1 + token.text.startswith("//"))
        return place.problem("unclear-comment", message, hint, sign)
    if token.kind == "LONG_STRING":
        quote = token.text[0]
        message = "Strings in rules have one quote on each side."
        return place.problem("bad-string", message, f"Write {quote}text{quote}.")
    if token.text == "?":
        return place.problem("unexpected", "This variable has no name.", "Write ?name, without a blank.")
    if token.text == "$" and place.at(1).kind == "WORD":
        return place.problem("unexpected", "Variables in rules begin with ?.", f"Write ?{place.at(1).text[:40]}.")
    if token.text == "?" or (token.kind == "BAD" and place.at(-1).kind == "VAR" and place.at(-1).end == token.start):
        if token.text.isascii() and token.text.isprintable():
            message = f"The character {token.text} is no part of a variable's name."
            return place.problem("bad-character", message, "Use letters, digits and _.")
    if token.text == ";":
        return place.problem("bad-character", "Clauses are not separated by ;.", "Put a blank or a comma there.")
    wanted = frozenset({"IRIREF"}) if place.inside or place.part in _DIRECTIVES else frozenset()
    problem = trap_characters(Scene(place.text, place.tokens, place.unfit.index, wanted, ()))
    return problem and replace(problem, expected=place.unfit.expected.rstrip(","))


def _trap_arrow(place: _Place) -> Diagnostic | None:
    token, draft = place.token, place.unfit.draft
    if token.kind == "WRONG_ARROW":
        if token.text == ":-" or token.text[0] in "<\u2190\u21d0":
            return place.problem("bad-arrow", f'"{token.text}" is no arrow of rules.', "Write body -> head.")
        return place.problem("bad-arrow", f'"{token.text}" is no arrow of rules.', "Write ->.")
    if draft is None:
        return None
    if place.part == "right" and draft.arrow is not None and token.key in ("->", "<-"):
        message = f"Found a second arrow; the one of {place.where(draft.arrow)} belongs to the same rule."
        return place.problem("unexpected", message, "A rule ends with . or stands in [ ].")
    if place.part == "left" and (token.key in ("]", ".", "END", "[") or token.kind == "AT") and draft.left:
        if token.key in ("[", "END") and place.opened():
            return None
        return place.problem(
            "missing-arrow", "This rule has no ->.", "Write body -> head, or -> head for what is always true."
        )
    return None


def _trap_directive(place: _Place) -> Diagnostic | None:
    token = place.token
    if place.part == "file" and token.kind == "WORD" and token.text.lower() in ("prefix", "include", "base"):
        message = f"Directives begin with @, not with {token.text}."
        return place.problem("unexpected", message, "Write @prefix p: <...>.")
    if place.part == "file" and token.kind == "AT":
        lowered = token.text.lower()
        hint = f"Write {lowered}." if lowered in ("@prefix", "@include") else "There are @prefix and @include."
        return place.problem("unknown-directive", f"There is no directive {token.text[:40]}.", hint)
    if place.part == "prefix" and token.kind == "WORD" and place.at(-1).text == "@prefix":
        return place.problem(
            "unexpected",
            f"Found {found_words(token)} where a prefix was expected.",
            f"Write {token.text[:40]}: with a colon.",
        )
    if place.part == "include" and token.kind in ("WORD", "STRING"):
        name = token.text.strip("'\"")
        hint = f"Write <{name}>." if name in RULE_SETS else f"There are {', '.join(f'<{name}>' for name in RULE_SETS)}."
        return place.problem("unexpected", "The name of a rule set stands in angle brackets.", hint)
    return None


def _trap_brackets(place: _Place) -> Diagnostic | None:
    token, opened = place.token, place.opened()
    if token.key == "[" and place.part == "right" and _is_backward(place):
        message = "A rule within a rule (hybrid) is not read: rules here run forward."
        return place.problem("hybrid-rule", message, "Write one rule: both bodies, then -> and the inner head.")
    if token.key in (")", "]") and not opened:
        return place.problem("stray-bracket", f'There is nothing open that "{token.text}" could close.', "Remove it.")
    if not opened or (place.part == "triple" and token.key == ")"):
        return None
    last = opened[-1]
    closing = CLOSING[last.key]
    if token.key == "END":
        return place.problem(
            "open-bracket", f'The "{last.text}" of {place.where(last)} is not closed.', f"Add {closing}."
        )
    if token.key in ("[", "]", ".", "->", "<-") or token.kind == "AT" or (token.key == "(" and place.inside):
        if place.part == "right" and token.key == ".":
            return place.problem(
                "open-bracket",
                f'Found ".", but the "[" of {place.where(last)} is still open.',
                "A rule in brackets ends with ].",
            )
        if place.part == "left" and token.key == "[":
            return place.problem(
                "open-bracket",
                f'Found "[", but the "[" of {place.where(last)} is still open.',
                "Close that rule with ] first.",
            )
        if token.kind == "AT" and place.inside:
            return None
        found = found_words(token)
        return place.problem(
            "open-bracket",
            f'Found {found}, but the "{last.text}" of {place.where(last)} is still open.',
            f"Close it with {closing} first.",
        )
    return None


def _is_backward(place: _Place) -> bool:
    """Whether the bracket holds a rule whose arrow points to the left."""
    for token in place.tokens[place.unfit.index :]:
        if token.key in ("->", "]"):
            return False
        if token.key == "<-":
            return True
    return False


def _trap_triple(place: _Place) -> Diagnostic | None:
    clause, token = place.unfit.clause, place.token
    if place.part != "triple" or clause is None:
        return None
    if token.key == ")" and len(clause.nodes) < 3:
        message = f"A triple pattern has three nodes; this one has {len(clause.nodes)}."
        return place.problem("not-a-triple", message, "Write (subject predicate object).")
    called = token.kind == "WORD" and place.at(1).key == "("
    if len(clause.nodes) == 3 and not called and (token.kind in _NODES or token.key == "*"):
        return place.problem(
            "not-a-triple", "A triple pattern has three nodes; this is a fourth.", "Write (subject predicate object)."
        )
    return None


def _trap_node(place: _Place) -> Diagnostic | None:
    token, found = place.token, found_words(place.token)
    if token.kind == "BLANK" and place.inside:
        message = f"{token.text[:40]} is a blank node, which no rule can name."
        hint = "In a body write a variable; in a head make a name with uriConcat."
        return place.problem("blank-node", message, hint)
    if place.inside and token.kind == "WORD" and place.at(1).key == "(":
        message = f"{token.text[:40]}(...) is a functor; there are none here."
        return place.problem("functor", message, "Write a triple pattern for each of its parts.")
    if place.inside and token.kind == "WORD":
        if token.text == "a":
            return place.problem("unexpected", '"a" is no name in rules.', "Write rdf:type.")
        if token.text == "_":
            return place.problem("unexpected", '"_" is no name in rules.', "Write * for what does not matter.")
        name = token.text[:40]
        return place.problem(
            "unexpected",
            f"Found {found} where {place.unfit.expected} was expected.",
            f"Write ?{name}, ex:{name} or '{name}'.",
        )
    if place.part == "type" and place.unfit.expected == "^^":
        return place.problem("missing-carets", "Between a string and its datatype stands ^^.", "Write 'text'^^type.")
    if place.inside and token.kind == "AT" and place.at(-1).kind == "STRING":
        return place.problem("unexpected", "A language tag stands right behind its string.", "Remove the blank.")
    if place.inside and token.kind == "AT":
        return place.problem(
            "unexpected",
            f"Found {found} where {place.unfit.expected} was expected.",
            "Close the clause first, or remove it.",
        )
    return None


def _trap_clause(place: _Place) -> Diagnostic | None:
    token, after = place.token, place.at(1)
    found = f"Found {found_words(token)} where {place.unfit.expected} was expected."
    if place.part not in ("left", "right", "file"):
        return None
    if token.kind == "PNAME" and after.key == "(":
        name, _, call = token.text.partition(":")
        return place.problem("unexpected", found, f"Put a blank behind {name[:40]}: if {call[:40]} is a builtin.")
    if token.kind == "WORD" and after.kind in ("WORD", "PREFIX"):
        return place.problem("unexpected", found, "The name of a rule has no blanks.")
    if token.kind in ("VAR", "STRING", "NUMBER", "WORD", *IRIS):
        if place.part == "right" and token.kind in ("PREFIX", "WORD"):
            return place.problem("missing-end", found, _END_HINT)
        return place.problem("unexpected", found, "A clause is (subject predicate object) or builtin(...).")
    if place.part == "right" and (token.key in ("END", "[") or token.kind == "AT"):
        return place.problem("missing-end", found, _END_HINT)
    return None


_TRAPS: tuple[Callable[[_Place], Diagnostic | None], ...] = (
    _trap_size,
    _trap_characters,
    _trap_arrow,
    _trap_directive,
    _trap_triple,
    _trap_node,
    _trap_brackets,
    _trap_clause,
)
