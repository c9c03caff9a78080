"""What people get wrong, and the sentence that helps.

Every syntax error is first the plain sentence "found this where that was expected". The traps know more: they look at
the token that fits nowhere, at its neighbours and at the rules that were open, and say what was meant. They are tried
in order; the first that recognises its mistake speaks. A trap never moves the error to the right.

    WHERE { ?x ?p ?y FILTER(?y > 5 }    ->    Found "}", but the "(" of line 1, column 24 is still open.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from csparql_spark.language.diagnostics import Diagnostic
from csparql_spark.language.errors import Fix, Lines
from csparql_spark.language.queries.clause_traps import trap_beginning, trap_dataset, trap_registration, trap_window
from csparql_spark.language.queries.expectations import expected_words, found_words
from csparql_spark.language.queries.pattern_traps import trap_expression, trap_pattern, trap_projection
from csparql_spark.language.queries.scene import Scene, did_you_mean, meant
from csparql_spark.language.queries.syntax import Unexpected
from csparql_spark.language.tokens import Token

_QUOTED = re.compile('[\u201c\u201d\u201e]([^\u201c\u201d"\\\\\r\n]*)[\u201c\u201d]')
_CLOSING = {"(": ")", "{": "}", "[": "]"}
# What it is, what to do, and what to write there.
_LOOKALIKES = {
    "\u00a0": ("a no-break space", "Put an ordinary blank there.", " "),
    "\u200b": ("an invisible character (zero-width space)", "Remove it.", ""),
    "\ufeff": ("an invisible character (byte order mark)", "Remove it.", ""),
    "\u201c": ("a typographic quotation mark", 'Write ".', '"'),
    "\u201d": ("a typographic quotation mark", 'Write ".', '"'),
    "\u2018": ("a typographic quotation mark", "Write '.", "'"),
    "\u2019": ("a typographic quotation mark", "Write '.", "'"),
    "\u2013": ("a dash", "Write -.", "-"),
    "\u2212": ("a minus sign that is not ASCII", "Write -.", "-"),
}


def syntax_diagnostic(text: str, tokens: list[Token], unexpected: Unexpected) -> Diagnostic:
    """The problem for the token where the walk stopped."""
    scene = Scene(text, tokens, unexpected.index, unexpected.expected, unexpected.open_rules)
    for trap in _TRAPS:
        problem = trap(scene)
        if problem is not None:
            return problem
    expected = expected_words(scene.expected)
    message = f"Found {found_words(scene.token)} where {expected} was expected."
    return scene.problem("unexpected", message, did_you_mean(scene), fix=meant(scene))


def trap_characters(scene: Scene) -> Diagnostic | None:
    """Characters that begin no word: open strings, blanks in IRIs, typographic quotes."""
    token = scene.token
    if token.kind == "OPEN_STRING":
        quote = token.text[:3] if token.text[:3] in ('"""', "'''") else token.text[0]
        hint = f"Close it with {quote}." if len(quote) == 3 else f"Close it with {quote} on the same line."
        return Diagnostic(
            token.start, token.start + len(quote), "open-string", "This string is not closed.", None, hint
        )
    if token.kind == "BAD_IRI":
        hint = "An IRI has no blanks, quotes, braces or backslashes: write %20 for a blank."
        return scene.problem("bad-iri", f"{token.text} is not an IRI.", hint)
    if token.text == "<" and "IRIREF" in scene.expected:
        return scene.problem("bad-iri", "This IRI is not closed.", "An IRI ends with > and has no blanks.")
    if token.text in ("?", "$") and "VAR" in scene.expected:
        return scene.problem("unexpected", "This variable has no name.", f"Write {token.text}name, without a blank.")
    if token.kind != "BAD":
        return None
    if token.text.startswith("/*"):
        return Diagnostic(token.start, token.start + 2, "bad-comment", "Comments begin with #.", None, None)
    if token.text in _LOOKALIKES:
        name, hint, right = _LOOKALIKES[token.text]
        return scene.problem(
            "bad-character", f"There is {name} here.", hint, fix=_quoted(scene) or scene.instead(right)
        )
    shown = token.text if token.text.isprintable() else f"U+{ord(token.text[0]):04X}"
    return scene.problem("bad-character", f"The character {shown} begins nothing here.")


def _quoted(scene: Scene) -> Fix | None:
    """Plain quotation marks for a pair of typographic ones."""
    pair = _QUOTED.match(scene.text, scene.token.start)
    return pair and Fix.replacing(scene.text, pair.start(), pair.end(), f'"{pair[1]}"')


def trap_brackets(scene: Scene) -> Diagnostic | None:
    """Brackets that are open at the end, close nothing, or close another bracket."""
    opened: list[Token] = []
    for token in scene.tokens[: scene.index]:
        if token.text in _CLOSING:
            opened.append(token)
        elif opened and token.text == _CLOSING[opened[-1].text]:
            opened.pop()
    token = scene.token
    if token.key == "END" and opened:
        line, column = Lines(scene.text).locate(opened[-1].start)
        message = f'The "{opened[-1].text}" of line {line}, column {column} is not closed.'
        return scene.problem(
            "open-bracket",
            message,
            f"Add {_CLOSING[opened[-1].text]}.",
            fix=scene.added(f" {_CLOSING[opened[-1].text]}"),
        )
    if token.text in (")", "}", "]") and not opened:
        return scene.problem(
            "stray-bracket",
            f'There is nothing open that "{token.text}" could close.',
            "Remove it.",
            fix=scene.instead(""),
        )
    if token.text in (")", "}", "]") and token.text != _CLOSING[opened[-1].text] in scene.expected:
        line, column = Lines(scene.text).locate(opened[-1].start)
        message = f'Found "{token.text}", but the "{opened[-1].text}" of line {line}, column {column} is still open.'
        return scene.problem(
            "open-bracket",
            message,
            f"Close it with {_CLOSING[opened[-1].text]} first.",
            fix=scene.added(f"{_CLOSING[opened[-1].text]} "),
        )
    return None


_TRAPS: tuple[Callable[[Scene], Diagnostic | None], ...] = (
    trap_characters,
    trap_beginning,
    trap_registration,
    trap_window,
    trap_dataset,
    trap_projection,
    trap_expression,
    trap_pattern,
    trap_brackets,
)
