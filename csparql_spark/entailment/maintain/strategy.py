"""Maintenance strategies: ways to keep the explicit facts and all that follows from them, while both change.

All strategies give the same content, each fact with its tag; they differ in what a change costs.

- `Expiration`      what expired is known by its tag: a slide costs what is new (the IMaRS paper)
- `DeleteRederive`  what expired is deleted with all that was derived from it, and what still follows is derived again
                    (Volz, Staab and Motik)
- `Counting`        derivations are counted: a fact that loses one may have another; for rules that are not recursive
- `Recompute`       everything from the beginning, whenever something has changed: the baseline

    facts: Materialization = Expiration(dictionary, rules)
    facts.load_closed(*background)
    facts.insert(s, p, o, tag)
    facts.expire(12)
    facts.visible(after=12)                 # Facts(s, p, o, tag): all that holds after the instant 12

A tag is the instant up to which a fact holds: it holds while its tag is later than now. Tags up to the last `expire`
hold no more, and facts that come too late to hold at all are ignored. Columns are int64, and belong to the
materialization once they were given to it. Ids are those of one `TermDictionary`; when it is compacted, `terms()` are
the ids that must be kept, and `renumber` has to be called with the table that came out, before anything else.

How long a fact holds is decided by the derivation that holds longest. Therefore the content for a narrower window, all
of whose tags are earlier by one offset, is `visible` with an `after` that is later by as much.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from csparql_spark.language.rules.rule import Rule
from csparql_spark.relations.graph import Facts
from csparql_spark.relations.moving import Moving


class Materialization(Protocol):
    @property
    def moving(self) -> Moving:
        """The closed facts, for those who follow them. It stays the same object, whatever happens to them, unless this
        materialization takes the place of another."""

    def succeed(self, other: Materialization) -> bool:
        """Take the place of another one: who follows that hears what is different, and follows this from now on. The
        other is of no use then. False, and nothing has changed, if it is of another strategy."""

    def insert(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        """State facts. A fact that was stated before keeps the later tag."""

    def load_closed(self, s: np.ndarray, p: np.ndarray, o: np.ndarray, tag: np.ndarray) -> None:
        """State facts from which, under the rules, nothing follows but themselves."""

    def remove(self, s: np.ndarray, p: np.ndarray, o: np.ndarray) -> None:
        """Take back what was stated. A fact that follows from others stays; one that was never stated does not
        matter."""

    def expire(self, upto: int) -> None:
        """Facts with tags up to this instant hold no more."""

    def add_rules(self, rules: Iterable[Rule]) -> None:
        """Rules that are there do not matter. Raises `UnsafeRules`, or where derivations are counted `RecursiveRules`,
        and then nothing has changed."""

    def remove_rules(self, rules: Iterable[Rule]) -> None:
        """Raises ValueError for a rule that is not there."""

    def visible(self, after: int) -> Facts:
        """All facts, explicit and derived, with tags later than `after`, each once."""

    def terms(self) -> np.ndarray:
        """The ids in use, those of the rules' constants included: sorted, each once."""

    def renumber(self, table: np.ndarray) -> None:
        """Id `i` has become `table[i]`; the order of the ids in use is the same as before."""
