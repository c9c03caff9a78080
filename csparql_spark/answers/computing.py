"""Computing: expressions over columns of ids, by Oxigraph, once for each distinct combination of what they look at.

An expression is the text that the snapshot evaluator would write (see `expressions`), so it means the same by being the
same: it is asked over VALUES, one row for each combination that was not seen before. What was found is kept as long as
ids mean the same terms. Only what is a function of the terms alone may be asked here: no chance, no time, no timestamp.

    computing = Computing(content)
    age = Expression(("(", "<f:term>(?a) > 18", ")"), ("?a",))
    computing.test(age, {"?a": ids}, length)        # a mask: where FILTER would let the row pass
    computing.term(sum_, {"?a": ids}, length)       # ids; -1 where it is an error

Comparisons of plain numbers (see `plain_numbers`) do not need Oxigraph. What is computed gets an id of the dictionary,
and keeps it until ids change their meaning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyoxigraph as ox

from csparql_spark.answers.functions import Functions
from csparql_spark.answers.patterns import Constant, Piece
from csparql_spark.answers.plain_numbers import DECIMAL, DOUBLE, OTHER, Plain
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.relations.records import KeysTooWide, Records
from csparql_spark.relations.runs import Runs
from csparql_spark.relations.tags import NEVER
from csparql_spark.windows.content import Content

MOST_RESULTS = 500_000  # results that are kept of one expression
AT_ONCE = 10_000  # rows of one VALUES
SPARE = 3  # bits

Columns = dict[str, np.ndarray]
PlainTerms = tuple[np.ndarray, np.ndarray]  # kinds and numbers, as `Plain` tells them
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}  # with the sides exchanged
# Which kinds are compared as they are. A decimal is not compared with a double here: it would have to be rounded to one
# first.
ALIKE = np.ones((4, 4), dtype=bool)
ALIKE[OTHER, :] = ALIKE[:, OTHER] = ALIKE[DECIMAL, DOUBLE] = ALIKE[DOUBLE, DECIMAL] = False


@dataclass(frozen=True)
class Comparison:
    """One of `COMPARISONS` between two operands: a variable or a constant term."""

    sign: str
    left: str
    right: str


@dataclass(frozen=True)
class Expression:
    """A text over ids, and the variables in it. `comparison`, where it is nothing else but that; `base`: the IRI that
    others are relative to; `written`: as the user has it, for those who read the plan."""

    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    comparison: Comparison | None = None
    base: str | None = None
    written: str = field(default="", compare=False)


class Lasting(Functions):
    """The functions of a body, whose computed terms are terms of the dictionary like others."""

    def id_of(self, term: str) -> ox.NamedNode:
        return ox.NamedNode(f"i:{self._dictionary.encode([term])[0]}")


class Results:
    """What one expression has given, by what it was given."""

    def __init__(self, width: int, bits: int) -> None:
        self.records = Records(width, bits)
        self.runs = Runs()  # results, as tags


class Computing:
    """Expressions over the terms of a content."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._store = ox.Store()
        self.plain = Plain(content.dictionary)
        self._generation = -1

    def _ready(self) -> None:
        if self._generation != self._content.dictionary.generation:
            self._generation = self._content.dictionary.generation
            self.plain.restart()
            self._functions = Lasting(self._content.dictionary)
            self._functions.begin(instant=0)
            self._results: dict[tuple[str, Expression], Results] = {}
            self._texts: dict[Expression, str] = {}
            self._constants: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    # --- asking

    def test(self, expression: Expression, columns: Columns, length: int) -> np.ndarray:
        """Where an expression is true."""
        self._ready()
        if expression.comparison is not None:
            return self._compare(expression, expression.comparison, columns, length)
        return self._found("test", expression, columns, length) == 1

    def term(self, expression: Expression, columns: Columns, length: int) -> np.ndarray:
        """The ids of what an expression says."""
        self._ready()
        pieces = expression.pieces
        if len(pieces) == 1 and type(pieces[0]) is Constant:
            return np.full(length, self._content.dictionary.encode(pieces)[0])
        if len(pieces) == 1 and pieces[0] in (f"COALESCE({name})" for name in expression.names):
            return _column(columns, expression.names[0], length)
        return self._found("term", expression, columns, length)

    def numbers(self, ids: np.ndarray) -> PlainTerms:
        """Which of these are plain numbers, and which ones."""
        self._ready()
        return self.plain.of(ids)

    def _compare(self, expression: Expression, comparison: Comparison, columns: Columns, length: int) -> np.ndarray:
        left, right = (
            self.plain.of(_column(columns, operand, length)) if operand[0] == "?" else self._constant(operand)
            for operand in (comparison.left, comparison.right)
        )
        result, alike = compared(comparison.sign, left, right)
        if len(result) != length:  # of two constants
            result, alike = np.broadcast_to(result, length), np.broadcast_to(alike, length)
        if alike.all():
            return result
        others = np.flatnonzero(~alike)
        result = result.copy()
        result[others] = (
            self._found(
                "test",
                expression,
                {name: _column(columns, name, length)[others] for name in expression.names},
                len(others),
            )
            == 1
        )
        return result

    def _constant(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        """The kind and the number of a constant, which is read once."""
        known = self._constants.get(term)
        if known is None:
            known = self._constants[term] = self.plain.of(self._content.dictionary.encode([term]))
        return known

    def _found(self, kind: str, expression: Expression, columns: Columns, length: int) -> np.ndarray:
        """What an expression gives: 1 or 0 for a test, an id or -1 for a term."""
        if not length:
            return np.empty(0, dtype=np.int64)
        given = [_column(columns, name, length) + 1 for name in expression.names]
        if not given:
            return np.full(length, self._asked(kind, expression, [], 1)[0])
        results, keys = self._keys(kind, expression, given)
        keys, inverse = dense_ranks(keys)
        found = results.runs.tags_of(keys)
        new = found == NEVER
        if new.any():
            rows = [results.records.column(keys[new], place) - 1 for place in range(len(given))]
            found[new] = self._asked(kind, expression, rows, len(rows[0]))
            results.runs.add(keys[new], found[new])
            results.runs.settle()
        return found[inverse]

    def _keys(self, kind: str, expression: Expression, given: Sequence[np.ndarray]) -> tuple[Results, np.ndarray]:
        results = self._results.get((kind, expression))
        if results is not None and results.runs.rows <= MOST_RESULTS and results.records.given <= MOST_RESULTS:
            try:
                return results, results.records.pack(given)
            except KeysTooWide:  # there are more terms than there were: begin anew
                pass
        bits = len(self._content.dictionary).bit_length() + SPARE
        results = self._results[kind, expression] = Results(len(given), bits)
        return results, results.records.pack(given)

    # --- Oxigraph

    def _asked(self, kind: str, expression: Expression, rows: Sequence[np.ndarray], length: int) -> np.ndarray:
        parts = [
            self._answers(
                kind, expression, [column[first : first + AT_ONCE] for column in rows], min(AT_ONCE, length - first)
            )
            for first in range(0, length, AT_ONCE)
        ]
        return np.concatenate(parts)

    def _answers(self, kind: str, expression: Expression, rows: Sequence[np.ndarray], length: int) -> np.ndarray:
        row, result = "?row", "?result"
        while row in expression.names or result in expression.names:
            row, result = f"{row}_", f"{result}_"
        ids = zip(range(length), *(column.tolist() for column in rows))
        values = "\n".join(f"({' '.join('UNDEF' if id < 0 else f'<i:{id}>' for id in row_ids)})" for row_ids in ids)
        text = self._texts.get(expression)
        if text is None:
            text = self._texts[expression] = self._filled(expression.pieces)
        asked = f"FILTER({text})" if kind == "test" else f"BIND({text} AS {result})"
        base = "" if expression.base is None else f"BASE <{expression.base}>"
        found = self._functions.solutions(
            self._store,
            f"{base} SELECT {row} {result if kind == 'term' else ''} WHERE {{ "
            f"VALUES ({' '.join([row, *expression.names])}) {{ {values} }} {asked} }}",
        )
        _, _, cells = found.partition(b"\n")
        answers = np.full(length, 0 if kind == "test" else -1, dtype=np.int64)
        if cells:
            names = [row] if kind == "test" else [row, result]
            table = pa.csv.read_csv(
                pa.py_buffer(cells.translate(None, b"<i:>")),
                read_options=pa.csv.ReadOptions(column_names=names, use_threads=False),
                parse_options=pa.csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
                convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.int64())),
            )
            columns = [pc.fill_null(column, -1).to_numpy() for column in table.columns]
            answers[columns[0]] = 1 if kind == "test" else columns[1]
        return answers

    def _filled(self, pieces: Sequence[Piece]) -> str:
        constants = [piece for piece in pieces if type(piece) is Constant]
        ids = iter(self._content.dictionary.encode(constants).tolist())
        return " ".join(f"<i:{next(ids)}>" if type(piece) is Constant else piece for piece in pieces)


