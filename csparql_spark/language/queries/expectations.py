"""The words of a syntax error: what was found, and what could have stood there.

The walk over the grammar knows which tokens would have fitted; a reader wants to hear "an expression" and not forty
keywords. Kinds of tokens that only continue what is already complete (an operator, a language tag) are left out as
long as something else is expected.

    expected_words(frozenset({"AS", "COMPUTE", "COMPUTED"}))     ->  'AS or COMPUTE EVERY'
    found_words(token)                                           ->  '"SELECT"'
"""

from __future__ import annotations

from csparql_spark.language.queries.grammar import KEYWORDS, RULES
from csparql_spark.language.tokens import Token

_MOST_WORDS = 7
_LONGEST_FOUND = 40

# Largest first: the first phrase whose tokens are all expected takes them away from the rest.
_PHRASES: tuple[tuple[str, frozenset[str]], ...] = (
    ("an expression", RULES["Expression"].first),
    ("a condition in parentheses", RULES["Constraint"].first),
    ("a graph pattern", RULES["_NotTriples"].first),
    ("a term", RULES["ObjectPath"].first),
    ("a term", RULES["VarOrTerm"].first),
    ("a property", RULES["Path"].first | {"VAR"}),
    ("a property", RULES["PathPrimary"].first),
    ("a property", RULES["Verb"].first),
    ("a value", RULES["DataValue"].first),
    ("a number", RULES["Number"].first),
    ("an aggregate", RULES["AggregateFunction"].first),
    ("an aggregate function", RULES["Set"].first),
    ("SELECT, CONSTRUCT, DESCRIBE, ASK", RULES["Query"].first),
    ("ISTREAM, DSTREAM or RSTREAM", RULES["Output"].first),
    ("DISTINCT", RULES["Distinct"].first),
    ("COMPUTE EVERY", frozenset({"COMPUTE", "COMPUTED"})),
    ("an IRI", RULES["Iri"].first),
)
_CONTINUES = frozenset(
    {"^^", "LANGTAG", "MISSING_CARETS", "SIGNED", "IN", "NOT", "GRAPH", "DISTINCT", "REGIME", "USING", "UNDER"}
    | {"=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "&&", "||", "|", "^", "?"}
)
_KINDS = {
    "VAR": "a variable",
    "INTEGER": "a whole number",
    "STRING": "a string",
    "IRIREF": "an <IRI>",
    "PNAME_NS": "a prefix",
    "WORD": "a word",
    "a": '"a"',
    "NIL": "()",
}


def expected_words(expected: frozenset[str]) -> str:
    """A list in words of the tokens that would have fitted, the most telling first."""
    if "END" in expected:
        return "the end of the query or a clause like ORDER BY" if "ORDER" in expected else "the end of the query"
    rest = set(expected)
    words: list[str] = []
    for phrase, keys in _PHRASES:
        if len(keys) > 1 and keys <= rest:
            words.extend(phrase.split(", "))
            rest -= keys
    continuing = rest & _CONTINUES
    if words or rest - continuing:
        rest -= continuing
    keywords = sorted(key for key in rest if key in KEYWORDS)
    kinds = [_KINDS[key] for key in sorted(rest) if key in _KINDS]
    signs = [f'"{key}"' for key in sorted(rest) if key not in KEYWORDS and key not in _KINDS and not key.isupper()]
    named = words + kinds + signs + keywords
    if len(named) > _MOST_WORDS:
        named = (words + signs + kinds + keywords)[:_MOST_WORDS]
    return join_words(named)


def join_words(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    if len(words) < 2:
        return "".join(words) or "something else"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def found_words(token: Token) -> str:
    """A token as it is quoted in a message."""
    if token.key == "END":
        return "the end of the text"
    if token.key == "MISSING_CARETS":
        return "an IRI right after a string"
    text = token.text.splitlines()[0]
    if len(text) > _LONGEST_FOUND:
        text = text[: _LONGEST_FOUND - 3] + "..."
    return f"'{text}'" if '"' in text else f'"{text}"'
