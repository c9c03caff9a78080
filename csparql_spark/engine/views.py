"""Views: what members see, and what is said of it. Members that ask the same of the same graphs share one view.

    member, instant ──┬─▶ graph that moves (see closing) ──▶ matches that move with it ─────┬─▶ answer
                      └─▶ sights (what each window sees) ──▶ dataset ──▶ store in step ─────┘

Which way is taken says `evaluator_choice`. A moving graph is shared by all windows that differ by a constant, a sight
by all that see the same elements, a view by all members that have the same plan over the same windows and graphs. A
view that sees no change since its last answer says the same again without asking.

    views = Views(content, number)
    said = views.say(member, instant, seq)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from csparql_spark.answers.bindings import Answer
from csparql_spark.answers.functions import Stamps
from csparql_spark.answers.incremental import Incremental, TooManyMatches
from csparql_spark.answers.limits import Deadline, Debt, Limits, TooMuch
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.answers.stamps import stamps_of
from csparql_spark.engine.closures import Closures, Sliding
from csparql_spark.engine.member import Member
from csparql_spark.engine.r2s import Changing, answer_of, by_rows
from csparql_spark.language import Window
from csparql_spark.windows.content import ALWAYS, Content, Elements
from csparql_spark.windows.rule import at_once, bounds_of, logged_after, oldest_tag

LIMITS = Limits()            # of each query, where nobody says anything else


@dataclass(frozen=True)
class View:
    """What members have in common that say the same: the plan, and the dataset that they look at. It is looked up again
    and again, and a plan is large: its hash is made once."""

    plan: Plan
    windows: tuple[Window, ...]
    graphs: tuple[str, ...]
    named_graphs: tuple[str, ...]
    since: int

    @cached_property
    def _hash(self) -> int:
        return hash((self.plan, self.windows, self.graphs, self.named_graphs, self.since))

    def __hash__(self) -> int:
        return self._hash


class Sight(NamedTuple):
    """What a window sees, where the log stood at `seq`; `oldest` is the place of its first element in the log, 0 where
    that is not known."""

    instant: int
    seq: int
    elements: Elements
    oldest: int


class Said(NamedTuple):
    """An answer, and the version of the dataset that it was the answer for."""

    version: int
    rows: int
    payload: bytes


class Views:
    def __init__(self, content: Content, number: Callable[[str], int], members: Mapping[int, Member], *,
                 maintained_only: bool = False) -> None:
        """`number` gives the number that a stream or graph has in `content`; `members` are those of the group. With
        `maintained_only` no answer that cannot be maintained any more is matched anew."""
        self._maintained_only = maintained_only
        self.given: Limits | None = None                  # what each query may have, if somebody has said it
        self._content, self._number = content, number
        self.closures = Closures(content, number, members)
        self._changing = Changing(content)
        self._incrementals: dict[View, tuple[Sliding, Incremental]] = {}
        self._overflown: set[View] = set()
        self._snapshots: dict[View, Snapshot] = {}
        self._moved: dict[View, tuple[int, int]] = {}     # the instant, and where the log stood
        self._said: dict[View, Said] = {}
        self._debts: dict[View, Debt] = {}
        self._views: dict[int, View] = {}                 # where each member looked last
        self._held_for: dict[int, int] = {}               # bytes, for each member
        self._seen: dict[int, int] = {}                   # elements in the windows of each member
        self._known: dict[tuple[int, int], View] = {}     # by member, and since when it looks
        self._distinct: dict[View, View] = {}
        self._sights: dict[tuple[str, int], Sight] = {}

    @property
    def limits(self) -> Limits:
        return LIMITS if self.given is None else self.given

    def say(self, member: Member, instant: int, seq: int) -> Said:
        """What a member says at an instant, where the log stands at `seq`."""
        member.see(instant)
        sights = [self._look(member, place, instant, seq) for place in range(len(member.windows))]
        seen = sum(len(sight.elements.t) for sight in sights)
        held = sum(column.nbytes for sight in sights for column in sight.elements)
        self.limits.check_bytes(held, f"the {seen:,} elements in its windows")
        # When all that the windows can see came after the registration, the member sees the same as everybody.
        since = 0 if not member.counts and all(logged_after(sight.oldest, member.id) for sight in sights) else member.id
        view = self._view(member, since)
        if not member.snapshot and view not in self._overflown:
            try:
                said = self._maintained(member, view, since, instant, seq)
            except TooManyMatches as error:
                if self._maintained_only:
                    raise TooMuch(f"its matches cannot be maintained any more: {error}") from error
                # It needs more room than there is: the store looks no further than an answer may be large.
                self._overflown.add(view)
                del self._incrementals[view]
                said = self._matched_anew(member, view, sights, instant, seq)
        else:
            said = self._matched_anew(member, view, sights, instant, seq)
        self._views[member.id] = view
        self._seen[member.id] = seen
        self._held_for[member.id] = held + self._state_bytes(view) + self._changing.nbytes(member)
        self.limits.check_bytes(self._held_for[member.id],
                                f"the {seen:,} elements in its windows and what follows from them")
        return said

    def _view(self, member: Member, since: int) -> View:
        """The view of a member. Equal ones are one object, which is found without comparing plans."""
        view = self._known.get((member.id, since))
        if view is None:
            made = View(member.plan, _shared(member), member.query.graphs, member.query.named_graphs, since)
            view = self._known[member.id, since] = self._distinct.setdefault(made, made)
        return view

    def elements(self, member: int) -> int:
        """How many elements a member's windows held when it was asked last."""
        return self._seen.get(member, 0)

    def nodes(self, member: int) -> dict[str, object] | None:
        """The plan that a member's answer was maintained by, as a tree; None if it was not."""
        held = self._incrementals.get(self._views.get(member))
        return None if held is None else held[1].nodes()

    def state_bytes(self, member: int) -> int:
        """What was held for a member when it was asked last; what it shares with others counts for each of them."""
        return self._held_for.get(member, 0)

    def _state_bytes(self, view: View) -> int:
        held = self._incrementals.get(view)
        evaluator = held[1] if held is not None else self._snapshots[view]
        said = self._said.get(view)
        return evaluator.state_bytes + (0 if said is None else len(said.payload))

    def _maintained(self, member: Member, view: View, since: int, instant: int, seq: int) -> Said:
        sliding, widest = self.closures.sliding(member, since, instant, seq, lambda: self._background(member))
        held = self._incrementals.get(view)
        if held is None or held[0] is not sliding:
            held = self._incrementals[view] = sliding, Incremental(member.plan, member.query.body, sliding.shared)
            self._said.pop(view, None)
        evaluator = held[1]
        evaluator.limits = self.limits
        evaluator.move(after=oldest_tag(instant, widest))

        if member.query.output != "RSTREAM" and by_rows(member.plan):
            return self._timed(view, instant, evaluator.version,
                               lambda: self._changing.maintained(member, evaluator, widest, instant))
        return self._told(member, self._asked(view, instant, evaluator.version, lambda: answer_of(evaluator, widest)))

    def _matched_anew(self, member: Member, view: View, sights: list[Sight], instant: int, seq: int) -> Said:
        if view not in self._snapshots:
            self._snapshots[view] = Snapshot(member.plan, self._content)
            self._said.pop(view, None)
        snapshot = self._snapshots[view]
        snapshot.limits = self.limits
        if self._moved.get(view) != (instant, seq):
            seen = [_since(sight.elements, view.since) for sight in sights]
            snapshot.move(self._dataset(member, seen, view.since, instant, seq), instant=instant)
            self._moved[view] = (instant, seq)
        return self._told(member, self._asked(view, instant, snapshot.version, snapshot.answer))

    def _told(self, member: Member, said: Said) -> Said:
        """What a member tells whose whole answer is this."""
        if member.query.output == "RSTREAM":
            return said
        changed = self._changing.whole(member, said.payload)
        return Said(said.version, len(changed), changed.to_bytes())

    def _asked(self, view: View, instant: int, version: int, ask: Callable[[], Answer]) -> Said:
        """What a view says at a version of what it sees."""
        said = self._said.get(view)
        if said is None or said.version != version:
            said = self._said[view] = self._timed(view, instant, version, ask)
        return said

    def _timed(self, view: View, instant: int, version: int, ask: Callable[[], Answer]) -> Said:
        deadline = Deadline(self.limits)
        answer = ask()
        said = Said(version, len(answer), answer.to_bytes())
        deadline.check()                     # whatever it was that took so long: the others wait for it
        if self.given is not None:           # in a recording nobody waits
            self._debts.setdefault(view, Debt()).note(instant, deadline.took, self.limits)
        return said

    def held(self) -> Collection[View]:
        """The views that something is held for."""
        return [*self._incrementals, *self._snapshots]

    def forget(self, members: Collection[int]) -> None:
        """Drop what no living member looks at."""
        self._sights.clear()
        self._views = {id: view for id, view in self._views.items() if id in members}
        self._held_for = {id: held for id, held in self._held_for.items() if id in members}
        self._seen = {id: seen for id, seen in self._seen.items() if id in members}
        if any(id not in members for id, _ in self._known):
            self._known = {key: view for key, view in self._known.items() if key[0] in members}
            self._distinct = {view: view for view in self._known.values()}
        self._changing.forget(members)
        used = set(self._views.values())
        self.closures.forget({view.since for view in used})
        for kept in (self._incrementals, self._snapshots, self._moved, self._said, self._debts):
            for view in kept.keys() - used:
                del kept[view]
        self._overflown &= used

    def _dataset(self, member: Member, seen: list[Elements], since: int, instant: int, seq: int) -> Dataset:
        default = [elements for window, elements in zip(member.windows, seen, strict=True) if window.name is None]
        named = {window.name: elements[:3] for window, elements in zip(member.windows, seen, strict=True)
                 if window.name is not None}
        named |= {graph: self._graph(graph) for graph in member.query.named_graphs}
        stamps: Stamps | None = stamps_of(seen) if member.plan.stamps else None
        if member.query.entailment:
            closed, windows = self.closures.closed(member, seen, since, instant, seq, lambda: self._background(member))
            return Dataset(closed, named | windows, stamps)
        return Dataset(merged([*(elements[:3] for elements in default), self._background(member)]), named, stamps)

    def _background(self, member: Member) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return merged(self._graph(graph) for graph in member.query.graphs)

    def _graph(self, graph: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._content.window(self._number(graph), ALWAYS - 1, ALWAYS)[:3]

    def _look(self, member: Member, place: int, instant: int, seq: int) -> Sight:
        """What a window sees at the instant; members with the same window share it."""
        window = member.windows[place]
        stream = self._number(window.stream)
        if place in member.counts:
            begin, end = member.counts[place].view()
            elements = self._content.counted(stream, member.id, begin, end, graphs=window.elements is not None)
            return Sight(instant, seq, elements, member.id)
        bounds = bounds_of(window, instant)
        key = (window.stream, bounds.length)
        sight = self._sights.get(key)
        if sight is None or (sight.instant, sight.seq) != (bounds.closes, seq):
            elements = self._content.window(stream, bounds.low, bounds.closes)
            oldest = int(elements.seq.min()) if len(elements.seq) else ALWAYS
            if not self._content.whole(stream, bounds.low):
                oldest = 0           # graphs that others look at may hold what was forgotten since
            sight = self._sights[key] = Sight(bounds.closes, seq, elements, oldest)
        return sight


def _shared(member: Member) -> tuple[Window, ...]:
    """The windows, as far as they decide what is seen at an instant of the member: its only window is seen as it is."""
    if len(member.windows) == 1 and member.query.every is None and not member.counts:
        return (at_once(member.windows[0]),)
    return member.windows


def _since(elements: Elements, since: int) -> Elements:
    if since == 0:
        return elements
    seen = logged_after(elements.seq, since)
    return elements if seen.all() else Elements(*(column[seen] for column in elements))
