"""Bag union: the rows of several answers together, and rows in the order of an answer.

whole = united([some, others])             # tables of the same variables; until when all rows hold, or of none
in_row_order(whole)                        # by their terms; of equal ones those first that hold longest
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from csparql_spark.answers.bindings import Bindings, Result
from csparql_spark.answers.ordering import in_order


def united(answers: Sequence[Result]) -> Result:
    """The rows of all of them, one answer after the other."""
    tables = [answer.solutions for answer in answers]
    columns = [pa.concat_arrays(parts) for parts in zip(*(table.columns for table in tables))]
    together = Result.bindings(tables[0].variables, columns, sum(map(len, tables)))
    untils = [answer.until for answer in answers if answer.until is not None]
    return together if len(untils) < len(answers) else together.holding(np.concatenate(untils))


def in_row_order(answer: Result) -> Result:
    """The rows in the order of their terms."""
    table = answer.solutions
    if not table.variables:
        return answer if answer.until is None else answer.holding(np.sort(answer.until)[::-1])
    terms, ranks = table.encoded()
    ranks, until = in_order(ranks, answer.until)
    return Result.from_table(Bindings.from_ids(table.variables, terms, ranks, table.length, in_order=True)).holding(
        until
    )
