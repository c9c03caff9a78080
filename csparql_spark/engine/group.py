"""A group: the stateful processor of the queries that share one materialization. It knows nothing of Spark.

It is given the rows of its log entries in order, and answers instant by instant:

    row ─▶ content grows ─▶ clocks move ─▶ for each instant that has passed: window ─▶ graph ─▶ plan ─▶ answer
                                                                 └─▶ what no window will see again is forgotten

Invariants: rows that it has seen are ignored, so a batch may come twice; answers depend on the rows and their order
alone, not on how they are cut into batches; a query that fails is marked, says so once, and the others go on. Where an
entry is damaged, the queries fail that would have had to read it: those that are there when it comes. While a large
background is closed beside (see `closings`), what is due waits, and what comes then is held and taken in its order.

    group = Group("1f0c…")
    for message in group.feed(rows):
        print(message.query, message.instant)
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

from csparql_spark.answers.limits import Limits, TooMuch
from csparql_spark.engine.closings import Closing, Closings
from csparql_spark.engine.costs import Costs
from csparql_spark.engine.evaluator_choice import AUTO, INCREMENTAL, SNAPSHOT
from csparql_spark.engine.guard import DueEvaluation, EvaluationGuard
from csparql_spark.engine.held_entries import MOST_BYTES, REPEATED, HeldEntries
from csparql_spark.engine.member import Member, TooManyInstants
from csparql_spark.engine.messages import BatchCosts, InstantAnswer, Message, QueryFailure
from csparql_spark.engine.notes import READING
from csparql_spark.engine.views import MemberReply, Views
from csparql_spark.entailment.evaluate.patterns import counted
from csparql_spark.log.contents import QueryFailed
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import DAMAGED, UNREADABLE, WAKE, Registration, Row
from csparql_spark.windows.content import END_OF_TIME, Content
from csparql_spark.windows.progress import Arrival
from csparql_spark.windows.rule import is_timed

ANSWERING = frozenset({"pause", "resume", "fail", DAMAGED})  # entries that need what is due before them to be answered
AGAIN = "delete the query and register it again"
WAYS_OUT = {"register": AGAIN, "background": f"set the graph again, {AGAIN}", "rules": f"set the rules again, {AGAIN}"}


class Piece:
    """Chunks that came between two registrations, by stream: a member sees all of them or none."""

    def __init__(self) -> None:
        self.seq = 0
        self.chunks: dict[int, list[Chunk]] = {}

    def take(self, stream: int, seq: int, chunk: Chunk) -> None:
        self.seq = seq
        self.chunks.setdefault(stream, []).append(chunk)


def unreadable(error: Exception) -> str:
    return f"the query cannot be read: {error}"


class Group:
    def __init__(self, key: str, evaluator: str = AUTO) -> None:
        self.key = key
        self._evaluator = evaluator
        self.seq = 0
        self.members: dict[int, Member] = {}
        self.streams: dict[str, int] = {}  # IRI of a stream or graph → its number in `content`
        self.graphs: dict[str, int] = {}  # background graph → place of the entry that set it
        self.content = Content()
        self.new_graphs: dict[str, bytes] = {}  # background that came since it was kept
        self.unreadable: dict[int, str] = {}  # queries that could not be read when the group came back
        self.fresh = [Piece()]  # what came since it was kept, cut at registrations
        self.rules: dict[str, tuple[int, str]] = {}  # user's rule set → place of the entry that set it, its text
        self.arrival = Arrival()
        self._untimed: list[Member] | None = []  # members that look at more than this clock; None: not known
        self._soonest: int | None = None  # no other member has an instant before; None: not known
        self._views = Views(self.content, self.number, self.members, maintained_only=evaluator == INCREMENTAL)
        self._costs = Costs()
        self._guard = EvaluationGuard()
        self._arrival: int | None = None  # when the entry arrived that is being answered
        self._closings = Closings()
        self._sizes: dict[str, int] = {}  # of the background graphs, in triples
        self._pending: bool | None = None  # whether its background is being closed elsewhere; None: not asked
        self.waiting = False  # an instant may be due that is not answered before that is done
        self.held = HeldEntries()  # and what has come since

    def feed(self, rows: Iterable[Row]) -> Iterator[Message]:
        """Take the next rows, in the order of the log; say what became true."""
        self._guard.open(self.members)
        for id, reason in self.unreadable.items():
            yield QueryFailure(id, 0, reason)
        self.unreadable = {}
        self._pending = None
        yield from self._resume()
        for row in rows:
            if row.kind == WAKE:
                continue
            if self.waiting or row.kind in ANSWERING and self._must_wait():
                yield from self._hold(row)
            else:
                yield from self._take(row)
        self._must_wait()  # what will be needed is begun now
        self._forget()
        self._guard.close(self.members)

    # --- entries that wait

    @property
    def reached(self) -> int:
        """The place of the last entry that was given to it, whether it has taken that or not."""
        return max(self.seq, self.held.seq)

    def _must_wait(self) -> bool:
        """Whether its background is being closed elsewhere: then nothing can be answered yet."""
        if self._pending is None:
            asker = next((member for member in self.members.values() if member.failed is None), None)
            closing = None if asker is None else self._closing(asker)
            if closing is None or self.held.nbytes > MOST_BYTES:
                self._pending = False
                self._closings.release(self.key)
            else:
                self._pending = self._closings.pending(self.key, closing)
        return self._pending

    def _closing(self, member: Member) -> Closing | None:
        triples = self.background_triples
        return self._views.closing(member, triples) if triples and self._closings.takes(triples) else None

    @property
    def background_triples(self) -> int:
        return sum(self._sizes.values())

    def _may_be_due(self) -> bool:
        return any(member.has_due for member in self.members.values())

    def _hold(self, row: Row) -> Iterator[Message]:
        """Keep an entry until it can be taken. Who is deleted waits for nothing."""
        self.waiting = True
        if row.kind == "unregister" and row.seq > self.reached:
            self.held.forget(json.loads(row.payload or b"")["id"])
            self._unregister(row)
            self.held.hold(row)
            yield from self._resume()
        elif row.kind in REPEATED or row.seq > self.reached:
            known = self.graphs if row.kind == "background" else {}
            if row.seq > known.get(row.subject or "", 0):
                self.held.hold(row)

    def _resume(self) -> Iterator[Message]:
        """Answer what is due, and take what has waited, as far as nothing need wait any longer."""
        if not self.waiting or self._must_wait() and self._may_be_due():
            return
        self.waiting = False
        yield from self._answer()
        while self.held and not self.waiting:
            if self.held.head.kind in ANSWERING and self._must_wait():
                self.waiting = True
            else:
                yield from self._take(self.held.take())

    def _answer_or_wait(self, members: Iterable[Member] | None = None) -> Iterator[Message]:
        if self._must_wait() and self._may_be_due():
            self.waiting = True
        else:
            yield from self._answer(members)

    # --- what a row changes

    def _take(self, row: Row) -> Iterator[Message]:
        if row.kind == "background":
            # It may come again long after its place, for a query that has just been registered.
            self.set_background(row.subject or "", row.seq, row.payload or b"")
            self.seq = max(self.seq, row.seq)
            return
        if row.kind == "rules":
            self.set_rules(row.subject or "", row.seq, (row.payload or b"").decode())
            self.seq = max(self.seq, row.seq)
            return
        if row.kind == DAMAGED:
            yield from self._lose(row)
            self.seq = max(self.seq, row.seq)
            return
        if row.seq <= self.seq:
            return
        self.seq = row.seq
        self._arrival = None if row.kind == "tick" and row.subject is not None else row.at
        match row.kind:
            case "register":
                yield from self._register(row)
                return  # it moves no clock: nothing is due to the others that was not before
            case "unregister":
                self._unregister(row)
            case "pause" | "resume":
                yield from self._pause(row)
            case "fail":
                yield from self._fail_as_logged(row)
            case "chunk":
                self._chunk(row)
            case "tick":
                if row.subject is None:
                    self.arrival.tick(row.at)
                else:
                    for member in self.untimed:
                        member.progress.tick(row.subject, row.at)
        yield from self._answer_or_wait()

    def _register(self, row: Row) -> Iterator[Message]:
        try:
            registration: Registration = json.loads(row.payload or b"")
            failure = registration.get("failure")
            if failure is not None and failure["answered"] is None:  # it has told nothing, and need not be read
                if registration.get("failed") is None:
                    yield QueryFailure(row.seq, failure["instant"], failure["reason"])
                return
            member = self._guard.evaluated(
                row.seq,
                READING,
                0.0 if failure is None else math.inf,
                lambda: Member(registration, row.at, self.arrival),
            )
        # A text that was admitted once and cannot be read now: its own failure, nobody else's.
        except Exception as error:
            yield QueryFailure(row.seq, row.at, unreadable(error))
            return
        member.snapshot |= self._evaluator == SNAPSHOT
        self.members[member.id] = member
        self.members_changed()
        self.fresh.append(Piece())
        yield from self._answer_or_wait([member])

    def _lose(self, row: Row) -> Iterator[Message]:
        """An entry is damaged."""
        lost = json.loads(row.payload or b"")
        reason = f"{lost['reason']}; {WAYS_OUT.get(lost['kind'], f'{AGAIN}: it goes on with what comes then')}"
        match lost["kind"]:
            case "register":
                if self.key == UNREADABLE:
                    yield QueryFailure(row.seq, row.at, reason)
                elif self.members.pop(row.seq, None) is not None:  # read while it was whole
                    self.members_changed()
                return
            case "background":
                known = self.graphs.get(row.subject or "", 0)
            case "rules":
                known = self.rules.get(row.subject or "", (0, ""))[0]
            case _:
                known = self.seq
        # What was read while it was whole is still known.
        for member in list(self.members.values()) if lost["seq"] > known else ():
            if member.failed is None:
                yield self._fail(member, row.at, ValueError(reason))

    def _unregister(self, row: Row) -> None:
        self.members.pop(json.loads(row.payload or b"")["id"], None)  # none, if it could not be read
        self.members_changed()

    def _pause(self, row: Row) -> Iterator[Message]:
        """A query is paused, or goes on. The entry tells the time, as any other does: up to it, instants have passed on
        the arrival clock."""
        member = self.members.get(json.loads(row.payload or b"")["id"])
        if member is None:
            return  # it could not be read
        member.progress.tick(None, row.at - 1)
        self._soonest = None
        # What has passed is answered before a pause, and passed over before a resume.
        yield from self._answer()
        member.paused = row.kind == "pause"
        self._soonest = None

    def _fail_as_logged(self, row: Row) -> Iterator[Message]:
        """The log says that a query has failed. Mostly that is known here; an engine that has taken a batch again may
        have come to something else."""
        failure = QueryFailed(**json.loads(row.payload or b""))
        member = self.members.get(failure.id)
        if member is not None and member.failed is None:
            member.failure = failure
            yield self._fail(member, failure.instant, ValueError(failure.reason))

    def members_changed(self) -> None:
        """Members have come, gone or failed: how far back somebody may look is another question now."""
        self._untimed = self._soonest = self._pending = None
        self._views.closures.changed()

    @property
    def untimed(self) -> list[Member]:
        if self._untimed is None:
            self._untimed = [member for member in self.members.values() if not member.timed]
        return self._untimed

    def set_background(self, graph: str, seq: int, payload: bytes) -> None:
        """Take a background graph, unless it is known at `seq` or later."""
        if seq > self.graphs.get(graph, 0):
            self.graphs[graph] = seq
            self.new_graphs[graph] = payload
            self._views.closures.set_background(graph, payload)
            chunk = Chunk.from_ipc(payload)
            self._sizes[graph] = len(chunk)
            self._pending = None
            self.content.replace(self.number(graph), chunk)

    def set_rules(self, name: str, seq: int, text: str) -> None:
        """Take a user's rule set, unless it is known at `seq` or later."""
        if seq > self.rules.get(name, (0, ""))[0]:
            self.rules[name] = seq, text
            self._pending = None
            self._views.closures.set_rules(name, text)

    def _chunk(self, row: Row) -> None:
        chunk = Chunk.from_ipc(row.payload or b"").stamped(row.at)
        first, last = chunk.first, chunk.last
        if row.subject is None or first is None or last is None:
            return  # it is empty
        stream = self.number(row.subject)
        self.content.add(stream, row.seq, chunk)
        self.fresh[-1].take(stream, row.seq, chunk)
        self.arrival.logged(row.at)
        apart = False
        for member in self.untimed:
            progress = member.progress
            if row.subject in progress.clocks:
                reading = progress.reading(row.subject)
                if first <= reading and row.subject in progress.event:
                    progress.late += self.content.late(stream, row.seq, reading)
                progress.arrived(row.subject, row.at, first, last)
                if member.counts and member.failed is None:
                    member.arrived(row.subject, chunk.t, np.unique(chunk.t))
                    if any(window.elements is not None for window in member.windows):
                        apart = True
        if apart:  # a slide must not hide which triples came in one push
            self.fresh.append(Piece())

    def limit(self, limits: Limits) -> None:
        """What each of its queries may have from now on."""
        self._views.given = limits
        self._views.closures.seconds, self._views.closures.bytes = limits.seconds, limits.bytes

    def guard(self, guard: EvaluationGuard) -> None:
        """What its queries are evaluated under from now on."""
        self._guard = guard

    def close_by(self, closings: Closings) -> None:
        """Where its background is closed from now on."""
        self._closings = closings

    def maintain(self, strategy: str) -> None:
        """How its closures are maintained from now on (see `maintain.strategies`). Answers are the same."""
        self._views.closures.maintain(strategy)

    def state_bytes(self, member: int) -> int:
        """What is held for a query, about; what it shares with others counts for each of them."""
        return self._views.state_bytes(member)

    def number(self, iri: str) -> int:
        return self.streams.setdefault(iri, len(self.streams))

    # --- answering

    def _answer(self, members: Iterable[Member] | None = None) -> Iterator[Message]:
        """Tell what is due to these members, or to all."""
        due, failed = [], []
        for member in self._awake() if members is None else members:
            if member.failed is None and member.paused:
                member.pass_over()
            elif member.failed is None:
                try:
                    due += [(instant, -member.widest, member.id) for instant in member.due()]
                except TooManyInstants as error:
                    failed.append((member, error))
        for member, too_many in failed:
            yield self._fail(member, too_many.instant, too_many)
        if members is None and (self._soonest is None or self.arrival.reading >= self._soonest):
            self._soonest = min(
                (member.soonest() for member in self.members.values() if member.timed and member.failed is None),
                default=END_OF_TIME,
            )
        # The widest windows first: the others may cut their answers out of theirs.
        due.sort()
        for verdict in self._guard.rehearse(
            lambda: [self._evaluation(self.members[id], instant) for instant, _, id in due]
        ):
            # What it says before it fails comes first.
            if verdict.instant == next(instant for instant, _, id in due if id == verdict.member):
                yield self._fail(self.members[verdict.member], verdict.instant, TooMuch(verdict.reason))
        try:
            for instant, _, id in due:
                yield from self._say(self.members[id], instant)
        finally:  # also where whoever writes the answers breaks off
            self._guard.rest()

    def _say(self, member: Member, instant: int) -> Iterator[Message]:
        """What a member says at an instant that is due."""
        if member.failed is None and member.failure is not None and member.failure.precedes(instant):
            yield self._fail(member, instant, ValueError(member.failure.reason))
        elif member.is_over(instant):
            member.see(instant)
        elif member.failed is None:
            limits = None if member.failure is not None else self._views.given
            if limits is None:  # nobody waits
                yield self._tell(member, instant)
            else:
                yield self._tell_in_time(member, instant, limits)
                # Now it is written, too. Stamps that producers give say nothing of how fast they come, nor do the
                # milliseconds by which the turns of one push are kept apart.
                progress = member.progress
                member.arrears.end(
                    min(instant, progress.arrival), entry=self.seq if progress.event else 0, arrival=self._arrival
                )
            if member.failed is not None:
                self._forget_views()  # what was held for it is no reason for others to fail
            if self._guard.is_full:
                yield from self._relieve(instant)

    def _awake(self) -> Iterable[Member]:
        """The members that may have instants that have passed. Rows are many, and few of them make somebody's due."""
        if self._soonest is not None and self.arrival.reading < self._soonest:
            return self.untimed
        return self.members.values()

    def _tell_in_time(self, member: Member, instant: int, limits: Limits) -> Message:
        """Tell it, unless the others have waited for too many of its answers."""
        try:
            member.arrears.check(limits)
        except TooMuch as error:
            return self._fail(member, instant, error)
        member.arrears.begin()
        return self._tell(member, instant)

    def _tell(self, member: Member, instant: int) -> Message:
        begun = time.perf_counter_ns()
        try:
            with counted() as refused:
                _, rows, payload = self._guard.evaluated(*self._evaluation(member, instant))
            self._costs.refused += refused.count
        except Exception as error:  # whatever a query does to the evaluator, it does to itself alone
            return self._fail(member, instant, error)
        self._costs.note(
            member,
            instant=instant,
            rows=rows,
            micros=(time.perf_counter_ns() - begun) // 1000,
            due=self._arrival if member.progress.event else instant,
        )
        return InstantAnswer(member.id, instant, 0, rows, payload)

    def _evaluation(self, member: Member, instant: int) -> DueEvaluation[MemberReply]:
        return DueEvaluation(
            member.id, instant, self._views.closing_seconds(member), lambda: self._views.say(member, instant, self.seq)
        )

    def _relieve(self, instant: int) -> Iterator[Message]:
        """Where there is too much in the process, those fail that most is held for."""
        while (error := self._guard.crowded(self.key, lambda: self._largest()[0])) is not None:
            yield self._fail(self.members[self._largest()[1]], instant, error)
            self._forget_views()

    def _largest(self) -> tuple[int, int]:
        """The query that most is held for, behind how much that is. Nobody fails for one of which the log says how it
        fails, and that one fails there."""
        shares = self._views.shares([id for id, member in self.members.items() if member.failed is None])
        most, id = max(((nbytes, id) for id, nbytes in shares.items()), default=(0, 0))
        return (most, id) if id and self.members[id].failure is None else (0, 0)

    def costs(self) -> BatchCosts | None:
        """What the answers have cost since this was asked last, if there were any. It is beside what is true: the same
        log may cost something else."""
        payload = self._costs.report(elements=self._views.elements, state=self.state_bytes, nodes=self._views.nodes)
        return None if payload is None else BatchCosts(payload)

    def _fail(self, member: Member, instant: int, error: Exception) -> QueryFailure:
        reason = str(error) or type(error).__name__
        if member.failure is not None:  # it is the one that the log tells
            instant, reason = member.failure.instant, member.failure.reason
        member.fail(reason)
        self.members_changed()
        return QueryFailure(member.id, instant, reason)

    # --- forgetting

    def _forget(self) -> None:
        self.content.forget(self.horizons(), self.places())
        self._forget_views()

    def _forget_views(self) -> None:
        self._views.forget({id for id, member in self.members.items() if member.failed is None and not member.paused})

    def horizons(self) -> dict[int, int]:
        """For each stream that it is known of: elements stamped this or earlier are not seen again through any window
        of time."""
        horizons = {}
        for iri, stream in self.streams.items():
            if iri not in self.graphs:
                reach = [
                    member.horizon(window)
                    for member in self.members.values()
                    if member.failed is None
                    for window in member.windows
                    if window.stream == iri and is_timed(window)
                ]
                known = [horizon for horizon in reach if horizon is not None]
                if len(known) == len(reach):
                    horizons[stream] = min(known, default=END_OF_TIME)
        return horizons

    def places(self) -> dict[int, int]:
        """For each stream that is counted: elements logged before this place are not seen again through any window that
        counts."""
        places: dict[int, int] = {}
        for member in self.members.values():
            for place, count in member.counts.items() if member.failed is None else ():
                window = member.windows[place]
                stream = self.number(window.stream)
                oldest = self.content.oldest(stream, member.id, count.needed(), graphs=window.elements is not None)
                places[stream] = min(oldest, places.get(stream, END_OF_TIME))
        return places
