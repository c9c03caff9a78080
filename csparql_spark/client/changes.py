"""Changes: what a query says otherwise than before, and the whole answers that they are folded into.

    keyframe ─▶ change ─▶ change ─▶ …          whole at 1000 ─▶ whole at 2000 ─▶ whole at 4000 ─▶ …
                at 2000     at 4000
                since 1000  since 2000

    fold = AnswerFold()
    for line in lines:                         # of …/answers?changes&from=beginning, or the bodies of a webhook
        change = fold.take(json.loads(line))
        for row in change.added:
            print("+", row["room"])
        print(change.whole.rows)

A fold holds a bag of rows, in no order that means something; of a query with ORDER BY the list, for its changes say
places. A whole is made of it when it is asked for.

Invariant: a fold holds what the query said at the instant `at`, or (None) nothing. A change that is since another
instant than that, or of another version of the query, or takes away what is not there, leaves it with nothing, until it
is told a whole again. Of a query that is replaced there is a fold for each version while both are told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any, Protocol

from csparql_spark.client.answer import Answer, answer_of, results_of, rows_of
from csparql_spark.client.following import Event
from csparql_spark.client.terms import Term

row_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

Until = int | None  # None: for ever, or nobody has said until when
HeldRow = tuple[str, Until]  # a row as text, and until when it holds


class UnfitChange(Exception):
    """A change that is not one of what is held."""


@dataclass(frozen=True)
class ChangedRows:
    """Some rows of a change, or (`triples`, N-Triples text) some of a graph. Beside them, as many: `until` when each
    holds (None: for ever), `was`, until when it did, whether it was `revoked` before that, and in a list its place."""

    rows: list[dict[str, Term]] = field(default_factory=list)
    until: list[Until] | None = None
    was: list[Until] | None = None
    revoked: list[bool] = field(default_factory=list)
    places: list[int] | None = None
    triples: str | None = None

    def __len__(self) -> int:
        return len(self.rows) if self.triples is None else self.triples.count("\n")

    def __iter__(self) -> Iterator[dict[str, Term]]:
        return iter(self.rows)


@dataclass(frozen=True)
class Change:
    """What has changed from the instant `since` to the instant `at`: the rows that are `added` and `removed`, and those
    that `stayed` and hold till another time. Of an ASK `truth` is what it says now, and `until` for how long.

    `kind` is change, or keyframe: a whole that changes begin with, since nothing; or unchanged, where that is told.
    """

    kind: str
    query: str
    at: int  # epoch ms
    since: int | None = None
    variables: tuple[str, ...] = ()
    added: ChangedRows = ChangedRows()
    removed: ChangedRows = ChangedRows()
    stayed: ChangedRows = ChangedRows()
    truth: bool | None = None
    until: list[Until] | None = None
    id: str | None = None  # of the event, where it came as one
    data: dict[str, Any] = field(default_factory=dict, repr=False)  # all of it, as it came
    fold: AnswerFold | None = field(default=None, repr=False, compare=False)

    @property
    def version(self) -> int | None:
        """The version of the query that says it, as far as that came with it."""
        version: int | None = self.data.get("version")
        return version

    @cached_property
    def whole(self) -> Answer:
        """All that the query says at this instant. It is made when it is first asked for, and that is before the next
        change of the query is folded: afterwards it is a `LookupError`, as it is where the whole could not be had."""
        if self.fold is None or self.fold.at != self.at:
            held = "nothing is" if self.fold is None or self.fold.at is None else f"that at {self.fold.at} is"
            raise LookupError(
                f"the answer of {self.query} at {self.at} is not held here, {held}: ask the server for it, with "
                f"client.answers({self.query!r}, at={self.at}), and take a whole before the next change"
            )
        return self.fold.whole(self.id)


class AnswerFold:
    """What one query says, folded from what is told of it."""

    def __init__(self) -> None:
        self.at: int | None = None
        self._query: str | None = None
        self._version: int | None = None
        self._content: AnswerContent | None = None
        self._last: dict[str, Any] | None = None  # the change that was folded last

    def begin(self, data: dict[str, Any]) -> None:
        """With a whole, as events, ranges and webhooks have it."""
        results = results_of(data)
        if "triples" in data:
            self._content = GraphContent(data)
        elif "boolean" in results:
            self._content = TruthContent(data)
        else:
            self._content = TableContent(data)
        self._query, self._version, self.at, self._last = data["query"], data.get("version"), data["at"], None

    def drop(self) -> None:
        """Hold nothing, until a whole comes."""
        self.at = self._content = self._last = None

    def take(self, data: dict[str, Any], id: str | None = None) -> Change:
        """Fold what is told of an instant: a whole, a change, or that nothing has changed. What is told twice in
        succession, as to a webhook, is folded once."""
        kind = kind_of(data)
        if kind == "keyframe":
            self.begin(data)
        elif kind == "change" and self.at == data["at"] and self._last == data:
            pass
        elif kind == "problem" or self._content is None or not self._follows(data):
            self.drop()
        else:
            try:
                self._content.fold(data)
                self.at, self._last = data["at"], data
            except UnfitChange:
                self.drop()
        return self._change(kind, data, id)

    def _follows(self, data: dict[str, Any]) -> bool:
        return data.get("since", self.at) == self.at and data.get("version") == self._version

    def whole(self, id: str | None = None) -> Answer:
        """What is held, as an answer. Raises `LookupError` if nothing is."""
        if self._content is None:
            raise LookupError("no whole answer is held here")
        version = {} if self._version is None else {"version": self._version}
        return answer_of({"query": self._query, **version, "at": self.at, **self._content.members()}, id=id)

    def _change(self, kind: str, data: dict[str, Any], id: str | None) -> Change:
        parts = [_rows(data.get(name)) for name in ("added", "removed", "until")] if kind == "change" else []
        variables = self._content.variables if self._content is not None else _names(parts)
        asked = results_of(data) if kind == "keyframe" else data
        truth = asked.get("boolean")
        until = data.get("until") if truth is not None else None
        added, removed, stayed = parts or [ChangedRows()] * 3
        return Change(
            kind,
            data["query"],
            data["at"],
            data.get("since"),
            variables,
            added,
            removed,
            stayed,
            truth,
            until,
            id,
            data,
            self,
        )


def kind_of(data: dict[str, Any]) -> str:
    """What is told: a keyframe, a change, that it is unchanged, or that there is a problem."""
    if "since" in data:
        parts = (data.get(name) for name in ("added", "removed", "until"))
        rows = any(part["bindings"] if isinstance(part, dict) else part for part in parts)
        return "change" if rows or "boolean" in data else "unchanged"
    if "results" in data or "triples" in data:
        return "keyframe"
    return "problem"


class AnswerContent(Protocol):
    """What an answer of one kind holds."""

    variables: tuple[str, ...]

    def fold(self, data: dict[str, Any]) -> None:
        """Raises `UnfitChange`, and is in no order then."""

    def members(self) -> dict[str, Any]:
        """The members that an envelope has of it."""


class TableContent:
    """Rows: a list, until a change says that they are a bag."""

    def __init__(self, data: dict[str, Any]) -> None:
        results = results_of(data)
        self.variables: tuple[str, ...] = tuple(results["head"]["vars"])
        self._timed = "until" in data
        self._list = entries(results["results"]["bindings"], data.get("until"))
        self._bag: dict[HeldRow, int] | None = None

    def fold(self, data: dict[str, Any]) -> None:
        added, removed, stayed = data.get("added", {}), data.get("removed", {}), data.get("until", {})
        if not added:  # it is unchanged
            return
        gone = entries(removed["bindings"], removed.get("until"))
        come = entries(added["bindings"], added.get("until"))
        before = entries(stayed["bindings"], stayed.get("was"))
        now = entries(stayed["bindings"], stayed.get("until"))
        if "places" in added:
            self._list = without(self._list, removed["places"], gone)
            self._list = inserted(self._list, added["places"], come)
            for place, (row, _), entry in zip(stayed["places"], before, now, strict=True):
                if not 0 <= place < len(self._list) or self._list[place][0] != row:
                    raise UnfitChange
                self._list[place] = entry
        else:
            self._fold_bag(chain(gone, before), chain(come, now))
        self._timed = "until" in added

    def _fold_bag(self, gone: Iterable[HeldRow], come: Iterable[HeldRow]) -> None:
        if self._bag is None:
            self._bag = {}
            for entry in self._list:
                self._bag[entry] = self._bag.get(entry, 0) + 1
            self._list = []
        for entry in gone:
            left = self._bag.get(entry, 0) - 1
            if left > 0:
                self._bag[entry] = left
            elif left == 0:
                del self._bag[entry]
            else:
                raise UnfitChange
        for entry in come:
            self._bag[entry] = self._bag.get(entry, 0) + 1

    def members(self) -> dict[str, Any]:
        held: Iterable[HeldRow] = self._list
        if self._bag is not None:
            held = chain.from_iterable(repeat(entry, count) for entry, count in self._bag.items())
        held = list(held)
        bindings = json.loads(f"[{','.join(row for row, _ in held)}]")
        until = {"until": [end for _, end in held]} if self._timed else {}
        return {**until, "results": {"head": {"vars": list(self.variables)}, "results": {"bindings": bindings}}}


class GraphContent:
    """The lines of a graph in N-Triples."""

    variables: tuple[str, ...] = ()

    def __init__(self, data: dict[str, Any]) -> None:
        self._lines = set(lines_of(data["triples"]))

    def fold(self, data: dict[str, Any]) -> None:
        gone = set(lines_of(data.get("removed", "")))
        if not gone <= self._lines:
            raise UnfitChange
        self._lines -= gone
        self._lines.update(lines_of(data.get("added", "")))

    def members(self) -> dict[str, Any]:
        return {"triples": "".join(sorted(self._lines))}


class TruthContent:
    """What an ASK says, and for how long."""

    variables: tuple[str, ...] = ()

    def __init__(self, data: dict[str, Any]) -> None:
        self._truth, self._until = results_of(data)["boolean"], data.get("until")

    def fold(self, data: dict[str, Any]) -> None:
        if "boolean" in data:
            self._truth, self._until = data["boolean"], data.get("until")

    def members(self) -> dict[str, Any]:
        until = {} if self._until is None else {"until": self._until}
        return {**until, "results": {"head": {}, "boolean": self._truth}}


def entries(bindings: list[dict[str, Any]], until: list[Until] | None) -> list[HeldRow]:
    rows = map(row_text, bindings)
    return list(zip(rows, repeat(None), strict=False) if until is None else zip(rows, until, strict=True))


def without(entries: list[HeldRow], places: list[int], gone: list[HeldRow]) -> list[HeldRow]:
    """The entries but those at some places, which go up. Raises `UnfitChange` if others stand there."""
    rest: list[HeldRow] = []
    end = 0
    for place, entry in zip(places, gone, strict=True):
        if not end <= place < len(entries) or entries[place] != entry:
            raise UnfitChange
        rest += entries[end:place]
        end = place + 1
    return rest + entries[end:]


def inserted(entries: list[HeldRow], places: list[int], come: list[HeldRow]) -> list[HeldRow]:
    """The entries with others that have those places then, which go up. Raises `UnfitChange`."""
    made: list[HeldRow] = []
    begin = 0
    for place, entry in zip(places, come, strict=True):
        end = begin + place - len(made)
        if not begin <= end <= len(entries):
            raise UnfitChange
        made += entries[begin:end]
        made.append(entry)
        begin = end
    return made + entries[begin:]


def lines_of(triples: str) -> list[str]:
    """Not what Python takes for lines: a literal may hold a character that is none of N-Triples' ends of lines."""
    return [line + "\n" for line in triples.split("\n") if line]


