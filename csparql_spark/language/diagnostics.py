"""What was found wrong in a text, in the order of the text.

Checks look at different things (names, durations, scopes) and run one after another, but a reader wants the first
thing that is wrong. So checks `add` what they find, and `raise_first` raises the leftmost.

    diagnostics.add(token.start, token.end, "bad-unit", '"S" is not a unit of time.', hint="Write 10s.")
    diagnostics.raise_first()
"""

from __future__ import annotations

from dataclasses import dataclass

from csparql_spark.language.errors import Fix, Lines, error_at


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong with the characters `start` to `end`."""

    start: int
    end: int
    code: str
    message: str
    expected: str | None = None
    hint: str | None = None
    fix: Fix | None = None


class Diagnostics:
    """The diagnostics and the warnings of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: list[Diagnostic] = []
        self._warnings: dict[tuple[int, str], str] = {}
        self._lines: Lines | None = None

    def add(
        self,
        start: int,
        end: int,
        code: str,
        message: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
        fix: Fix | None = None,
    ) -> None:
        """The parameters are many: those of a `Diagnostic`, written where what is wrong is found."""
        self._found.append(Diagnostic(start, end, code, message, expected, hint, fix))

    def put(self, problem: Diagnostic) -> None:
        self._found.append(problem)

    def warn(self, start: int, message: str) -> str:
        """The warning, as it will be shown."""
        self._lines = self._lines or Lines(self.text)
        line, column = self._lines.locate(start)
        warning = self._warnings[(start, message)] = f"line {line}, column {column}: {message}"
        return warning

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, in the order of the text."""
        return tuple(self._warnings[key] for key in sorted(self._warnings))

    def raise_first(self) -> None:
        """Raise the leftmost problem; of several at one place, the one that was found first."""
        if self._found:
            first = min(self._found, key=lambda problem: problem.start)
            raise error_at(
                self.text,
                first.start,
                first.end,
                first.code,
                first.message,
                expected=first.expected,
                hint=first.hint,
                fix=first.fix,
            )
