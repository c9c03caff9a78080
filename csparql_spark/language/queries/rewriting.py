"""From the tokens of a text to another text.

A rewriting takes the tokens of a span, some of them replaced, dropped, or followed by something new, and writes them
with tidy white space: comments go, a gap with a line end becomes one line end and its indentation, any other gap one
blank. Writing a text that was written this way gives the same text.

    rewriting = Rewriting(text, tokenize(text))
    rewriting.replace(token, "GRAPH")
    rewriting.write(0, len(text))            the new text
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from csparql_spark.language.queries.grammar import RULES
from csparql_spark.language.queries.syntax import Node
from csparql_spark.language.tokens import Token

_CALLED = RULES["BuiltIn"].first - {"EXISTS", "NOT"}

# Two of these may touch in SPARQL (`?s a?class`, `(:p|:q)?o`), and not every parser reads it.
_BEFORE_VARIABLE = frozenset(")*+")
_WORDLIKE = frozenset(
    ("WORD", "VAR", "IRIREF", "PNAME_LN", "PNAME_NS", "BLANK", "STRING", "LANGTAG")
    + ("INTEGER", "DECIMAL", "DOUBLE", "SIGNED")
)


class Rewriting:
    """The changes to one text. Spans that are dropped win over replacements inside them."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = [token for token in tokens if token.text]
        self._starts = [token.start for token in self.tokens]
        self._replaced: dict[int, str] = {}
        self._before: dict[int, str] = {}
        self._after: dict[int, str] = {}
        self._glued: set[int] = set()
        self._dropped: list[tuple[int, int, str | None]] = []

    def replace(self, token: Token, text: str) -> None:
        """Write `text` in the place of a token."""
        self._replaced[token.start] = text

    def drop(self, start: int, end: int, gap: str | None = None) -> None:
        """Leave out all tokens of a span; `gap` stands in the place of them and of the white space on both sides.

        Without a gap the white space after the span is kept, and the white space before it goes.
        """
        self._dropped.append((start, end, gap))

    def glue(self, token: Token) -> None:
        """Write a token right behind the one before it."""
        self._glued.add(token.start)

    def put_before(self, offset: int, text: str) -> None:
        """Write `text` just before the token that begins at an offset."""
        self._before[offset] = text + self._before.get(offset, "")

    def put_after(self, offset: int, text: str) -> None:
        """Write `text` just after the token that ends at an offset."""
        self._after[offset] = self._after.get(offset, "") + text

    def replace_node(self, node: Node, text: str) -> None:
        """Write `text` in the place of all tokens of a node."""
        first = next(node.all_tokens())
        self._replaced[first.start] = text
        if first.end < node.end:
            self.drop(first.end, node.end)

    def write(self, start: int, end: int, changes: dict[int, str] | None = None) -> str:
        """The tokens between two offsets as text; `changes` replaces tokens, by their start, in this copy only."""
        dropped = sorted(self._dropped, key=lambda span: span[:2])
        dropped_starts = [span[0] for span in dropped]
        pieces: list[str] = []
        previous: int | None = None
        gap: str | None = None
        last: Token | None = None
        for token in self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)]:
            index = bisect_right(dropped_starts, token.start) - 1
            if index >= 0 and token.end <= dropped[index][1]:
                gap = dropped[index][2]
                if gap is None and previous is not None:
                    previous = token.end
                continue
            if previous is not None:
                space = _tidy(self.text[previous : token.start]) if gap is None else gap
                if token.start in self._glued:
                    space = ""
                elif last is not None and gap is None:
                    space = _fitting(space, last, token, bool(self._before.get(token.start)))
                pieces.append(space)
            text = self._replaced.get(token.start, token.text)
            if changes is not None:
                text = changes.get(token.start, text)
            pieces += (self._before.get(token.start, ""), text, self._after.get(token.end, ""))
            previous, gap, last = token.end, None, token
        return "".join(pieces)


def _fitting(space: str, last: Token, token: Token, parted: bool) -> str:
    # What belongs to a string or a function touches it; words that touch are parted.
    if token.kind == "LANGTAG" or "^^" in (token.key, last.key) or (token.key in ("(", "NIL") and last.key in _CALLED):
        return ""
    if space or parted:
        return space
    if (last.kind in _WORDLIKE and token.kind in _WORDLIKE) or (token.kind == "VAR" and last.text in _BEFORE_VARIABLE):
        return " "
    return ""


def _tidy(gap: str) -> str:
    if not gap:
        return ""
    if "\n" not in gap and "\r" not in gap:
        return " "
    indentation = gap[max(gap.rfind("\n"), gap.rfind("\r")) + 1 :].expandtabs(4)
    return "\n" + indentation
