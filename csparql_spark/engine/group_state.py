"""Keeping: what of a group is kept between batches, and how the group comes back from it.

Kept is the explicit content of the windows, in *slides* (what one batch added to one stream, cut at registrations), the
background, the registrations, and a summary: how far the log was read, and each member's progress. Nothing that can be
derived is kept: stores and answers are made again when a worker starts cold.

A worker that holds the group in memory is *warm* if it has read as far as the summary says. If it is behind, because
another worker had the last batches, it reads the slides that it lacks. If it is ahead, a batch has failed after it: it
starts cold. So it does when it remembers none of the members: the group may have ended and begun again meanwhile, and
then its numbers mean something else.

    group = revive("1f0c…", state, remembered)     # from what is kept
    told = list(group.feed(rows))
    settle(group, state)                           # few calls, with large values
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from csparql_spark.answers.last_answer import Before, packed, unpacked
from csparql_spark.engine.group import Group, Piece, unreadable
from csparql_spark.engine.member import Member
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.windows.content import ALWAYS
from csparql_spark.windows.progress import NEVER
from csparql_spark.windows.rule import lasting

# In the place of a stream's number: what the value is instead of a slide.
MEMBER = -1      # a registration
RULES = -4       # a user's rule set: its name and text
BEFORE = -3      # an answer of a query that tells what has changed since
CHANGES = -5     # and what has changed since: -5 is the first piece, -6 the next


class Name(NamedTuple):
    """The name of a kept value: the place of the (last) entry in it, and the number of its stream or graph."""

    seq: int
    stream: int

    @property
    def answered(self) -> bool:
        """Whether it is of what a query answered last: such a value changes under its name."""
        return self.stream == BEFORE or self.stream <= CHANGES


class State(Protocol):
    """A group's share of a state store."""

    def summary(self) -> bytes | None: ...
    def set_summary(self, summary: bytes) -> None: ...
    def names(self) -> Iterator[Name]: ...
    def get(self, name: Name) -> bytes: ...
    def put(self, name: Name, value: bytes) -> None: ...
    def drop(self, name: Name) -> None: ...
    def clear(self) -> None: ...


class KeptBefore(NamedTuple):
    """How much of what a query answered last is kept: the whole, and so many changes in so many pieces."""

    whole: bytes
    changes: int
    pieces: int


