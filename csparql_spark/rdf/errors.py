"""What can be wrong with RDF that somebody hands in, as sentences.

An `RdfError` says what is wrong, where (line and column count from 1 and are absent when the syntax gives no place),
and shows the offending text. `str()` of it is the whole sentence, ready for a problem document:

    try: parse_push(b"<urn:a> <urn:b> ex:c .", RdfFormat.TURTLE, base=None, blank_prefix="b")
    except RdfError as error: print(error)
    # Line 1, column 17: The prefix ex: has not been declared (at 'ex:c').
"""

from __future__ import annotations


class RdfError(ValueError):
    """Text that is not the RDF it claims to be."""

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None, offending: str | None = None
    ) -> None:
        super().__init__(message, line, column, offending)
        self.message = message
        self.line = line
        self.column = column
        self.offending = offending

    def __str__(self) -> str:
        place = "" if self.line is None else f"Line {self.line}, column {self.column}: "
        shown = "" if not self.offending or self.offending in self.message else f" (at {self.offending!r})"
        return f"{place}{self.message.rstrip('.')}{shown}."


class NamesGraphs(RdfError):
    """RDF that is for one graph, and names graphs itself."""


class UnsupportedFormat(ValueError):
    """A media type or file name that names no RDF format; `accepted` lists those that do."""

    def __init__(self, message: str, accepted: tuple[str, ...]) -> None:
        super().__init__(message, accepted)
        self.message = message
        self.accepted = accepted

    def __str__(self) -> str:
        return f"{self.message} Accepted are: {', '.join(self.accepted)}."


class TermError(ValueError):
    """A string that is not a term in N-Triples syntax."""


class CorruptChunk(ValueError):
    """Bytes that are not a chunk, or a chunk whose columns contradict each other."""
