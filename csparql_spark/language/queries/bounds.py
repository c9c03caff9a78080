"""How large a query may be.

The parsers and evaluators behind the language recurse over chains and nests, and some of their steps are quadratic.
These bounds keep every text that passes them within a few seconds of reading and far from the end of any stack; they
are wide for people (a long query has 500 words) and for most programs.

    check_size(text)                    bytes
    check_words(text, tokens)           tokens
    check_nesting(tokens, diagnostics)     brackets within brackets
    check_parts(text, tree)             triple patterns; timestamps; links of one chain, such as a || b || c
"""

from __future__ import annotations

from csparql_spark.language.diagnostics import Diagnostics
from csparql_spark.language.errors import LanguageError, error_at
from csparql_spark.language.queries.syntax import Node
from csparql_spark.language.tokens import Token

LONGEST_TEXT = 256 * 1024
MOST_WORDS = 10_000
MOST_TRIPLES = 500
MOST_LINKS = 500
MOST_TIMESTAMPS = 20
DEEPEST_NESTING = 100

# What a chain does not recurse over: data and declarations.
_LISTS = frozenset({"DataBlock", "Datasets", "Prologue", "Entailment"})


def check_size(text: str) -> None:
    """Refuse what is too long to be a query, and what is no text."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as reason:
        raise error_at(text, reason.start, reason.end, "bad-character", "The text is not valid Unicode.") from reason
    if size > LONGEST_TEXT:
        raise LanguageError("too-large", f"The text has {size} bytes; {LONGEST_TEXT} are the most.")


def check_words(text: str, tokens: list[Token]) -> None:
    """Refuse a text with too many tokens."""
    if len(tokens) > MOST_WORDS:
        token = tokens[MOST_WORDS]
        raise error_at(
            text, token.start, token.end, "too-large", f"The text goes on after {MOST_WORDS} words and signs."
        )


def check_nesting(tokens: list[Token], diagnostics: Diagnostics) -> bool:
    """Whether brackets are nested too deeply; the first of them is a problem."""
    depth = 0
    for token in tokens:
        if token.key in ("(", "{", "["):
            depth += 1
            if depth > DEEPEST_NESTING:
                diagnostics.add(
                    token.start,
                    token.end,
                    "too-deep",
                    f"More than {DEEPEST_NESTING} brackets are open here.",
                    hint="Nest the groups less deeply.",
                )
                return True
        elif token.key in (")", "}", "]"):
            depth -= 1
    return False


def check_parts(text: str, tree: Node) -> None:
    """Refuse too many triple patterns, counting the copies that AGGREGATE makes, and chains with too many links."""
    copies = 1 + sum(1 for _ in tree.walk("AggregateTuple"))
    triples = timestamps = 0
    for node in tree.walk():
        timestamps += node.rule == "Timestamp"
        if timestamps > MOST_TIMESTAMPS:
            message = f"The query has more than {MOST_TIMESTAMPS} timestamps."
            raise error_at(text, node.start, max(node.start, node.end), "too-large", message)
        if node.rule in ("ObjectPath", "Object", "ListItemPath", "ListItem"):
            # An item of a list is two triples: its value, and the rest.
            triples += copies * (2 if node.rule.startswith("ListItem") else 1)
            if triples > MOST_TRIPLES:
                message = f"The query has more than {MOST_TRIPLES} triple patterns."
                raise error_at(text, node.start, max(node.start, node.end), "too-large", message)
        elif len(node.children) > 2 * MOST_LINKS and node.rule not in _LISTS:
            link = node.children[2 * MOST_LINKS]
            message = f"More than {MOST_LINKS} parts stand here in a row."
            raise error_at(text, link.start, max(link.start, link.end), "too-large", message)