class KeptGroup(Group):
    """A group that knows what is kept of it: each name, with the newest stamp in a slide (None for what does not
    expire)."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.kept: dict[Name, int | None] = {}
        self.kept_before: dict[int, KeptBefore] = {}


def revive(key: str, state: State, remembered: KeptGroup | None = None) -> KeptGroup:
    """The group as it was when it was settled last."""
    kept = state.summary()
    if kept is None:
        return KeptGroup(key)
    summary = json.loads(kept)
    if remembered is not None and (remembered.seq > summary["seq"]
                                   or not any(str(id) in summary["members"] for id in remembered.members)):
        remembered = None
    if remembered is not None and remembered.seq == summary["seq"]:
        return remembered
    group = remembered or KeptGroup(key)
    group.seq = summary["seq"]
    group.streams = summary["streams"]
    names = set(state.names())
    for name in group.kept.keys() - names:
        del group.kept[name]
    graphs = {(seq, group.streams[graph]): graph for graph, seq in summary["graphs"].items()}
    registrations = {}
    for name in sorted(names - group.kept.keys()):
        value = state.get(name)
        group.kept[name] = None
        if name.stream == MEMBER:
            registrations[name.seq] = json.loads(value)
        elif name.stream == RULES:
            ruled, seq, text = json.loads(value)
            group.set_rules(ruled, seq, text)
        elif name.answered:
            continue        # it is read below
        elif name in graphs:
            group.set_background(graphs[name], name.seq, value)
            group.new_graphs.clear()
        else:
            chunk = Chunk.from_ipc(value)
            group.content.add(name.stream, name.seq, chunk)
            group.kept[name] = chunk.last
    for id, progress in ((int(id), progress) for id, progress in summary["members"].items()):
        if id not in group.members:
            told = registrations[id]
            try:
                group.members[id] = Member(told, progress["registered"], group.arrival)
            # Another version may read less: that is this query's failure, and nobody else's.
            except Exception as error:
                group.unreadable[id] = unreadable(error)
                continue
        member = group.members[id]
        member.restore(progress)
        group.kept_before.pop(id, None)
        member.before = None
        if Name(id, BEFORE) in names:
            pieces = list(itertools.takewhile(names.__contains__, (Name(id, CHANGES - n) for n in itertools.count())))
            member.before = Before(state.get(Name(id, BEFORE)),
                                   [change for name in pieces for change in unpacked(state.get(name))])
            group.kept_before[id] = KeptBefore(member.before.whole, len(member.before.changes), len(pieces))
    for id in group.members.keys() - {int(id) for id in summary["members"]}:
        del group.members[id]
    group.members_changed()
    return group


def settle(group: KeptGroup, state: State) -> None:
    """Keep what the batch has changed."""
    if not group.members:
        state.clear()
        return
    horizons, places = group.horizons(), group.places()
    for piece in group.fresh:
        for stream, chunks in piece.chunks.items():
            # In a large batch, much has come and gone again.
            horizon, place = horizons.get(stream, NEVER), places.get(stream, ALWAYS)
            remaining = [chunk.take(lasting(chunk.t, horizon, piece.seq, place)) for chunk in chunks
                         if lasting(chunk.last, horizon, piece.seq, place)]
            if remaining:
                chunk = Chunk.concat(remaining)
                name = Name(piece.seq, stream)
                group.kept[name] = chunk.last
                state.put(name, chunk.to_ipc())
    group.fresh = [Piece()]
    permanent = {Name(id, MEMBER) for id in group.members}
    permanent |= {Name(seq, group.streams[iri]) for iri, seq in group.graphs.items()}
    for id, member in group.members.items():
        if Name(id, MEMBER) not in group.kept:
            state.put(Name(id, MEMBER), json.dumps(member.told).encode())
    for name, (seq, text) in group.rules.items():
        permanent.add(Name(seq, RULES))
        if Name(seq, RULES) not in group.kept:
            state.put(Name(seq, RULES), json.dumps([name, seq, text]).encode())
    for iri, payload in group.new_graphs.items():
        state.put(Name(group.graphs[iri], group.streams[iri]), payload)
    group.new_graphs = {}
    before = {id: member.before for id, member in group.members.items() if member.before is not None}
    group.kept_before = {id: _keep_before(id, answer, group.kept_before.get(id), state)
                         for id, answer in before.items()}
    for id, kept in group.kept_before.items():
        permanent |= {Name(id, BEFORE), *(Name(id, CHANGES - number) for number in range(kept.pieces))}
    group.kept |= dict.fromkeys(permanent)
    for name, newest in list(group.kept.items()):
        if name not in permanent and (newest is None or not lasting(
                newest, horizons.get(name.stream, NEVER), name.seq, places.get(name.stream, ALWAYS))):
            del group.kept[name]
            state.drop(name)
    state.set_summary(json.dumps({
        "seq": group.seq, "streams": group.streams, "graphs": group.graphs,
        "members": {id: member.state() for id, member in group.members.items()}}).encode())


def _keep_before(id: int, before: Before, kept: KeptBefore | None, state: State) -> KeptBefore:
    """Keep of what a query answered last what is not kept yet."""
    if kept is None or kept.whole is not before.whole:
        state.put(Name(id, BEFORE), before.whole)
        kept = KeptBefore(before.whole, 0, 0)
    if len(before.changes) == kept.changes:
        return kept
    state.put(Name(id, CHANGES - kept.pieces), packed(before.changes[kept.changes:]))
    return KeptBefore(before.whole, len(before.changes), kept.pieces + 1)
