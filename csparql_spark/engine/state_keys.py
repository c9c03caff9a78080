"""The keys under which a group's values are in a state store. The one place that knows their numbers.

A key is a place in the log and the number of a stream or a graph of the group. Where that number is below zero, it says
what the value is instead:

    (place, n ≥ 0)     a slide of a stream, or a background graph      its (last) entry
    (query, -1)        a registration                                  the query's id is the place of its entry
    (0, -2)            the summary                                     no entry is at place 0
    (query, -3)        what a query answered last
    (place, -4)        a user's rule set
    (query, -5 - i)    piece i of what has changed since that answer
    (-1 - n, -1)       piece n of the entries that are held back            no entry is before place 1

Invariant: what is a key in a state store stays one: stores outlive the program that wrote them.

    StateKey.registration(4)                    # StateKey(seq=4, stream=-1)
    StateKey(7, 0).kind                         # ValueKind.ELEMENTS
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ValueKind(Enum):
    """What a value of the state is."""

    ELEMENTS = "elements"  # a slide, or a background graph
    REGISTRATION = "registration"
    SUMMARY = "summary"
    LAST_ANSWER = "last answer"  # it changes under its key
    RULE_SET = "rule set"
    CHANGES = "changes"  # these, too
    HELD = "held entries"


_NUMBERS = {-1: ValueKind.REGISTRATION, -2: ValueKind.SUMMARY, -3: ValueKind.LAST_ANSWER, -4: ValueKind.RULE_SET}
_FIRST_CHANGES = -5


class StateKey(NamedTuple):
    """The key of a value: the place of the (last) entry in it, and the number of its stream or graph, or of its
    kind."""

    seq: int
    stream: int

    @classmethod
    def registration(cls, query: int) -> StateKey:
        return cls(query, -1)

    @classmethod
    def summary(cls) -> StateKey:
        return cls(0, -2)

    @classmethod
    def last_answer(cls, query: int) -> StateKey:
        return cls(query, -3)

    @classmethod
    def rule_set(cls, seq: int) -> StateKey:
        return cls(seq, -4)

    @classmethod
    def changes(cls, query: int, piece: int) -> StateKey:
        return cls(query, _FIRST_CHANGES - piece)

    @classmethod
    def held(cls, piece: int) -> StateKey:
        return cls(-1 - piece, -1)

    @property
    def kind(self) -> ValueKind:
        if self.seq < 0:
            return ValueKind.HELD
        if self.stream >= 0:
            return ValueKind.ELEMENTS
        return _NUMBERS.get(self.stream, ValueKind.CHANGES)
