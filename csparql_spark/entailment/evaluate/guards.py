"""Guards over columns of ids: each distinct combination of arguments is looked at once.

What a guard says of terms stands in `builtins`; here its answers are kept per id, and spread over columns. An answer
is kept as long as an id means the same term: a `Terms` is made anew when ids change. Texts and patterns are compared by
the column, all that are asked about at once.

    terms = Terms(dictionary)
    guard = BoundGuard(Guard("lessThan", ("?x", '"28"^^<…integer>')), terms)
    rows, columns = guard.apply({"?x": ids}, len(ids))      # the rows that pass (None: all), and their columns
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.entailment.evaluate.builtins import MAKERS, TESTS
from csparql_spark.entailment.evaluate.patterns import all_match
from csparql_spark.kernel.sort import dense_ranks
from csparql_spark.language.rules.rule import Guard, is_variable
from csparql_spark.rdf.dictionary import TermDictionary

INVENTORS = frozenset(MAKERS) - {"min", "max"}  # what they make need not have been there before

IRI, BLANK, LITERAL = 0, 1, 2
_KINDS = {"<": IRI, "_": BLANK, '"': LITERAL}

Columns = dict[str, np.ndarray]


class Terms:
    """What the ids of a dictionary mean, as far as somebody has asked."""

    def __init__(self, dictionary: TermDictionary) -> None:
        self.dictionary = dictionary
        self._kinds = np.empty(0, dtype=np.int8)

    def kinds(self, ids: np.ndarray) -> np.ndarray:
        """IRI, BLANK or LITERAL for each id."""
        if len(ids) and int(ids.max()) >= len(self._kinds):
            new = self.dictionary.decode(np.arange(len(self._kinds), len(self.dictionary)))
            self._kinds = np.concatenate([self._kinds, np.array([_KINDS[term[0]] for term in new], dtype=np.int8)])
        return self._kinds[ids]


class BoundGuard:
    """A guard and the dictionary that its arguments are in."""

    def __init__(self, guard: Guard, terms: Terms) -> None:
        self.guard, self._terms = guard, terms
        self.is_maker = guard.name in MAKERS
        if not self.is_maker and guard.name not in TESTS:
            raise ValueError(f"There is no builtin {guard.name}. Known are {', '.join(sorted([*TESTS, *MAKERS]))}.")
        given = guard.arguments[:-1] if self.is_maker else guard.arguments
        self.given = given
        self.inputs = tuple(dict.fromkeys(node for node in given if is_variable(node)))
        self.output = guard.arguments[-1] if self.is_maker else ""  # of no variable, where nothing is made
        self._answers = np.empty(0, dtype=np.int64)  # of one input, by id; UNKNOWN where nobody asked

    def apply(self, columns: Columns, count: int) -> tuple[np.ndarray | None, Columns]:
        """The rows that pass (None: all), and the columns of these rows, with what the guard binds."""
        passing, made = self._answered(columns, count)
        if self.is_maker:
            wanted = columns.get(self.output) if is_variable(self.output) else self._constant(self.output)
            if wanted is not None:
                passing = passing & (made == wanted)
        if passing.all():
            rows, bound = None, dict(columns)
        else:
            rows = np.flatnonzero(passing)
            bound = {name: column[rows] for name, column in columns.items()}
        if self.is_maker and is_variable(self.output) and self.output not in columns:
            bound[self.output] = made if rows is None else made[rows]
        return rows, bound

    def _constant(self, term: str) -> int:
        return int(self._terms.dictionary.encode([term])[0])

    def _answered(self, columns: Columns, count: int) -> tuple[np.ndarray, np.ndarray]:
        """For each row whether the guard passes it, and what a maker makes of it."""
        inputs = [columns[name] for name in self.inputs]
        if not inputs:
            answers = np.broadcast_to(self._asked([()]), count)
        elif len(inputs) == 1:
            answers = self._of_one(inputs[0])
        elif self.guard.name in ("equal", "notEqual"):
            answers = self._of_equality(*inputs)
        else:
            answers = self._of_rows(inputs)
        return answers >= 0, answers

    def _of_one(self, ids: np.ndarray) -> np.ndarray:
        if len(ids) and int(ids.max()) >= len(self._answers):
            more = np.full(max(int(ids.max()) + 1, 2 * len(self._answers)) - len(self._answers), UNKNOWN)
            self._answers = np.concatenate([self._answers, more])
        answers = self._answers[ids]
        unknown = answers == UNKNOWN
        if unknown.any():
            new, _ = dense_ranks(ids[unknown])
            self._answers[new] = self._asked([(term,) for term in self._terms.dictionary.decode(new)])
            answers = self._answers[ids]
        return answers

    def _of_equality(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Different terms can only be equal when both are literals."""
        equal, unlike = (1, -1) if self.guard.name == "equal" else (-1, 1)
        answers = np.where(one == other, equal, unlike)
        kinds = self._terms.kinds
        doubtful = np.flatnonzero((one != other) & (kinds(one) == LITERAL) & (kinds(other) == LITERAL))
        if len(doubtful):
            answers[doubtful] = self._of_rows([one[doubtful], other[doubtful]])
        return answers

    def _of_rows(self, inputs: list[np.ndarray]) -> np.ndarray:
        """One question for each distinct combination."""
        codes, values = np.zeros(len(inputs[0]), dtype=np.int64), []
        for column in inputs:
            distinct, places = dense_ranks(column)
            values.append(distinct)
            _, codes = dense_ranks(codes * len(distinct) + places)
        if not len(codes):
            return codes
        first = np.zeros(int(codes.max()) + 1, dtype=np.int64)
        first[codes] = np.arange(len(codes))
        terms = [self._terms.dictionary.decode(column[first]) for column in inputs]
        return self._asked(list(zip(*terms)))[codes]

    def _asked(self, questions: list[tuple[str, ...]]) -> np.ndarray:
        """For each combination of inputs -1, where the guard does not pass it, or else 1, or the id of what it
        makes."""
        filled = []
        for question in questions:
            values = dict(zip(self.inputs, question))
            filled.append(tuple(values.get(node, node) for node in self.given))
        answers: Sequence[str | bool | None]
        if self.guard.name == "regex":
            answers = all_match(filled)  # type: ignore[arg-type]    # regex is given two: a text and a pattern
        else:
            builtin = (MAKERS if self.is_maker else TESTS)[self.guard.name]
            answers = [builtin(*given) for given in filled]
        if not self.is_maker:
            return np.where(np.array(answers, dtype=bool), 1, -1)
        result = np.full(len(answers), -1, dtype=np.int64)
        made = [place for place, answer in enumerate(answers) if answer is not None]
        result[made] = self._terms.dictionary.encode([answers[place] for place in made])
        return result


UNKNOWN = -2
