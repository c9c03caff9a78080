"""Few rows: an answer of few cells, put in the order of its terms by hand.

Columns cost tens of calls, however short they are, and most answers of narrow windows have a handful of rows. Up to
`MOST` cells lists are quicker. The order is that of `ordering.in_order`: rows by their terms, of equal ones those first
that hold longest.

    if is_few(table, variables):
        bindings, tags = few_in_order(dictionary, variables, table)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csparql_spark.answers.bindings import Bindings
from csparql_spark.answers.tables import Table
from csparql_spark.rdf.dictionary import TermDictionary

MOST = 60  # cells


def is_few(rows: Table, variables: tuple[str, ...]) -> bool:
    return bool(variables) and rows.length * len(variables) <= MOST


def few_in_order(
    dictionary: TermDictionary, variables: tuple[str, ...], rows: Table
) -> tuple[Bindings, np.ndarray | None]:
    """The table of these variables, and the tags of its rows."""
    if not rows.length:
        return Bindings.from_lists(variables, [], [()] * len(variables)), rows.tag
    columns = [rows.column(f"?{name}").tolist() for name in variables]
    cells = set().union(*columns)
    cells.discard(-1)
    ids = list(cells)
    terms = sorted(zip(dictionary.decode(np.array(ids, np.int64)), ids))
    rank = {id: place for place, (_, id) in enumerate(terms)}
    rank[-1] = -1  # what is unbound comes first
    ranks: list[Sequence[int]] = [[rank[id] for id in column] for column in columns]
    tags = rows.tag
    if rows.length > 1:
        keys = ranks if tags is None else [*ranks, (-tags).tolist()]
        ranks = list(zip(*sorted(zip(*keys))))
        if tags is not None:
            tags = -np.array(ranks.pop(), dtype=np.int64)
    return Bindings.from_lists(variables, [term for term, _ in terms], ranks), tags