class Threshold(NamedTuple):
    """A comparison of a variable with a constant."""

    computing: Computing
    sign: str
    name: str
    constant: str


@dataclass(frozen=True)
class Test:
    """An expression that rows are kept by; equal ones keep the same. `computing` is that of the group."""

    computing: Computing
    expression: Expression

    @property
    def names(self) -> tuple[str, ...]:
        return self.expression.names

    @property
    def early(self) -> bool:
        """Whether it is cheap enough to be asked of rows that may never become matches."""
        return self.expression.comparison is not None

    @property
    def threshold(self) -> Threshold | None:
        """The same, if it is nothing but a comparison of a variable with a constant."""
        comparison = self.expression.comparison
        if comparison is None or (comparison.left[0] == "?") == (comparison.right[0] == "?"):
            return None
        sign, name, constant = comparison.sign, comparison.left, comparison.right
        if name[0] != "?":
            sign, name, constant = MIRRORED[sign], constant, name
        return Threshold(self.computing, sign, name, constant)

    def mask(self, columns: Columns, length: int) -> np.ndarray:
        return self.computing.test(self.expression, columns, length)


def compared(sign: str, left: PlainTerms, right: PlainTerms) -> tuple[np.ndarray, np.ndarray]:
    """Where a comparison of plain numbers is true, and where it is one."""
    alike = ALIKE[left[0], right[0]]
    return alike & COMPARISONS[sign](left[1], right[1]), alike


def _column(columns: Columns, name: str, length: int) -> np.ndarray:
    found = columns.get(name)
    return np.full(length, -1) if found is None else found
