"""Traps in projections, patterns and expressions.

Each function looks at a scene and speaks if it recognises its mistake.

    SELECT COUNT(?x) AS ?n ...    ->    An expression in SELECT stands in parentheses. Write (COUNT(...) AS ?name).
"""

from __future__ import annotations

from difflib import get_close_matches

from csparql_spark.language.diagnostics import Diagnostic
from csparql_spark.language.queries.expectations import found_words
from csparql_spark.language.queries.grammar import KEYWORDS
from csparql_spark.language.queries.scene import Scene, did_you_mean, meant


def trap_projection(scene: Scene) -> Diagnostic | None:
    """Expressions without parentheses, commas, variables without a question mark."""
    token = scene.token
    showing = {"FROM", "WHERE"} & scene.expected or scene.rules[-1] == "Projection"
    if not showing or not {"VAR", "("} <= scene.expected:
        return None
    if token.text == ",":
        return scene.problem(
            "unexpected", "Variables in SELECT are separated by blanks.", "Remove the comma.", fix=scene.instead("")
        )
    following = scene.after()
    if (token.kind == "WORD" or token.kind.startswith("PNAME")) and following is not None and following.text == "(":
        return scene.problem(
            "select-parentheses",
            "An expression in SELECT stands in parentheses.",
            f"Write ({token.text}(...) AS ?name).",
        )
    if token.key == "AS":
        return scene.problem(
            "select-parentheses", "An expression in SELECT stands in parentheses.", "Write (... AS ?name)."
        )
    if token.kind == "WORD" and token.key not in KEYWORDS:
        return scene.problem(
            "unexpected",
            f"Found {found_words(token)} where a variable was expected.",
            did_you_mean(scene) or f"Variables begin with a question mark: ?{token.text}.",
            fix=meant(scene) or scene.instead(f"?{token.text}"),
        )
    return None


def trap_pattern(scene: Scene) -> Diagnostic | None:
    """Dots, parentheses and small words that are missing, and what patterns and templates cannot say here."""
    token, before = scene.token, scene.before()
    if token.key == "GRAPH" and scene.inside("Template"):
        return scene.problem(
            "unsupported-template",
            "A template with GRAPH is not supported: one stream carries one graph.",
            "Construct triples only.",
        )
    if token.key == "WINDOW" and scene.inside("Template", "ShortWhere"):
        return scene.problem(
            "misplaced-window", "WINDOW stands in a WHERE of its own.", "Write CONSTRUCT { ... } WHERE { WINDOW ... }."
        )
    if scene.upper in ("BEGIN", "WITH") and (scene.in_pattern or scene.inside("Modifiers", "Unit")):
        return scene.problem(
            "unsupported-clause",
            f"{token.text} (a draft's way to ask for timestamps) is not supported.",
            "Use f:timestamp(?s, ?p, ?o).",
        )
    if scene.inside("TriplesPath", "Triple") and token.text == "A" and scene.expected & {"a"}:
        return scene.problem("unexpected", 'The keyword "a" is lower case.', "Write a.", fix=scene.instead("a"))
    if scene.expected >= {".", ";", ","} and token.kind in ("VAR", "IRIREF", "PNAME_LN", "PNAME_NS", "BLANK", "ANON"):
        return scene.problem(
            "missing-dot",
            f"Found {found_words(token)} where a dot was expected.",
            "Put a . between two triple patterns.",
            fix=scene.added(" .", behind=before),
        )
    if before is not None and before.key in ("FILTER", "HAVING", "DESC", "ASC") and "(" in scene.expected:
        return scene.problem(
            "missing-parentheses",
            f"The condition of {before.text} stands in parentheses.",
            f"Write {before.key} (...).",
        )
    if before is not None and before.key in ("ORDER", "GROUP") and scene.expected == {"BY"}:
        return scene.problem(
            "unexpected", f"BY is missing after {before.text}.", f"Write {before.key} BY.", fix=scene.added("BY ")
        )
    return None


def trap_expression(scene: Scene) -> Diagnostic | None:
    """Operators and functions of other languages."""
    token, before = scene.token, scene.before()
    if not scene.inside("Expression", "Constraint", "Bind", "ProjectionItem"):
        return None
    if before is not None and before.text == "=" and token.text in ("=", ">", "<"):
        wrong = f"={token.text}"
        right = {"==": "=", "=>": ">=", "=<": "<="}[wrong]
        return scene.problem(
            "bad-operator",
            f"{wrong} is not an operator.",
            f"Write {right}.",
            start=before,
            end=token,
            fix=scene.instead(right, before, token),
        )
    if token.text == "<>":
        return scene.problem(
            "bad-operator", "<> is an empty IRI, not an operator.", "Write !=.", fix=scene.instead("!=")
        )
    right_word = {"AND": "&&", "OR": "||", "LIKE": "REGEX(?x, ...)", "IS": "=", "MOD": "another form"}.get(scene.upper)
    if right_word is not None:
        return scene.problem(
            "bad-operator",
            f"{token.text} is not an operator.",
            f"Write {right_word}.",
            fix=scene.instead(right_word) if right_word in ("&&", "||", "=") else None,
        )
    following = scene.after()
    if token.kind == "WORD" and token.key not in KEYWORDS and "EXISTS" in scene.expected:
        if following is not None and (following.text == "(" or following.kind == "NIL"):
            close = get_close_matches(scene.upper[:40], sorted(scene.expected & KEYWORDS), n=1, cutoff=0.7)
            hint = f"Did you mean {close[0]}?" if close else "Functions of your own have an IRI: prefix:name(...)."
            return scene.problem(
                "unknown-function",
                f"There is no function {token.text}.",
                hint,
                fix=scene.instead(close[0]) if close else None,
            )
        return scene.problem(
            "unexpected",
            f"Found {found_words(token)} where an expression was expected.",
            f"Variables begin with a question mark (?{token.text}), strings stand in quotes.",
            fix=scene.instead(f"?{token.text}"),
        )
    return None
