"""Printers: answers, and what changes in them, as lines for people, as CSV, or as JSON.

    show = printer_of("table", changes=True)
    for change in client.follow("Hot"):
        show(change)

    ── Hot at 1700000000000: keyframe, 2 rows           a whole, which changes begin with, or begin with again
       ?room       ?c
       <urn:hall>  21.5
       <urn:lab>   19.0
    ── Hot at 1700000001000: changes since 1700000000000
       + <urn:shed>  22.0
       - <urn:lab>   19.0  revoked                      it went before the time until which it was said to hold
       ~ <urn:hall>  21.5  until 2023-11-14T22:13:29.000Z

In CSV each row has a word for that: `keyframe` stands in a line of its own, and all rows of that instant follow as
`added`. In JSON a line is what the server tells.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import click

from csparql_spark.client import IRI, Answer, BlankNode, Change, ChangedRows, Literal, Term


def printer_of(form: str, *, changes: bool = False) -> Callable[[Any], None]:
    """Prints answers, or changes, one after the other."""
    if form == "json":
        return lambda told: click.echo(json.dumps(told.data, ensure_ascii=False))
    if form == "csv":
        return csv_of_changes() if changes else csv_of_answers()
    return show_change if changes else show_answer


class CsvTable:
    """One table of all that is printed. Where it is of other variables from some line on, a head says so."""

    def __init__(self, *columns: str) -> None:
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._columns = columns
        self._variables: tuple[str, ...] | None = None

    def head(self, variables: tuple[str, ...]) -> None:
        if variables != self._variables:
            self._variables = variables
            self._writer.writerow([*self._columns, *variables])

    def line(self, *cells: object) -> None:
        self._writer.writerow(cells)


def csv_of_answers() -> Callable[[Answer], None]:
    table = CsvTable("query", "at")

    def show(answer: Answer) -> None:
        table.head(answer.variables)
        for row in rows_of_answer(answer, plain):
            table.line(answer.query, answer.at, *row)

    return show


def csv_of_changes() -> Callable[[Change], None]:
    """With what has become of a row, and until when it holds, if that is known and not for ever."""
    table = CsvTable("query", "at", "change", "until")

    def show(change: Change) -> None:
        table.head(change.variables)
        if change.kind != "change":
            table.line(change.query, change.at, change.kind, None, *repeat(None, len(change.variables)))
        for row in changed_rows(change, plain):
            table.line(change.query, change.at, "revoked" if row.revoked else WORDS[row.sign], row.until, *row.cells)

    return show


WORDS = {"+": "added", "-": "removed", "~": "until"}


def show_answer(answer: Answer) -> None:
    rows = rows_of_answer(answer, spelled)
    click.echo(f"── {answer.query} at {answer.at}: {counted(rows)}")
    show_table(answer.variables, rows)


def show_table(variables: tuple[str, ...], rows: list[list[str]]) -> None:
    if rows:
        lines = [[f"?{name}" for name in variables] or [""] * len(rows[0]), *rows]
        for line in aligned(lines)[0 if variables else 1 :]:
            click.echo(f"   {line}".rstrip())


def show_change(change: Change) -> None:
    head = f"── {change.query} at {change.at}"
    if change.kind == "keyframe":
        rows = rows_of_answer(change.whole, spelled)
        click.echo(f"{head}: keyframe, {counted(rows)}")
        show_table(change.variables, rows)
        return
    if change.kind == "unchanged":
        click.echo(f"{head}: unchanged")
        return
    click.echo(f"{head}: changes since {change.since}")
    changed = list(changed_rows(change, spelled))
    for line, row in zip(aligned([row.cells for row in changed]), changed, strict=True):
        click.echo(f"   {row.sign} {line}{row.remark}".rstrip())


class ChangedRow(NamedTuple):
    sign: str
    cells: list[str]
    until: int | None = None
    timed: bool = False  # `until` is known, and None is for ever
    revoked: bool = False

    @property
    def remark(self) -> str:
        """What is to be said beside it."""
        from csparql_spark.asking.timeline import written

        if self.revoked:
            return "  revoked"
        if self.sign != "~":
            return ""
        if not self.timed:
            return "  until not known"
        return "  for ever" if self.until is None else f"  until {written(self.until)}"


def changed_rows(change: Change, spell: Callable[[Term | None], str]) -> Iterator[ChangedRow]:
    """The rows of a change, as cells in the order of its variables; of a graph the triples, and what an ASK says now.
    Those of a keyframe come."""
    if change.kind == "keyframe":
        whole = change.whole
        for cells, until in zip(rows_of_answer(whole, spell), whole.until or repeat(None), strict=False):
            yield ChangedRow("+", cells, until, whole.until is not None)
    elif change.truth is not None:
        timed = change.until is not None
        yield ChangedRow("+", [str(change.truth).lower()], change.until[0] if change.until else None, timed)
    for sign, part in (("+", change.added), ("-", change.removed), ("~", change.stayed)):
        timed, revoked = part.until is not None, part.revoked or repeat(False)
        for cells, until, gone in zip(
            cells_of(part, change.variables, spell), part.until or repeat(None), revoked, strict=False
        ):
            yield ChangedRow(sign, cells, until, timed, gone)


def cells_of(part: ChangedRows, variables: tuple[str, ...], spell: Callable[[Term | None], str]) -> list[list[str]]:
    if part.triples is not None:
        return lines_of(part.triples)
    return [[spell(row.get(name)) for name in variables] for row in part]


def rows_of_answer(answer: Answer, spell: Callable[[Term | None], str]) -> list[list[str]]:
    if answer.triples is not None:
        return lines_of(answer.triples)
    if answer.truth is not None:
        return [[str(answer.truth).lower()]]
    return [[spell(row.get(name)) for name in answer.variables] for row in answer.rows]


def lines_of(triples: str) -> list[list[str]]:
    """Not what Python takes for lines: a literal may hold other ends of lines than N-Triples has."""
    return [[line] for line in triples.split("\n") if line]


def aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def counted(rows: list[list[str]]) -> str:
    return f"{len(rows)} row{'' if len(rows) == 1 else 's'}"


def plain(term: Term | None) -> str:
    return "" if term is None else str(term)


def spelled(term: Term | None) -> str:
    if isinstance(term, IRI):
        return f"<{term}>"
    if isinstance(term, BlankNode):
        return f"_:{term}"
    if isinstance(term, Literal):
        python = term.to_python()
        return str(term) if not isinstance(python, str) else json.dumps(str(term), ensure_ascii=False)
    return ""