# The whole that a version of a query (None: as it is) has said at an instant, if it is still there.
Kept = Callable[[str, int | None, int], dict[str, Any] | None]


def folded(events: Iterable[Event], kept: Kept, other: Callable[[Event], None]) -> Iterator[Change]:
    """The changes among the events of queries, each folded when it is told. `kept` is asked for the whole of an
    instant, where a change is since one that is not held; `other` is told what is no change."""
    folds: dict[str, dict[int | None, AnswerFold]] = {}
    for event in events:
        if event.kind in KINDS:
            versions = folds.setdefault(event.data["query"], {})
            yield folded_event(fold_of(versions, event.data.get("version")), event, kept)
        else:
            if event.kind in ("gap", "end"):
                folds.pop(event.data.get("query", ""), None)
            if event.kind != "progress":
                other(event)


KINDS = ("keyframe", "change", "unchanged", "answer")  # a server that knows no changes tells answers


def fold_of(versions: dict[int | None, AnswerFold], version: int | None) -> AnswerFold:
    """The fold of a version of a query; of the others the newest stays, which may have more to say."""
    if version not in versions:
        for old in sorted(versions, key=lambda known: known or 0)[:-1]:
            del versions[old]
        versions[version] = AnswerFold()
    return versions[version]


def folded_event(fold: AnswerFold, event: Event, kept: Kept) -> Change:
    query, at, since = event.data["query"], event.data["at"], event.data.get("since")
    version = event.data.get("version")
    if since is not None and since != fold.at and (whole := kept(query, version, since)) is not None:
        fold.begin(whole)
    change = fold.take(event.data, event.id)
    if fold.at is None and (whole := kept(query, version, at)) is not None:
        fold.begin(whole)
    return change


def _rows(part: dict[str, Any] | str | None) -> ChangedRows:
    if part is None or isinstance(part, list):  # of an ASK, `until` is told of itself
        return ChangedRows()
    if isinstance(part, str):
        return ChangedRows(triples=part)
    rows = rows_of(part["bindings"])
    revoked = part.get("revoked", [False] * len(rows))
    return ChangedRows(rows, part.get("until"), part.get("was"), revoked, part.get("places"))


def _names(parts: Iterable[ChangedRows]) -> tuple[str, ...]:
    """The variables that rows bind, where no whole has said which there are."""
    return tuple(dict.fromkeys(name for part in parts for row in part for name in row))
