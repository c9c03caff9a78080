"""Group state: what of a group is in a state store between batches, and how the group comes back from it.

Stored is the explicit content of the windows, in *slides* (what one batch added to one stream, cut at registrations),
the background, the registrations, entries that are held back (see `held_entries`), and a summary: how far the log was
read, and each member's progress. Nothing that can be derived is stored: graphs and answers are made again when a worker
starts cold.

A worker that holds the group in memory is *warm* if what is stored was saved by it: each save has a name of its own.
If it is behind, because another worker had the last batches, it reads the slides that it lacks. So it does if it is as
far as the summary says, and another one has saved that: a batch came twice, and who was cold has stored a whole answer
where the other would have stored what has changed. If it is ahead, a batch has failed after it: it starts cold. So it
does when it remembers none of the members: the group may have ended and begun again meanwhile, and then its numbers
mean something else.

    group = restore("1f0c…", state, remembered)     # from what is stored
    messages = list(group.feed(rows))
    save(group, state)                              # few calls, with large values
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, NotRequired, Protocol, TypedDict

import numpy as np

from csparql_spark.answers.last_answer import LastAnswer, packed, unpacked
from csparql_spark.engine.departures import Departures
from csparql_spark.engine.group import Group, Piece, unreadable
from csparql_spark.engine.held_entries import HeldEntries
from csparql_spark.engine.member import Member, MemberState
from csparql_spark.engine.state_keys import StateKey, ValueKind
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import Registration
from csparql_spark.windows.content import END_OF_TIME
from csparql_spark.windows.rule import BEGINNING_OF_TIME, lasting


class State(Protocol):
    """A group's share of a state store."""

    def summary(self) -> bytes | None: ...
    def set_summary(self, summary: bytes) -> None: ...
    def keys(self) -> Iterator[StateKey]: ...
    def get(self, key: StateKey) -> bytes: ...
    def put(self, key: StateKey, value: bytes) -> None: ...
    def drop(self, key: StateKey) -> None: ...
    def clear(self) -> None: ...


class Summary(TypedDict):
    """How far a group has read, what its numbers mean, and its members' states by their ids. `save` names what has
    stored it; who has stored it before there were names is nobody that is still there. Where it waits for its
    background: up to which entry it holds what has come, and in which pieces that is stored."""

    seq: int
    save: NotRequired[str]
    reached: NotRequired[int]
    waiting: NotRequired[bool]
    pieces: NotRequired[tuple[int, int]]
    streams: dict[str, int]
    graphs: dict[str, int]
    members: dict[str, MemberState]


class AnswerExtent(NamedTuple):
    """How much of what a query answered last is stored: the whole, and so many changes in so many pieces."""

    whole: bytes
    changes: int
    pieces: int


