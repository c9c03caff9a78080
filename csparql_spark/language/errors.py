"""What is wrong with a text, where, and what to write instead.

Every text that the language refuses is refused with one `LanguageError`. It carries a stable code for programs, a
sentence and a hint for people, the span of the offending text for editors, and where it is plain what was meant a
`fix`. Lines and columns count from 1, in
characters; CR LF, LF and CR each end a line.

    try:
        parse("SELECT ?x FROM STREAM <http://ex.org/s> [RANGE 10S] { ?x ?y ?z }")
    except LanguageError as error:
        print(error)            # line 1, column 50: "S" is not a unit of time. Units are lower case: write 10s.
        print(error.picture(text))
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")
_PICTURE_WIDTH = 100


class Lines:
    """Turns offsets of one text into lines and columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        self._starts.extend(match.end() for match in _LINE_END.finditer(text))

    def locate(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a character offset (the text's length is allowed: its end)."""
        line = bisect_right(self._starts, offset) - 1
        return line + 1, offset - self._starts[line] + 1

    def offset(self, line: int, column: int) -> int:
        """The other way round."""
        return self._starts[line - 1] + column - 1

    def line(self, number: int) -> str:
        """The characters of a line, without its end."""
        start = self._starts[number - 1]
        match = _LINE_END.search(self.text, start)
        return self.text[start : match.start() if match else len(self.text)]


@dataclass(frozen=True)
class Fix:
    """What to write instead: `text` for the characters from a place up to another one, and a label that says so.

    A fix is offered where it is plain what was meant. After it the error that it belongs to is gone; there may be
    another one, further to the right.
    """

    label: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str

    @classmethod
    def replacing(cls, source: str, start: int, end: int, text: str, label: str | None = None) -> Fix:
        """`text` for the characters `start` to `end` of a source; without a label it is named by what it does."""
        lines = Lines(source)
        shown = text.strip()
        action = "Remove it" if not shown else f"Add {shown}" if start == end else f"Write {shown}"
        return cls(label or action, *lines.locate(start), *lines.locate(end), text)

    @classmethod
    def declaring(cls, source: str, prefix: str, iri: str) -> Fix:
        """A declaration of a prefix, before everything but comments."""
        comments = re.match(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r))*", source)
        start = 0 if comments is None else comments.end()
        return cls.replacing(source, start, start, f"PREFIX {prefix}: <{iri}>\n")

    def applied(self, source: str) -> str:
        """The source after the fix."""
        lines = Lines(source)
        start, end = lines.offset(self.line, self.column), lines.offset(self.end_line, self.end_column)
        return source[:start] + self.text + source[end:]


class LanguageError(Exception):
    """A text that is not a query, or not one that can be kept: code, place, sentence, and what to do.

    The parameters are many: each is a member of what programs are sent, and goes by its name.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        line: int = 1,
        column: int = 1,
        end_column: int | None = None,
        offending: str = "",
        expected: str | None = None,
        hint: str | None = None,
        fix: Fix | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.line = line
        self.column = column
        self.end_column = column + max(1, len(offending)) if end_column is None else end_column
        self.offending = offending
        self.expected = expected
        self.hint = hint
        self.fix = fix

    def __str__(self) -> str:
        sentence = f"line {self.line}, column {self.column}: {self.message}"
        return f"{sentence} {self.hint}" if self.hint else sentence

    def picture(self, text: str) -> str:
        """The line of the error with carets under the offending characters."""
        lines = Lines(text)
        source = lines.line(self.line).replace("\t", " ")
        first, last = self.column - 1, max(self.end_column - 1, self.column)
        cut = max(0, first - _PICTURE_WIDTH // 2)
        shown = source[cut : cut + _PICTURE_WIDTH]
        carets = max(1, min(last, len(source), cut + _PICTURE_WIDTH) - first)
        margin = f"{self.line} | "
        return f"{margin}{shown}\n{' ' * (len(margin) + first - cut)}{'^' * carets}"


def error_at(
    text: str,
    start: int,
    end: int,
    code: str,
    message: str,
    *,
    expected: str | None = None,
    hint: str | None = None,
    fix: Fix | None = None,
) -> LanguageError:
    """An error about the characters `start` to `end` of a text. The parameters are many: those of a `Diagnostic`, which
    is made of what is wrong, and the text."""
    lines = Lines(text)
    line, column = lines.locate(start)
    offending = text[start:end]
    width = len(_LINE_END.split(offending, maxsplit=1)[0])
    return LanguageError(
        code,
        message,
        line=line,
        column=column,
        end_column=column + max(1, width),
        offending=offending,
        expected=expected,
        hint=hint,
        fix=fix,
    )
