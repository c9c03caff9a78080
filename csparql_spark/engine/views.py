"""Views: what members see, and what is said of it. Members that ask the same of the same graphs share one view.

    member, instant ──┬─▶ graphs that move (see `closures`) ──▶ matches that move with them ───┬─▶ answer
                      └─▶ sights (what each window sees) ──▶ dataset ──▶ store in step ─────┘

Which way is taken says `evaluator_choice`. A moving graph is shared by all windows that differ by a constant, a sight
by all that see the same elements, a view by all members that have the same plan over the same windows and graphs. A
view that sees no change since its last answer says the same again without asking.

    views = Views(content, number, members)
    reply = views.say(member, instant, seq)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from csparql_spark.answers.arrears import Debt
from csparql_spark.answers.incremental import Incremental, TooManyMatches
from csparql_spark.answers.limits import UNLIMITED, Limits, TooMuch
from csparql_spark.answers.nodes import PlanNode
from csparql_spark.answers.over_ids import Plan
from csparql_spark.answers.relevant import Columns
from csparql_spark.answers.snapshot import Dataset, Snapshot, merged
from csparql_spark.engine.closings import Closing
from csparql_spark.engine.closures import Closures, MovingDataset
from csparql_spark.engine.dataset import contents, dataset_of
from csparql_spark.engine.member import Member
from csparql_spark.engine.moment import Moment
from csparql_spark.engine.view_answer import Asker, Keyframes, MemberReply, ViewAnswer
from csparql_spark.engine.view_rows import ViewRows, answer_of, by_rows
from csparql_spark.entailment.evaluate.bounds import closing_seconds
from csparql_spark.language import Window
from csparql_spark.windows.content import END_OF_TIME, Content, Elements
from csparql_spark.windows.rule import bounds_of, logged_after
from csparql_spark.windows.slides import Extent

LIMITS = Limits()  # of each query, where nobody says anything else


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


@dataclass(eq=False)
class Sight:
    """What a window sees, where the log stood at `seq`: how much, and from which place of the log on (0 where that is
    not known). What it is, only those need to know whose answers are not maintained."""

    instant: int
    seq: int
    extent: Extent
    gather: Callable[[], Elements]

    @cached_property
    def elements(self) -> Elements:
        return self.gather()


@dataclass(slots=True)
class Maintained:
    """Matches that move with the graphs that they are found in, and what is said of them."""

    dataset: MovingDataset
    evaluator: Incremental
    answer: ViewAnswer


@dataclass(slots=True)
class Matched:
    """A store that is kept in step with the dataset of its moment, and what is said of it."""

    evaluator: Snapshot
    answer: ViewAnswer
    moment: Moment | None = None


@dataclass(slots=True)
class ViewState:
    """What is held for a view. Members that differ by COMPUTE EVERY may look at one view in both ways."""

    maintained: Maintained | None = None
    matched: Matched | None = None
    overflown: bool = False  # there were more matches than can be maintained
    debt: Debt = field(default_factory=Debt)


class LastLook(NamedTuple):
    """Where a member looked last, the elements in its windows, and the parts that were held for it: what it is, which
    others may have, too, and its bytes."""

    view: View
    elements: int
    parts: tuple[tuple[Hashable, int], ...]


class Views:
    def __init__(
        self,
        content: Content,
        number: Callable[[str], int],
        members: Mapping[int, Member],
        *,
        maintained_only: bool = False,
    ) -> None:
        """`number` gives the number that a stream or graph has in `content`; `members` are those of the group. With
        `maintained_only` no answer that cannot be maintained any more is matched anew."""
        self._maintained_only = maintained_only
        self.given: Limits | None = None  # what each query may have, if somebody has said it
        self.keyframes: Keyframes | None = None  # who says which answers are told as changes; if nobody does, none is
        self._content, self._number = content, number
        self.closures = Closures(content, number, members)
        self._states: dict[View, ViewState] = {}
        self._members: dict[int, LastLook] = {}
        self._known: dict[tuple[int, int], View] = {}  # by member, and since when it looks
        self._distinct: dict[View, View] = {}
        self._sights: dict[tuple[str, int], Sight] = {}

    def limits_of(self, member: Member) -> Limits:
        """What a member may have. Where the log says how it fails, it says that it was within its limits before: so it
        is again."""
        if member.failure is not None:
            return UNLIMITED
        return LIMITS if self.given is None else self.given

    def closing_seconds(self, member: Member) -> float:
        """Of the processor, that a member may need beside its answer: for what follows from what it sees, or for taking
        that in; infinitely many, where it may have what it takes."""
        limits = self.limits_of(member)
        if limits is UNLIMITED:
            return math.inf
        own = limits.seconds if member.query.entailment else 0.0
        return own + closing_seconds(len(self._content))

    def say(self, member: Member, instant: int, seq: int) -> MemberReply:
        """What a member says at an instant, where the log stands at `seq`."""
        limits = self.limits_of(member)
        member.see(instant)
        sights = [self._look(member, place, instant, seq) for place in range(len(member.windows))]
        elements = sum(sight.extent.elements for sight in sights)
        parts = [(view, sight.extent.nbytes) for view, sight in zip(member.sight_keys, sights, strict=True)]
        size = sum(nbytes for _, nbytes in parts)
        limits.check_bytes(size, "the {:,} elements in its windows", elements)
        # When all that the windows can see came after the registration, the member sees the same as everybody.
        shared = not member.counts and all(logged_after(sight.extent.oldest, member.id) for sight in sights)
        moment = Moment(0 if shared else member.id, instant, seq)
        view = self._view(member, moment.since)
        state = self._states.get(view)
        if state is None:
            state = self._states[view] = ViewState()
        source: Maintained | Matched
        try:
            if member.snapshot or state.overflown:
                source, reply = self._matched_anew(member, state, sights, moment)
            else:
                source, reply = self._maintained(member, state, moment)
        except TooManyMatches as error:
            if self._maintained_only:
                raise TooMuch(f"its matches cannot be maintained any more: {error}") from error
            # It needs more room than there is: the store looks no further than an answer may be large.
            state.overflown, state.maintained = True, None
            source, reply = self._matched_anew(member, state, sights, moment)
        parts.append((member.id, 0 if member.before is None else member.before.nbytes))
        size = sum(nbytes for _, nbytes in parts)
        held = source.evaluator.state_bytes + source.answer.nbytes
        if size + held > limits.bytes and source.answer.forget_changes():  # nobody fails of what one can do without
            held = source.evaluator.state_bytes + source.answer.nbytes
        parts.append((view, held))
        size += held
        self._members[member.id] = LastLook(view, elements, tuple(parts))
        limits.check_bytes(size, "the {:,} elements in its windows and what follows from them", elements)
        return reply

    def _view(self, member: Member, since: int) -> View:
        """The view of a member. Equal ones are one object, which is found without comparing plans."""
        view = self._known.get((member.id, since))
        if view is None:
            made = View(member.plan, member.looks, member.query.graphs, member.query.named_graphs, since)
            view = self._known[member.id, since] = self._distinct.setdefault(made, made)
        return view

    def elements(self, member: int) -> int:
        """How many elements a member's windows held when it was asked last."""
        return self._members[member].elements if member in self._members else 0

    def nodes(self, member: int) -> PlanNode | None:
        """The plan that a member's answer was maintained by, as a tree; None if it was not."""
        if member not in self._members:
            return None
        state = self._states.get(self._members[member].view)
        return None if state is None or state.maintained is None else state.maintained.evaluator.nodes()

    def state_bytes(self, member: int) -> int:
        """What was held for a member when it was asked last; what it shares with others counts for each of them."""
        return sum(nbytes for _, nbytes in self._members[member].parts) if member in self._members else 0

    def shares(self, members: Collection[int]) -> dict[int, int]:
        """What is held for each of these members. What they have in common is divided among them: so much less there
        would be without it, in the end."""
        looks = {member: self._members[member] for member in members if member in self._members}
        sharing = Counter(what for look in looks.values() for what in {what for what, _ in look.parts})
        return {member: sum(nbytes // sharing[what] for what, nbytes in look.parts) for member, look in looks.items()}

    def _maintained(self, member: Member, state: ViewState, moment: Moment) -> tuple[Maintained, MemberReply]:
        dataset, after = self.closures.moving(member, moment, lambda: self._background(member), self._graph)
        source = state.maintained
        if source is None or source.dataset != dataset:
            evaluator = Incremental(member.plan, member.query.body, dataset.default.shared, named=dataset.named)
            source = state.maintained = Maintained(dataset, evaluator, self._answer(member, evaluator, dataset.widest))
        source.evaluator.limits = self.limits_of(member)
        source.evaluator.move(after=after)
        return source, source.answer.reply(self._asker(member, state, moment))

    def _answer(self, member: Member, evaluator: Incremental, widest: int) -> ViewAnswer:
        until = None if member.counts else widest  # until when they hold is known of windows of time
        rows = ViewRows(evaluator, until) if by_rows(member.plan) else None
        return ViewAnswer(evaluator, lambda: answer_of(evaluator, until), rows)

    def _matched_anew(
        self, member: Member, state: ViewState, sights: list[Sight], moment: Moment
    ) -> tuple[Matched, MemberReply]:
        source = state.matched
        if source is None:
            snapshot = Snapshot(member.plan, self._content)
            source = state.matched = Matched(snapshot, ViewAnswer(snapshot, snapshot.answer))
        source.evaluator.limits = self.limits_of(member)
        if source.moment != moment:
            windows = [_since(sight.elements, moment.since) for sight in sights]
            source.evaluator.move(self._dataset(member, windows, moment), instant=moment.instant)
            source.moment = moment
        return source, source.answer.reply(self._asker(member, state, moment))

    def _asker(self, member: Member, state: ViewState, moment: Moment) -> Asker:
        debt = None if self.given is None else state.debt  # in a recording nobody waits
        return Asker(member, moment.instant, self.limits_of(member), debt, self.keyframes)

    def live(self) -> Collection[View]:
        """The views that something is held for."""
        return [view for view, state in self._states.items() if state.maintained or state.matched]

    def forget(self, members: Collection[int]) -> None:
        """Drop what no living member looks at."""
        self._sights.clear()
        self._members = {id: state for id, state in self._members.items() if id in members}
        if any(id not in members for id, _ in self._known):
            self._known = {key: view for key, view in self._known.items() if key[0] in members}
            self._distinct = {view: view for view in self._known.values()}
        used = {state.view for state in self._members.values()}
        self.closures.forget({view.since for view in used})
        self._states = {view: state for view, state in self._states.items() if view in used}

    def _dataset(self, member: Member, windows: list[Elements], moment: Moment) -> Dataset:
        closed = (
            {}
            if not member.query.entailment
            else self.closures.closed(member, windows, moment, lambda: self._background(member))
        )
        return dataset_of(member.query, windows, self._graph, closed, stamped=member.plan.stamps)

    def _background(self, member: Member) -> Columns:
        return merged(self._graph(graph) for graph in member.query.graphs)

    def closing(self, member: Member, triples: int) -> Closing | None:
        """What is to be closed before a member can be answered (see `Closures.closing`)."""
        return self.closures.closing(member, triples, lambda: self._background(member))

    def _graph(self, graph: str) -> Columns:
        return self._content.window(self._number(graph), END_OF_TIME - 1, END_OF_TIME)[:3]

    def _look(self, member: Member, place: int, instant: int, seq: int) -> Sight:
        """What a window sees at the instant; members with the same window share it."""
        window = member.windows[place]
        stream = self._number(window.stream)
        if place in member.counts:
            count, moment = member.counts[place], Moment(member.id, instant, seq)
            begin, end = count.view()
            extent = self._content.counted_extent(stream, member.id, begin, end, graphs=window.elements is not None)
            return Sight(instant, seq, extent, lambda: contents(self._content, stream, window, moment, count))
        bounds = bounds_of(window, instant)
        key = (window.stream, bounds.length)
        sight = self._sights.get(key)
        if sight is None or (sight.instant, sight.seq) != (bounds.closes, seq):
            extent = self._content.extent(stream, bounds.low, bounds.closes)
            if not self._content.whole(stream, bounds.low):
                extent = extent._replace(oldest=0)  # graphs that others look at may hold what was forgotten since
            sight = self._sights[key] = Sight(
                bounds.closes,
                seq,
                extent,
                lambda: contents(self._content, stream, window, Moment(0, instant, seq), None),
            )
        return sight


def _since(elements: Elements, since: int) -> Elements:
    if since == 0:
        return elements
    later = logged_after(elements.seq, since)
    return elements if later.all() else Elements(*(column[later] for column in elements))
