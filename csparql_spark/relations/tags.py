"""Tags: what is known of a row besides its terms, and what is known thereby of the rows that are made of it.

A tag belongs to an algebra: `join` makes the tag of a derivation of those of its premises, `union` the tag of a fact of
those of its derivations, as columns, row by row.

    algebra    a tag says                  join       union      zero    one
    UNTIL      when the row stops to hold  earliest   latest     NEVER   ALWAYS
    COUNT      how often it was derived    product    sum        0       1
    COUNTED    both: how many of its derivations stop to hold at each instant

    UNTIL.join(np.array([12]), np.array([15]))                      # [12]: a derivation holds as long as its premises
    UNTIL.united(np.array([7, 7]), np.array([12, 15]))              # ([7], [15]): a fact as long as its derivations
    COUNTED.united(np.array([7, 7]), Counted(np.array([12, 12]), np.array([1, 1])))     # ([7], ([12], [2]))

Laws: both operations are associative and commutative, `zero` (no derivation) and `one` (no premise) are neutral in
them, nothing is derived from `zero`, and `join` distributes over `union`: so it does not matter in which order rows are
joined and put together. What has expired, tags up to now, may be left out before or after either operation. In UNTIL
both are idempotent, which is why a fact may be derived from itself and a fixpoint is reached; with COUNT it would never
be, and a program may only be closed under rules with UNTIL.

COUNTED is not a pair of one instant and one number for a row: when some of its derivations expire, nobody would know
how many are left. It is a number for each instant, the product of the two algebras: a fact has a row for each.
`until` takes a fact back to UNTIL, and what is joined or united afterwards is the same as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from csparql_spark.kernel.sort import order_of, unite

ALWAYS = int(np.iinfo(np.int64).max)  # the tag of what never expires
NEVER = int(np.iinfo(np.int64).min)  # the tag of what does not hold


@dataclass(frozen=True, slots=True)
class Algebra:
    """Tags that are one int64 each. Rows whose tags are `zero` or less do not hold."""

    union: np.ufunc  # of two derivations of a fact
    join: np.ufunc  # of two premises of a derivation
    zero: int
    one: int
    idempotent: bool  # whether a fact that is derived again in the same way stays as it is

    def united(self, keys: np.ndarray, tags: np.ndarray, now: int = NEVER) -> tuple[np.ndarray, np.ndarray]:
        """The distinct keys, sorted, each with the union of its tags. Tags up to `now` do not count."""
        return unite(keys, tags, self.union, now)


UNTIL = Algebra(union=np.maximum, join=np.minimum, zero=NEVER, one=ALWAYS, idempotent=True)
COUNT = Algebra(union=np.add, join=np.multiply, zero=0, one=1, idempotent=False)


class Counted(NamedTuple):
    """Tags of COUNTED: so many derivations until an instant. Numbers below zero take derivations back."""

    until: np.ndarray
    number: np.ndarray


@dataclass(frozen=True, slots=True)
class Product:
    """The product of two algebras: for each tag of the one, which tells rows apart, a tag of the other."""

    times: Algebra
    counts: Algebra

    def join(self, one: Counted, other: Counted) -> Counted:
        return Counted(self.times.join(one.until, other.until), self.counts.join(one.number, other.number))

    def united(self, keys: np.ndarray, tags: Counted) -> tuple[np.ndarray, Counted]:
        """Sorted by key and instant; each pair of them once, and none that has no derivation."""
        order = order_of(tags.until)
        order = order[order_of(keys[order])]
        keys, until, number = keys[order], tags.until[order], tags.number[order]
        if len(keys):
            new = np.concatenate([[True], (keys[1:] != keys[:-1]) | (until[1:] != until[:-1])])
            starts = np.flatnonzero(new)
            keys, until, number = keys[starts], until[starts], self.counts.union.reduceat(number, starts)
        some = number != self.counts.zero
        return keys[some], Counted(until[some], number[some])

    def until(self, wanted: np.ndarray, keys: np.ndarray, tags: Counted) -> np.ndarray:
        """Until when the wanted keys hold: the union of their instants in united rows, `zero` where there is none."""
        result = np.full(len(wanted), self.times.zero)
        if len(keys):
            last = keys.searchsorted(wanted, side="right") - 1  # instants are sorted: the latest of each key
            known = np.flatnonzero((last >= 0) & (keys.take(last, mode="clip") == wanted))
            result[known] = tags.until[last[known]]
        return result


COUNTED = Product(UNTIL, COUNT)
