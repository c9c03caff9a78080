"""A group: the stateful processor of the queries that share one materialization. It knows nothing of Spark.

It is given the rows of its log entries in order, and answers instant by instant:

    row ─▶ content grows ─▶ clocks move ─▶ for each instant that has passed: window ─▶ graph ─▶ plan ─▶ answer
                                                                 └─▶ what no window will see again is forgotten

Invariants: rows that it has seen are ignored, so a batch may come twice; answers depend on the rows and their order
alone, not on how they are cut into batches; a query that fails is marked, says so once, and the others go on. Where an
entry is damaged, the queries fail that would have had to read it: those that are there when it comes. While a large
background is closed beside, what is due waits, and what comes then is held and taken in its order.

Here is what each row changes. Whether it has to wait says `background_wait`, what is answered then `due_answers`.

    group = Group("1f0c…")
    for message in group.feed(rows):
        print(message.query, message.instant)
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator

from csparql_spark.answers.limits import Limits
from csparql_spark.engine.background_wait import BackgroundWait
from csparql_spark.engine.closings import Closings
from csparql_spark.engine.due_answers import DueAnswers
from csparql_spark.engine.evaluator_choice import AUTO, INCREMENTAL, SNAPSHOT
from csparql_spark.engine.guard import EvaluationGuard
from csparql_spark.engine.held_entries import REPEATED
from csparql_spark.engine.member import Member
from csparql_spark.engine.messages import BatchCosts, Message, QueryFailure
from csparql_spark.engine.notes import READING
from csparql_spark.engine.view_answer import Keyframes
from csparql_spark.engine.views import Views
from csparql_spark.kernel.sort import distinct, ordered
from csparql_spark.log.contents import QueryFailed
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.schedule.routing import DAMAGED, REPLACED, UNREADABLE, WAKE, Registration, Row
from csparql_spark.windows.content import END_OF_TIME, Content
from csparql_spark.windows.progress import Arrival
from csparql_spark.windows.rule import is_timed

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
        self._views = Views(self.content, self.number, self.members, maintained_only=evaluator == INCREMENTAL)
        self.wait = BackgroundWait(key, self.members, self._views)
        self._due = DueAnswers(key, self.members, self.arrival, self._views, self._fail)
        self._entry_at: int | None = None  # when the entry arrived that was taken last, if that is known
        self._entry_subject: str | None = None  # and where, if it is of a stream

    def feed(self, rows: Iterable[Row]) -> Iterator[Message]:
        """Take the next rows, in the order of the log; say what became true."""
        self._due.guard.open(self.members)
        for id, reason in self.unreadable.items():
            yield QueryFailure(id, 0, reason)
        self.unreadable = {}
        self.wait.ask_again()
        yield from self._resume()
        for row in rows:
            if row.kind == WAKE:
                continue
            if self.wait.stops(row):
                yield from self._hold(row)
            else:
                yield from self._take(row)
        self.wait.must_wait()  # what will be needed is begun now
        self._forget()
        self._due.guard.close(self.members)

    @property
    def waiting(self) -> bool:
        """Whether an instant may be due that is not answered yet."""
        return self.wait.is_on

    @property
    def reached(self) -> int:
        """The place of the last entry that was given to it, whether it has taken that or not."""
        return max(self.seq, self.wait.held.seq)

    # --- rows that are taken, now or later

    def _hold(self, row: Row) -> Iterator[Message]:
        """Keep an entry until it can be taken. Who is deleted waits for nothing."""
        self.wait.is_on = True
        if row.kind == "unregister" and row.seq > self.reached:
            self._unregister(row)
            self.wait.held.hold(row)
            yield from self._resume()
        elif row.kind in REPEATED or row.seq > self.reached:
            known = self.graphs if row.kind == "background" else {}
            if row.seq > known.get(row.subject or "", 0):
                self.wait.held.hold(row)

    def _resume(self) -> Iterator[Message]:
        """Answer what is due, and take what has waited, as far as nothing need wait any longer."""
        if self.wait.end():
            yield from self._answer()
            for row in self.wait.released():
                yield from self._take(row)

    def _answer(self, members: Iterable[Member] | None = None) -> Iterator[Message]:
        return self._due.tell(self.seq, self._entry_at, self._entry_subject, members)

    def _answer_or_wait(self, members: Iterable[Member] | None = None) -> Iterator[Message]:
        if not self.wait.begin_if_due():
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
        self._entry_at = None if row.kind == "tick" and row.subject is not None else row.at
        self._entry_subject = row.subject
        match row.kind:
            case "register":
                yield from self._register(row)
                return  # it moves no clock: nothing is due to the others that was not before
            case "unregister":
                self._unregister(row)
            case _ if row.kind == REPLACED:
                yield from self._end(json.loads(row.payload or b"")["id"], row.at)
                return  # as little as that of a registration
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
                    for member in self._due.untimed:
                        member.progress.tick(row.subject, row.at)
        yield from self._answer_or_wait()

    def _register(self, row: Row) -> Iterator[Message]:
        registration: Registration = json.loads(row.payload or b"")
        if "ends" in registration:
            yield from self._end(registration["ends"], row.at)
        try:
            failure = registration.get("failure")
            if failure is not None and failure["answered"] is None:  # it has told nothing, and need not be read
                if registration.get("failed") is None:
                    yield QueryFailure(row.seq, failure["instant"], failure["reason"])
                return
            member = self._due.guard.evaluated(
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

    def _end(self, id: int, at: int) -> Iterator[Message]:
        """Another version takes the place of a member, with an entry stamped so: what has passed by then it answers, up
        to that millisecond, since nothing more that it would see is to come. The next version begins with the one
        after."""
        member = self.members.get(id)
        if member is None:
            return  # it could not be read
        member.progress.tick(None, at)
        yield from self._answer([member])
        del self.members[member.id]
        self.members_changed()

    def _unregister(self, row: Row) -> None:
        version: int | None = json.loads(row.payload or b"")["id"]
        while version is not None:  # where its registration is held, the versions that would have ended are there, too
            self.members.pop(version, None)  # none, if it could not be read
            version = self.wait.held.forget(version)
        self.members_changed()

    def _pause(self, row: Row) -> Iterator[Message]:
        """A query is paused, or goes on. The entry tells the time, as any other does: up to it, instants have passed on
        the arrival clock."""
        member = self.members.get(json.loads(row.payload or b"")["id"])
        if member is None:
            return  # it could not be read
        member.progress.tick(None, row.at - 1)
        self._due.forget_soonest()
        # What has passed is answered before a pause, and passed over before a resume.
        yield from self._answer()
        member.paused = row.kind == "pause"
        self._due.forget_soonest()

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
        self._due.members_changed()
        self.wait.ask_again()
        self._views.closures.changed()

    def _fail(self, member: Member, instant: int, error: Exception) -> QueryFailure:
        """A member answers no more. What is to be told."""
        reason = str(error) or type(error).__name__
        if member.failure is not None:  # it is the one that the log tells
            instant, reason = member.failure.instant, member.failure.reason
        member.fail(reason)
        self.members_changed()
        return QueryFailure(member.id, instant, reason)

    def set_background(self, graph: str, seq: int, payload: bytes) -> None:
        """Take a background graph, unless it is known at `seq` or later."""
        if seq > self.graphs.get(graph, 0):
            self.graphs[graph] = seq
            self.new_graphs[graph] = payload
            self._views.closures.set_background(graph, payload)
            chunk = Chunk.from_ipc(payload)
            self.wait.set_background(graph, len(chunk))
            self.content.replace(self.number(graph), chunk)

    def set_rules(self, name: str, seq: int, text: str) -> None:
        """Take a user's rule set, unless it is known at `seq` or later."""
        if seq > self.rules.get(name, (0, ""))[0]:
            self.rules[name] = seq, text
            self.wait.ask_again()
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
        for member in self._due.untimed:
            progress = member.progress
            if row.subject in progress.clocks:
                reading = progress.reading(row.subject)
                if first <= reading and row.subject in progress.event:
                    progress.late += self.content.late(stream, row.seq, reading)
                progress.arrived(row.subject, row.at, first, last)
                if member.counts and member.failed is None:
                    member.arrived(row.subject, chunk.t, distinct(ordered(chunk.t)))
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
        self._due.guard = guard

    def keep_by(self, keyframes: Keyframes) -> None:
        """Who keeps its answers, and says from now on which are told as changes."""
        self._views.keyframes = keyframes

    def close_by(self, closings: Closings) -> None:
        """Where its background is closed from now on."""
        self.wait.closings = closings

    def maintain(self, strategy: str) -> None:
        """How its closures are maintained from now on (see `maintain.strategies`). Answers are the same."""
        self._views.closures.maintain(strategy)

    def state_bytes(self, member: int) -> int:
        """What is held for a query, about; what it shares with others counts for each of them."""
        return self._views.state_bytes(member)

    def costs(self) -> BatchCosts | None:
        """What the answers have cost since this was asked last, if there were any. It is beside what is true: the same
        log may cost something else."""
        return self._due.report()

    def number(self, iri: str) -> int:
        return self.streams.setdefault(iri, len(self.streams))

    # --- forgetting

    def _forget(self) -> None:
        self.content.forget(self.horizons(), self.places())
        self._due.forget()

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
