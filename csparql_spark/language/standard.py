"""What every body needs to be plain SPARQL 1.1 that means the same to every engine.

Relative IRIs become absolute, prefixed names with escapes become IRIs, `$x` becomes `?x`, code point escapes become
the characters, tabs and carriage returns inside strings become escapes, the missing `^^` of the papers is put in, and
WINDOW blocks become GRAPH blocks. `DESCRIBE *` names its variables, and groups of a query that is not a SELECT are
formed in a sub-SELECT: engines disagree about both.

    "PT30M"xsd:duration   ->   "PT30M"^^xsd:duration
    WINDOW :w { ... }     ->   GRAPH :w { ... }
"""

from __future__ import annotations

import re

from pyoxigraph import Literal

from csparql_spark.language.problems import Problems
from csparql_spark.language.prologue import NameProblem, Names, expand_code_points, undeclared
from csparql_spark.language.rewriting import Rewriting
from csparql_spark.language.scope import grouped_variables, visible
from csparql_spark.language.syntax import Node
from csparql_spark.language.tokens import Token

LARGEST_NUMBER = 10**18

_STRING_PARTS = re.compile(r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\[\s\S]|[\t\r]")
_ESCAPES = {"\t": "\\t", "\r": "\\r", "\n": "\\n", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_KNOWN_ESCAPES = frozenset("tbnrf\\\"'")


def standardise_words(tokens: list[Token], names: Names, problems: Problems, rewriting: Rewriting) -> None:
    """Names, IRIs and strings, token by token. The tokens of the prologue are not among them."""
    for token in tokens:
        try:
            if token.kind == "IRIREF":
                iri = names.resolve(token.text[1:-1])
                rewriting.replace(token, f"<{iri}>")
            elif token.kind in ("PNAME_LN", "PNAME_NS"):
                _standardise_name(token, names, problems, rewriting)
            elif token.kind == "STRING":
                rewriting.replace(token, _standard_string(token, problems))
            elif token.kind == "VAR":
                rewriting.replace(token, f"?{token.text[1:]}")
            elif token.kind == "LANGTAG":
                _check_language(token, problems)
        except NameProblem as problem:
            problems.add(token.start, token.end, problem.code, problem.message, hint=problem.hint)


def standardise_blocks(query: Node, problems: Problems, rewriting: Rewriting) -> None:
    """What needs more than one token: datatypes, windows, numbers, DESCRIBE *."""
    for literal in query.walk("Literal"):
        iri = literal.node("Iri")
        if iri is not None and literal.token("MISSING_CARETS") is not None:
            rewriting.put_before(iri.start, "^^")
            problems.warn(iri.start, 'the "^^" between a string and its datatype is missing; it is read as if there.')
    for block in query.walk("WindowBlock"):
        rewriting.replace(block.tokens()[0], "GRAPH")
    for slice_node in query.walk("Limit", "Offset"):
        number = slice_node.tokens()[1]
        if len(number.text.lstrip("0")) > 18:
            problems.add(number.start, number.end, "bad-count", "This number is too large.", hint="10^18 is the most.")
    form = query.nodes()[0]
    star = form.token("*")
    if form.rule == "Describe" and star is not None:
        where = form.node("Where")
        found = visible(where) if where is not None else {}
        if not found:
            problems.add(star.start, star.end, "nothing-to-describe", "There are no variables that * could stand for.")
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
    group = where.node("Group")
    keyword = where.token("WHERE")
    if keyword is not None:
        rewriting.replace(keyword, f"WHERE {{ SELECT {projection} WHERE")
    else:
        rewriting.put_before(group.start, f"{{ SELECT {projection} WHERE ")
    rewriting.put_after(inside[-1].end, " }")


def _standardise_name(token: Token, names: Names, problems: Problems, rewriting: Rewriting) -> None:
    prefix = token.text.partition(":")[0]
    if names.borrow(prefix):
        problems.warn(
            token.start, f'the prefix "{prefix}:" is not declared; it is read as <{names.prefixes[prefix]}>.'
        )
    if prefix not in names.prefixes:
        problem = undeclared(prefix)
        problems.add(token.start, token.start + len(prefix) + 1, problem.code, problem.message, hint=problem.hint)
        return
    iri = names.expand(token.text)
    if "\\" in token.text:
        rewriting.replace(token, f"<{iri}>")


def _standard_string(token: Token, problems: Problems) -> str:
    def standard(match: re.Match[str]) -> str:
        part = match[0]
        if part[:2] in ("\\u", "\\U"):
            if len(part) == 2:
                problems.add(
                    token.start + match.start(),
                    token.start + match.end(),
                    "bad-escape",
                    f"{part} needs four digits (\\u) or eight (\\U).",
                )
                return part
            character = expand_code_points(part)
            return _ESCAPES.get(character, character)
        if part[0] == "\\" and part[1] not in _KNOWN_ESCAPES:
            problems.add(
                token.start + match.start(),
                token.start + match.end(),
                "bad-escape",
                f"{part} stands for nothing in a string.",
                hint=f"Write \\\\{part[1]} for a backslash.",
            )
        return _ESCAPES.get(part, part)

    return _STRING_PARTS.sub(standard, token.text)


def _check_language(token: Token, problems: Problems) -> None:
    try:
        Literal("", language=token.text[1:])
    except ValueError:
        problems.add(
            token.start, token.end, "bad-language", f"{token.text} is not a language tag.", hint="Write @en or @de-AT."
        )
