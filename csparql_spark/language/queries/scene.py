"""The place of a syntax error: the token that fits nowhere, its neighbours, and the rules that were open.

What is asked of it:

    scene.token, scene.before(), scene.after()      the words
    scene.inside("Window")                          whether a rule is open
    scene.problem(code, message, hint)              the problem to report, at the token unless told otherwise
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from csparql_spark.language.diagnostics import Diagnostic
from csparql_spark.language.errors import Fix
from csparql_spark.language.queries.expectations import expected_words
from csparql_spark.language.queries.grammar import KEYWORDS
from csparql_spark.language.tokens import Token


@dataclass(frozen=True)
class Scene:
    """The place of a syntax error."""

    text: str
    tokens: list[Token]
    index: int
    expected: frozenset[str]
    rules: tuple[str, ...]

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def upper(self) -> str:
        """The token as a keyword, or nothing."""
        return self.token.text.upper() if self.token.kind == "WORD" else ""

    def before(self, distance: int = 1) -> Token | None:
        """The token some places before."""
        return self.tokens[self.index - distance] if self.index >= distance else None

    def after(self, distance: int = 1) -> Token | None:
        """The token some places behind."""
        place = self.index + distance
        return self.tokens[place] if place < len(self.tokens) else None

    @property
    def in_pattern(self) -> bool:
        """Whether the token stands between the braces of a graph pattern."""
        return self.inside("GroupBody", "SubSelect") or (self.inside("Group") and "}" in self.expected)

    def inside(self, *rules: str) -> bool:
        """Whether one of these rules is open."""
        return any(rule in self.rules for rule in rules)

    def problem(
        self,
        code: str,
        message: str,
        hint: str | None = None,
        *,
        start: Token | None = None,
        end: Token | None = None,
        fix: Fix | None = None,
    ) -> Diagnostic:
        first, last = start or self.token, end or start or self.token
        return Diagnostic(first.start, last.end, code, message, expected_words(self.expected), hint, fix)

    def instead(self, text: str, start: Token | None = None, end: Token | None = None) -> Fix:
        """`text` for the token, or for those from `start` to `end`."""
        first, last = start or self.token, end or start or self.token
        return Fix.replacing(self.text, first.start, last.end, text)

    def added(self, text: str, *, behind: Token | None = None) -> Fix:
        """`text` before the token, or right behind another one."""
        place = self.token.start if behind is None else behind.end
        return Fix.replacing(self.text, place, place, text)


def did_you_mean(scene: Scene) -> str | None:
    """A hint for a word that is nearly one of those expected."""
    meant = _meant(scene)
    return meant and meant[0]


def meant(scene: Scene) -> Fix | None:
    """The same as a fix."""
    meant = _meant(scene)
    return meant and meant[1]


def _meant(scene: Scene) -> tuple[str, Fix] | None:
    if not scene.upper:
        return None
    wanted = sorted(scene.expected & KEYWORDS)
    close = get_close_matches(scene.upper[:40], wanted, n=1, cutoff=0.7)
    if close:
        return f"Did you mean {close[0]}?", scene.instead(close[0])
    for keyword in wanted:
        rest = scene.upper[len(keyword) :]
        if scene.upper.startswith(keyword) and rest and rest[0].isdigit():
            apart = f"{scene.token.text[: len(keyword)]} {scene.token.text[len(keyword) :]}"
            return f"Put a blank after {keyword}.", scene.instead(apart)
    return None
