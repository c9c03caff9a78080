"""A member: one registered query in its group, with its plan, its progress and the instants it has still to answer.

    registered ──▶ waiting for its first instant ──▶ answering ──▶ failed (with a reason; the others go on)
                                                       ⇅
                                                     paused

Its instants are the multiples of its windows' steps and the turns of windows that count, or the multiples of COMPUTE
EVERY. An instant is due when the clocks of all its streams have passed it; a query whose windows all count waits for no
clock. At an instant each window is seen as of its own last step, or turn:

    RANGE 4s STEP 4s     ────┼───────┼───────┼────
    RANGE 9s STEP 6s     ────────┼───────────┼────
    instants                 4   6   8      12        at 8 the second window is that of 6

While it is paused, instants and turns pass and are not answered; what arrives is in its windows when it goes on, and is
counted. It goes on with the first instant that has not passed when its `resume` is logged.

Where the engine starts from the log again, the registration says up to which instant the query has answered before
(`answered`), or why it has failed; it begins with that instant, for what it tells afterwards is the same. Where the log
says later that it fails, the registration says so, too (`failure`): it tells the instants that it told before, whatever
they take now, and fails at the next one as it did, whatever that would take. What of them is in the store already it
passes over.

A member sees only elements logged after it (`id` is the place of its registration). Everything that changes is in
`state()`, which is kept between batches: after `Member(registration, at).restore(state)` it is the same member.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NotRequired, TypedDict

import numpy as np

from csparql_spark.answers.arrears import Arrears
from csparql_spark.answers.last_answer import LastAnswer
from csparql_spark.answers.plan import plan
from csparql_spark.engine.dataset import graphs_of
from csparql_spark.engine.evaluator_choice import asked_for, why_snapshot
from csparql_spark.language import ContinuousQuery, Window
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log.contents import QueryFailed
from csparql_spark.schedule.routing import Registration
from csparql_spark.windows.counting import CountState, arrive, count_of
from csparql_spark.windows.progress import Arrival, Clock, Progress
from csparql_spark.windows.rule import END_OF_TIME, aligned, at_once, grid_of, has_tags, horizon_of, looks_of, widest_of

MOST_INSTANTS = 200_000  # a step of one second, and silence for more than two days


class ProgressState(TypedDict):
    """What entries change of a Progress."""

    arrival: int
    event: dict[str, int]
    first: int | None
    late: int


class MemberState(TypedDict):
    """What entries change of a member; counts by the places of their windows."""

    registered: int
    next: int | None
    answered: int | None
    turned: int | None
    failed: str | None
    paused: NotRequired[bool]
    counts: dict[str, CountState]
    progress: ProgressState


class TooManyInstants(Exception):
    """There are more instants than can be answered at once; `instant` is the first of them."""

    def __init__(self, instant: int, reason: str) -> None:
        super().__init__(reason)
        self.instant = instant


class Member:
    def __init__(self, registration: Registration, at: int, arrival: Arrival | None = None) -> None:
        """`at` is the arrival stamp of the registration; `arrival` the clock that it shares with others."""
        self.registration = registration
        self.id = registration["id"]
        self.query: ContinuousQuery = read(registration["text"], registration["base"], registration.get("compiled"))
        self.plan = plan(self.query)
        self.snapshot = why_snapshot(self.query) is not None  # which evaluator answers it
        self.asked = asked_for(self.plan)
        self.windows = self.query.windows
        self.looks = looks_of(self.query, self.windows)  # its windows, as its instants look at them
        self.graphs = graphs_of(self.query)
        self.beside = not has_tags(self.windows)  # whether one of several windows counts
        self.alignments = {  # of the windows in each graph, by their places
            graph.places: aligned([self.looks[place] for place in graph.places], beside=self.beside)
            for graph in self.graphs
            if graph.places
        }
        # What each window sees, as others may see it, too.
        self.sight_keys: tuple[Hashable, ...] = tuple(
            (self.id, place) if count_of(window) is not None else at_once(window)
            for place, window in enumerate(self.windows)
        )
        self.widest = widest_of(self.windows)
        self.grid = grid_of(self.query)
        clocks = {stream: Clock(**clock) for stream, clock in registration["clocks"].items()}
        self.progress = Progress.begin(at=at, clocks=clocks, shared=arrival)
        self.counts = {
            place: count for place, window in enumerate(self.windows) if (count := count_of(window)) is not None
        }
        self.aligned_counts = {  # by how they lie in their graphs, where they do
            graph.places: {
                window: self.counts[place]
                for place in graph.places
                if place in self.counts
                for window in aligned([self.looks[place]], beside=self.beside).windows
            }
            for graph in self.graphs
        }
        self.next: int | None = None
        self.answered: int | None = None  # the newest instant that was due
        self.turned: int | None = None  # the newest turn of any window that counts
        self.arrears = Arrears()
        self.before: LastAnswer | None = None  # what was answered there, where the query tells what has changed
        self.told: int | None = None  # the instant that was told last, since this object is there
        self.failed = registration.get("failed")
        form = registration.get("failure")
        self.failure = None if form is None else QueryFailed(registration["id"], **form)  # as the log tells it
        self.paused = registration.get("paused", False)
        self._answered_before = registration.get("answered")

    @property
    def timed(self) -> bool:
        """Whether the arrival clock alone says when its instants have passed."""
        return not self.counts and not self.progress.event

    @property
    def turns_only(self) -> bool:
        """Whether no clock matters: each instant is a turn of a window that counts."""
        return self.grid is None

    @property
    def turns_tell(self) -> bool:
        """Whether each turn of a window that counts is an instant."""
        return self.query.every is None and bool(self.counts)

    def due(self) -> list[int]:
        """The instants that have passed and are not answered yet; they count as answered from now on. `TooManyInstants`
        if there are too many at once."""
        passed, timed = self.progress.passed, list[int]()
        turns = {
            turn
            for count in self.counts.values()
            for turn, _ in count.turns
            if self.turns_tell and (self.turns_only or turn <= passed)
        }
        if len(turns) > MOST_INSTANTS:
            raise TooManyInstants(
                min(turns),
                (
                    f"so many elements have come at once that its windows have turned {len(turns):,} times, and at "
                    f"most {MOST_INSTANTS:,} instants are answered at once: delete the query and register it again "
                    "with a larger STEP, or with COMPUTE EVERY"
                ),
            )
        if self.grid is not None:
            if self.next is None:
                start = self._start()
                if start is None:
                    return []
                self.next = self.grid.at_or_after(start)
            most = len(turns) + self.grid.most_between(self.next, passed)
            if most > MOST_INSTANTS:
                raise TooManyInstants(
                    self.next,
                    (
                        f"the clock has moved from {self.next} to {passed} at once, which is {most:,} instants of this "
                        f"query, and at most {MOST_INSTANTS:,} are answered at once: delete the query and register it "
                        "again (over a new stream, if a wrong timestamp was the reason)"
                    ),
                )
            timed = list(self.grid.between(self.next, passed))
            if timed:
                self.next = self.grid.after(timed[-1])
        instants = sorted({*timed, *turns})
        if instants:
            self.answered = instants[-1]
        return instants

    def soonest(self) -> int:
        """The next instant of a member that is timed."""
        start = self._start()
        if self.next is not None or self.grid is None or start is None:
            return END_OF_TIME if self.next is None else self.next
        return self.grid.at_or_after(start)

    @property
    def has_due(self) -> bool:
        """Whether `due` may tell an instant; it looks, and changes nothing."""
        if self.failed is not None or self.paused:
            return False
        turned = self.turns_tell and any(count.turns for count in self.counts.values())
        return turned or self.soonest() <= self.progress.passed

    def _start(self) -> int | None:
        """Where its instants begin; None while that is not known."""
        start = self.progress.start()
        return start if start is None or self._answered_before is None else max(start, self._answered_before)

    def is_over(self, instant: int) -> bool:
        """Whether nobody need look at an instant again: the query is going to fail, the answer is in the store, and no
        later one is told as what has changed since."""
        known, failure = self._answered_before, self.failure
        if known is None or failure is None or instant > known:
            return False
        return instant < known or self.query.output == "RSTREAM" or not failure.tells_after(known)

    def pass_over(self) -> None:
        """The instants that have passed and are not answered yet never will be."""
        passed = self.progress.passed
        if self.turns_only:
            passed = max((turn for count in self.counts.values() for turn, _ in count.turns), default=passed)
        over = [turn for count in self.counts.values() for turn, _ in count.turns if self.turns_tell and turn <= passed]
        if self.grid is not None:
            if self.next is None:
                start = self._start()
                if start is None:
                    return
                self.next = self.grid.at_or_after(start)
            if self.next <= passed:
                over.append(self.grid.at_or_before(passed))
                self.next = self.grid.after(passed)
        if over:
            self.answered = max(over)
            self.see(passed)

    def arrived(self, stream: str, stamps: np.ndarray, pushed: np.ndarray) -> None:
        """Triples of a stream have arrived, stamped so; `pushed` are the stamps of the graphs that they make up."""
        for graphs, arrivals in ((False, stamps), (True, pushed)):
            counts = [
                count
                for place, count in self.counts.items()
                if self.windows[place].stream == stream and (self.windows[place].elements is not None) is graphs
            ]
            before = [instant for instant in (self.answered, self.turned) if instant is not None]
            turned = arrive(counts, arrivals, max(before, default=None), apart=self.turns_tell)
            if turned is not None:
                self.turned = turned

    def see(self, instant: int) -> None:
        """Look at the windows that count as they are at an instant."""
        for count in self.counts.values():
            count.see(instant)

    def horizon(self, window: Window) -> int | None:
        """Elements stamped this or earlier are not seen again through this window of time; None while that is not
        known."""
        soonest = self.next
        if self.turns_tell:  # a turn may come at any time after what was answered
            soonest = None if soonest is None or self.answered is None else min(soonest, self.answered + 1)
        return None if soonest is None else horizon_of(window, soonest)

    def fail(self, reason: str) -> None:
        """Answer no more, and hold nothing."""
        self.failed, self.before = reason, None
        for count in self.counts.values():
            count.turns.clear()

    def state(self) -> MemberState:
        progress = self.progress
        return {
            "registered": progress.registered,
            "next": self.next,
            "answered": self.answered,
            "turned": self.turned,
            "failed": self.failed,
            "paused": self.paused,
            "counts": {str(place): count.state() for place, count in self.counts.items()},
            "progress": {
                "arrival": progress.arrival,
                "event": progress.event,
                "first": progress.first,
                "late": progress.late,
            },
        }

    def restore(self, state: MemberState) -> None:
        self.next, self.answered, self.turned = state["next"], state["answered"], state["turned"]
        self.failed = state["failed"]
        self.paused = state.get("paused", False)  # a state that was kept before there was pausing does not say
        for place, counted in state["counts"].items():
            self.counts[int(place)].restore(counted)
        progress = state["progress"]
        self.progress.own, self.progress.event = progress["arrival"], progress["event"]
        self.progress.first, self.progress.late = progress["first"], progress["late"]
