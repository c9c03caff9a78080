"""What every body needs to be plain SPARQL 1.1 that means the same to every engine.

Relative IRIs become absolute, prefixed names with escapes become IRIs, `$x` becomes `?x`, code point escapes become
the characters, strings stand on one line between double quotes, the missing `^^` of the papers is put in, and
WINDOW blocks become GRAPH blocks. `DESCRIBE *` names its variables, and groups of a query that is not a SELECT are
formed in a sub-SELECT: engines disagree about both.

    "PT30M"xsd:duration   ->   "PT30M"^^xsd:duration
    WINDOW :w { ... }     ->   GRAPH :w { ... }
"""

from __future__ import annotations

import re

from pyoxigraph import Literal

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.errors import Fix
from csparql_spark.language.queries.prologue import (
    USUAL,
    WELL_KNOWN,
    NameProblem,
    Names,
    expand_code_points,
    is_basic,
    undeclared,
)
from csparql_spark.language.queries.rewriting import Rewriting
from csparql_spark.language.queries.scope import grouped_variables, visible
from csparql_spark.language.queries.syntax import Node
from csparql_spark.language.tokens import Token

_ESCAPED = re.compile(r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\[\s\S]")
_DECODED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ENCODED = str.maketrans({"\t": "\\t", "\b": "\\b", "\n": "\\n", "\r": "\\r", "\f": "\\f", '"': '\\"', "\\": "\\\\"})


def standardise_words(tokens: list[Token], names: Names, diagnostics: Diagnostics, rewriting: Rewriting) -> None:
    """Names, IRIs and strings, token by token. The tokens of the prologue are not among them."""
    for token in tokens:
        try:
            if token.kind == "IRIREF":
                iri = names.resolve(token.text[1:-1])
                rewriting.replace(token, f"<{iri}>")
            elif token.kind in ("PNAME_LN", "PNAME_NS"):
                _standardise_name(token, names, diagnostics, rewriting)
            elif token.kind == "STRING":
                rewriting.replace(token, _standard_string(token, diagnostics))
            elif token.kind in ("VAR", "BLANK"):
                _standardise_label(token, diagnostics, rewriting)
            elif token.kind in ("NIL", "ANON"):
                rewriting.replace(token, token.text[0] + token.text[-1])
            elif token.key in ("TRUE", "FALSE"):
                rewriting.replace(token, token.key.lower())
            elif token.kind == "LANGTAG":
                _check_language(token, diagnostics)
        except NameProblem as problem:
            diagnostics.add(token.start, token.end, problem.code, problem.message, hint=problem.hint)


def standardise_blocks(unit: Node, form: Node, diagnostics: Diagnostics, rewriting: Rewriting) -> None:
    """What needs more than one token: datatypes, windows, numbers, DESCRIBE *."""
    for literal in unit.walk("Literal"):
        iri = literal.node("Iri")
        if iri is not None and literal.token("MISSING_CARETS") is not None:
            rewriting.put_before(iri.start, "^^")
            diagnostics.warn(
                iri.start, 'the "^^" between a string and its datatype is missing; it is read as if there.'
            )
    for number in unit.walk("Number"):
        signed = number.token("SIGNED")
        if signed is not None:
            rewriting.replace(signed, _standard_number(signed))
    for operation in unit.walk("Sum"):
        for signed in operation.tokens("SIGNED"):
            rewriting.replace(signed, f"{signed.text[0]} {signed.text[1:]}")
    for condition in unit.walk("GroupCondition"):
        expression = condition.node("Expression")
        if expression is not None and condition.token("AS") is not None:
            if all(token.key in ("(", ")", "VAR") for token in expression.all_tokens()):
                # pyoxigraph forgets the new name when it stands for a bare variable.
                rewriting.put_before(expression.start, "COALESCE(")
                rewriting.put_after(expression.end, ")")
    for step in unit.walk("PathStep"):
        for sign in step.tokens("?", "*", "+"):
            rewriting.glue(sign)
    for block in unit.walk("WindowBlock"):
        rewriting.replace(block.tokens()[0], "GRAPH")
    for slice_node in unit.walk("Limit", "Offset"):
        amount = slice_node.tokens()[1]
        if len(amount.text.lstrip("0")) > 18:
            diagnostics.add(
                amount.start, amount.end, "bad-count", "This number is too large.", hint="10^18 is the most."
            )
    star = form.token("*")
    if form.rule == "Describe" and star is not None:
        where = form.node("Where")
        found = visible(where) if where is not None else {}
        if not found:
            diagnostics.add(
                star.start, star.end, "nothing-to-describe", "There are no variables that * could stand for."
            )
        rewriting.replace(star, " ".join(f"?{name}" for name in found))


def form_groups_below(form: Node, rewriting: Rewriting) -> None:
    """Move GROUP BY and HAVING of a CONSTRUCT, ASK or DESCRIBE into a sub-SELECT of the grouped variables."""
    modifiers = form.node("Modifiers")
    where = form.node("Where")
    if form.rule == "Select" or modifiers is None or where is None:
        return
    inside = modifiers.nodes("GroupBy", "Having")
    if not inside:
        return
    if any(True for order in modifiers.nodes("OrderBy") for _ in order.walk("Set", outside=("Group",))):
        inside = modifiers.nodes("GroupBy", "Having", "OrderBy", "Slice")
    grouped = grouped_variables(modifiers)
    projection = " ".join(f"?{name}" for name in grouped) or "(1 AS ?any)"
    group = where.child("Group")
    keyword = where.token("WHERE")
    if keyword is not None:
        rewriting.replace(keyword, f"WHERE {{ SELECT {projection} WHERE")
    else:
        rewriting.put_before(group.start, f"{{ SELECT {projection} WHERE ")
    rewriting.put_after(inside[-1].end, " }")


def _standardise_name(token: Token, names: Names, diagnostics: Diagnostics, rewriting: Rewriting) -> None:
    prefix = token.text.partition(":")[0]
    if names.borrow(prefix):
        diagnostics.warn(
            token.start, f'the prefix "{prefix}:" is not declared; it is read as <{names.prefixes[prefix]}>.'
        )
    if prefix not in names.prefixes:
        problem = undeclared(prefix)
        fix = None if prefix not in USUAL else Fix.declaring(diagnostics.text, prefix, USUAL[prefix])
        end = token.start + len(prefix) + 1
        diagnostics.add(token.start, end, problem.code, problem.message, hint=problem.hint, fix=fix)
        return
    iri = names.expand(token.text)
    local = token.text[len(prefix) + 1 :]
    if "\\" in local or not is_basic(local):
        rewriting.replace(token, f"<{iri}>")
    elif names.shown_as(prefix) != prefix:
        rewriting.replace(token, f"{names.shown_as(prefix)}:{local}")


def _standardise_label(token: Token, diagnostics: Diagnostics, rewriting: Rewriting) -> None:
    if not is_basic(token.text):
        diagnostics.add(
            token.start,
            token.end,
            "bad-character",
            f"{token.text} has a character beyond U+FFFF, which names of variables and blank nodes cannot have.",
            hint="Choose another name.",
        )
    elif token.kind == "VAR":
        rewriting.replace(token, f"?{token.text[1:]}")


def _standard_string(token: Token, diagnostics: Diagnostics) -> str:
    """A string between double quotes on one line, whatever quotes and escapes the text has."""

    def decoded(match: re.Match[str]) -> str:
        part = match[0]
        if len(part) > 2:
            return expand_code_points(part)
        if part[1] in _DECODED:
            return _DECODED[part[1]]
        start = token.start + quotes + match.start()
        if part[1] in "uU":
            message, hint = f"{part} needs {'four' if part[1] == 'u' else 'eight'} hexadecimal digits.", None
        else:
            message, hint = f"{part} stands for nothing in a string.", f"Write \\{part} for a backslash."
        diagnostics.add(start, start + len(part), "bad-escape", message, hint=hint)
        return part

    quotes = 3 if token.text[:3] in ('"""', "'''") else 1
    content = _ESCAPED.sub(decoded, token.text[quotes:-quotes])
    return f'"{content.translate(_ENCODED)}"'


def _standard_number(token: Token) -> str:
    """A signed number as a typed literal: parsers lose signs, and a literal is what its text says."""
    if re.fullmatch("-[1-9][0-9]*", token.text):
        return token.text
    kind = "double" if "e" in token.text.lower() else "decimal" if "." in token.text else "integer"
    return f'"{token.text}"^^<{WELL_KNOWN["xsd"]}{kind}>'


def _check_language(token: Token, diagnostics: Diagnostics) -> None:
    try:
        Literal("", language=token.text[1:])
    except ValueError:
        diagnostics.add(
            token.start, token.end, "bad-language", f"{token.text} is not a language tag.", hint="Write @en or @de-AT."
        )