class StoredGroup(Group):
    """A group that knows what of it is stored: each key, with the newest stamp in a slide (None for what does not
    expire)."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.stored: dict[StateKey, int | None] = {}
        self.permanent: set[StateKey] = set()  # of these, what goes when somebody goes
        self.departures = Departures()  # and the others
        self.stored_answers: dict[int, AnswerExtent] = {}
        self.save = ""  # that it was stored by last


def restore(key: str, state: State, remembered: StoredGroup | None = None) -> StoredGroup:
    """The group as it was when it was saved last."""
    value = state.summary()
    if value is None:
        return StoredGroup(key)
    summary: Summary = json.loads(value)
    if remembered is not None:
        reached, waiting = summary.get("reached", summary["seq"]), summary.get("waiting", False)
        answered = remembered.seq == summary["seq"] and waiting and not remembered.waiting
        ahead = remembered.seq > summary["seq"] or remembered.reached > reached or answered
        if ahead or not any(str(id) in summary["members"] for id in remembered.members):
            remembered = None
    if remembered is not None and remembered.save == summary.get("save"):
        return remembered
    group = remembered or StoredGroup(key)
    group.seq, group.save = summary["seq"], summary.get("save", "")
    group.streams = summary["streams"]
    keys = set(state.keys())
    registrations = _restore_content(group, state, summary, keys)
    for name, progress in summary["members"].items():
        _restore_member(group, state, int(name), progress, registrations, keys)
    for id in group.members.keys() - {int(name) for name in summary["members"]}:
        del group.members[id]
    group.members_changed()
    group.wait.is_on = summary.get("waiting", False)
    first, next = summary.get("pieces", (0, 0))
    group.wait.held = HeldEntries.restored((state.get(StateKey.held(piece)) for piece in range(first, next)), first)
    return group


def _restore_content(
    group: StoredGroup, state: State, summary: Summary, keys: Collection[StateKey]
) -> dict[int, Registration]:
    """Take slides, background and rule sets that the group lacks; the registrations among what it lacks."""
    for key in group.stored.keys() - set(keys):
        del group.stored[key]
    graphs = {(seq, group.streams[graph]): graph for graph, seq in summary["graphs"].items()}
    registrations: dict[int, Registration] = {}
    for key in sorted(set(keys) - group.stored.keys()):
        value = state.get(key)
        group.stored[key] = None
        group.permanent.add(key)
        match key.kind:
            case ValueKind.REGISTRATION:
                registrations[key.seq] = json.loads(value)
            case ValueKind.RULE_SET:
                rule_set, seq, text = json.loads(value)
                group.set_rules(rule_set, seq, text)
            case ValueKind.LAST_ANSWER | ValueKind.CHANGES | ValueKind.HELD:
                pass  # they are read with their members, and behind all
            case _ if key in graphs:
                group.set_background(graphs[key], key.seq, value)
                group.new_graphs.clear()
            case _:
                chunk = Chunk.from_ipc(value)  # a slide
                group.content.add(key.stream, key.seq, chunk)
                group.permanent.remove(key)
                _note_slide(group, key, chunk)
    return registrations


def _note_slide(group: StoredGroup, key: StateKey, chunk: Chunk) -> None:
    """A slide is stored under a key."""
    group.stored[key] = chunk.last
    if chunk.last is not None:
        group.departures.add(key, chunk.last)


def _restore_member(
    group: StoredGroup,
    state: State,
    id: int,
    progress: MemberState,
    registrations: Mapping[int, Registration],
    keys: Collection[StateKey],
) -> None:
    if id not in group.members:
        registration = registrations[id]
        try:
            group.members[id] = Member(registration, progress["registered"], group.arrival)
        # Another version may read less: that is this query's failure, and nobody else's.
        except Exception as error:
            group.unreadable[id] = unreadable(error)
            return
    member = group.members[id]
    member.restore(progress)
    group.stored_answers.pop(id, None)
    member.before = member.told = None
    if StateKey.last_answer(id) in keys:
        pieces = list(
            itertools.takewhile(keys.__contains__, map(StateKey.changes, itertools.repeat(id), itertools.count()))
        )
        member.before = LastAnswer(
            state.get(StateKey.last_answer(id)), [change for key in pieces for change in unpacked(state.get(key))]
        )
        group.stored_answers[id] = AnswerExtent(member.before.whole, len(member.before.changes), len(pieces))


def save(group: StoredGroup, state: State) -> None:
    """Store what the batch has changed."""
    if not group.members:
        state.clear()
        return
    horizons, places = group.horizons(), group.places()
    _save_slides(group, state, horizons, places)
    permanent = {StateKey.registration(id) for id in group.members}
    permanent |= {StateKey(seq, group.streams[iri]) for iri, seq in group.graphs.items()}
    permanent |= {StateKey.rule_set(seq) for seq, _ in group.rules.values()}
    for id, member in group.members.items():
        if (key := StateKey.registration(id)) not in group.stored:
            state.put(key, json.dumps(member.registration).encode())
    for name, (seq, text) in group.rules.items():
        if (key := StateKey.rule_set(seq)) not in group.stored:
            state.put(key, json.dumps([name, seq, text]).encode())
    for iri, payload in group.new_graphs.items():
        state.put(StateKey(group.graphs[iri], group.streams[iri]), payload)
    group.new_graphs = {}
    group.stored_answers = {
        id: _save_answer(id, member.before, group.stored_answers.get(id), state)
        for id, member in group.members.items()
        if member.before is not None
    }
    for id, extent in group.stored_answers.items():
        permanent |= {StateKey.last_answer(id), *(StateKey.changes(id, piece) for piece in range(extent.pieces))}
    for piece, rows in group.wait.held.pieces():
        state.put(StateKey.held(piece), rows)
    permanent |= {StateKey.held(piece) for piece in range(group.wait.held.first, group.wait.held.next)}
    group.stored |= dict.fromkeys(permanent)
    for key in itertools.chain(group.permanent - permanent, group.departures.due(horizons, places)):
        if key in group.stored and key not in permanent:
            del group.stored[key]
            state.drop(key)
    group.permanent, group.save = permanent, os.urandom(8).hex()
    summary: Summary = {
        "seq": group.seq,
        "save": group.save,
        "streams": group.streams,
        "graphs": group.graphs,
        "members": {str(id): member.state() for id, member in group.members.items()},
    }
    if group.waiting:
        summary |= {"reached": group.reached, "waiting": True, "pieces": (group.wait.held.first, group.wait.held.next)}
    state.set_summary(json.dumps(summary).encode())


def _save_slides(group: StoredGroup, state: State, horizons: dict[int, int], places: dict[int, int]) -> None:
    """Store what has come since the last batch, but for what has come and gone."""
    for piece in group.fresh:
        for stream, chunks in piece.chunks.items():
            horizon, place = horizons.get(stream, BEGINNING_OF_TIME), places.get(stream, END_OF_TIME)
            remaining = [
                chunk.take(np.flatnonzero(lasting(chunk.t, horizon, piece.seq, place)))
                for chunk in chunks
                if chunk.last is not None and lasting(chunk.last, horizon, piece.seq, place)
            ]
            if remaining:
                chunk = Chunk.concat(remaining)
                key = StateKey(piece.seq, stream)
                _note_slide(group, key, chunk)
                state.put(key, chunk.to_ipc())
    group.fresh = [Piece()]


def _save_answer(id: int, answer: LastAnswer, extent: AnswerExtent | None, state: State) -> AnswerExtent:
    """Store of what a query answered last what is not stored yet."""
    if extent is None or extent.whole is not answer.whole:
        state.put(StateKey.last_answer(id), answer.whole)
        extent = AnswerExtent(answer.whole, 0, 0)
    if len(answer.changes) == extent.changes:
        return extent
    state.put(StateKey.changes(id, extent.pieces), packed(answer.changes[extent.changes :]))
    return AnswerExtent(answer.whole, len(answer.changes), extent.pieces + 1)
