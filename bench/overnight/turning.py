"""Turning over: what is pushed, registered, changed, asked and heard while the hour goes by, each in its own thread.

    with Turning(port, facts) as turning:
        ...
    turning.counts          # {"facts": 7200000, "registered": 1180, "deleted": 1168, "visitors": 1702, …}
    turning.broken          # what should not have happened, in sentences

Facts are pushed without idempotency keys: those are kept for a day, so in an hour their table could only grow.
"""

from __future__ import annotations

import http.client
import itertools
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from bench.load.producer import N_QUADS, N_TRIPLES, Producer
from bench.overnight import passing
from bench.overnight.facts import QUARTER, Facts
from bench.overnight.passing import Guest
from bench.overnight.standing import STREAM
from csparql_spark.client import Client, ProblemError, Unreachable

GUESTS = 12  # at a time
GUEST_SECONDS, GRAPH_SECONDS, RULES_SECONDS, VISITOR_SECONDS = 2.0, 20.0, 120.0, 2.0
QUESTION_SECONDS, PAUSE_SECONDS = 5.0, 7.0
SIGNALS, SIGNALS_SECONDS = 30, 0.5
VISITORS, SHORTEST, LONGEST = 12, 5.0, 40.0  # at a time; how many seconds they stay
MOST_BROKEN = 50
QUESTION = (
    f"SELECT ?room (COUNT(*) AS ?n) FROM <{passing.ROOMS}> FROM STREAM <streams/{passing.SIGNALS}> [RANGE 5s] "
    "WHERE { ?signal <urn:by> ?device . ?device <urn:in> ?room } GROUP BY ?room"
)
LOOKS = (
    "/health",
    "/metrics",
    "/queries",
    "/streams",
    "/queries/Counted/timeline?span=60s",
    "/queries/Classed/explain",
    "/queries/Classed/measures",
    f"/streams/{passing.SIGNALS}/elements?limit=50",
)


class Turning:
    def __init__(self, port: int, facts: Facts) -> None:
        self._port, self._facts = port, facts
        self.counts: Counter[str] = Counter()
        self.broken: list[str] = []
        self._over = threading.Event()
        self._live: deque[Guest] = deque()
        self._visiting: list[threading.Thread] = []
        self._dice = random.Random(7)
        self._threads = [
            threading.Thread(target=self._work, args=(every, work), daemon=True)
            for every, work in (
                (QUARTER / 1000, self._push_facts()),
                (SIGNALS_SECONDS, self._push_signals()),
                (GUEST_SECONDS, self._turn_guests()),
                (GRAPH_SECONDS, self._change_rooms()),
                (RULES_SECONDS, self._change_rules()),
                (VISITOR_SECONDS, self._invite()),
                (QUESTION_SECONDS, self._ask()),
                (PAUSE_SECONDS, self._pause()),
            )
        ]

    def __enter__(self) -> Turning:
        client = self._client()
        client.graph_put(passing.ROOMS, passing.rooms(0), "nt")
        client.rules_put(passing.RULES, passing.rules(0))
        client.create_stream(passing.SIGNALS)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        for thread in self._threads:  # visitors go when they hear something, or with this process
            thread.join(90)

    def _client(self) -> Client:
        # The server closes connections that rest, and the client makes them again.
        return Client(f"http://127.0.0.1:{self._port}", timeout=60, patience=30)

    def _work(self, every: float, work: Callable[[], None]) -> None:
        due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            try:
                work()
            except (OSError, http.client.HTTPException, ProblemError) as error:
                self._break(f"{work.__name__}: {error}")
            due += every

    def _pushed(
        self, producer: Producer, stream: str, body: bytes, media_type: str = N_TRIPLES, known: bool = True
    ) -> None:
        status, told = producer.push(stream, body, media_type)
        if status != 200 and (known or status != 404):  # a stream of a guest may have gone meanwhile
            self._break(f"a push to {stream} was told {status}: {told.get('detail')}")

    def _break(self, sentence: str) -> None:
        self.counts["broken"] += 1
        if len(self.broken) < MOST_BROKEN:
            self.broken.append(sentence)

    def _push_facts(self) -> Callable[[], None]:
        producer, quarter = Producer(self._port), self._facts.begun

        def push_facts() -> None:
            nonlocal quarter
            while (quarter + 1) * QUARTER <= 1000 * time.time():
                body, number = self._facts.body(quarter), quarter
                quarter += 1
                self._pushed(producer, STREAM, body, N_QUADS)
                self.counts["facts"] += self._facts.size(number)

        return push_facts

    def _push_signals(self) -> Callable[[], None]:
        producer, numbers = Producer(self._port), itertools.count()

        def push_signals() -> None:
            number = next(numbers)
            self._pushed(producer, passing.SIGNALS, passing.signals(number, SIGNALS))
            self.counts["signals"] += 2 * SIGNALS
            for guest in list(self._live):
                if guest.stream is not None:
                    self._pushed(producer, guest.stream, passing.signals(number, 5), known=False)

        return push_signals

    def _turn_guests(self) -> Callable[[], None]:
        client, numbers = self._client(), itertools.count()

        def turn_guests() -> None:
            guest = passing.guest(next(numbers))
            if guest.stream is not None:
                client.create_stream(guest.stream)
                client.graph_put(guest.graph, passing.rooms(guest.number), "nt")
            for name, text in guest.texts.items():
                client.register(name, text)
                self.counts["registered"] += 1
            self._live.append(guest)
            if len(self._live) > GUESTS:
                self._leave(client, self._live.popleft())

        return turn_guests

    def _leave(self, client: Client, guest: Guest) -> None:
        for name in reversed(guest.texts):
            client.delete(name)
            self.counts["deleted"] += 1
        if guest.stream is not None:
            client.delete_stream(guest.stream)
            client.graph_delete(guest.graph)

    def _change_rooms(self) -> Callable[[], None]:
        client, versions = self._client(), itertools.count(1)

        def change_rooms() -> None:
            client.graph_put(passing.ROOMS, passing.rooms(next(versions)), "nt")
            self.counts["graphs"] += 1

        return change_rooms

    def _change_rules(self) -> Callable[[], None]:
        client, versions = self._client(), itertools.count(1)

        def change_rules() -> None:
            client.rules_put(passing.RULES, passing.rules(next(versions)))
            self.counts["rules"] += 1

        return change_rules

    def _ask(self) -> Callable[[], None]:
        """What a console asks for, and a question that is asked once."""
        client = self._client()

        def ask() -> None:
            told = client.query(QUESTION)
            self.counts["questions"] += 1
            self.counts["told"] += len(told.rows)
            for path in LOOKS:
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
                connection.request("GET", path)
                response = connection.getresponse()
                if len(response.read()) == 0 or response.status != 200:
                    self._break(f"{path} was told {response.status}")
                connection.close()

        return ask

    def _pause(self) -> Callable[[], None]:
        """One of the guests rests for a moment."""
        client = self._client()

        def pause() -> None:
            names = [name for guest in list(self._live)[1:] for name in guest.texts]
            if names:
                name = self._dice.choice(names)
                try:
                    client.pause(name)
                    client.resume(name)
                    self.counts["pauses"] += 1
                except ProblemError as problem:
                    if problem.code != "unknown-query":
                        raise

        return pause

    def _invite(self) -> Callable[[], None]:
        def invite() -> None:
            names = [name for guest in list(self._live) for name in guest.texts]
            self._visiting = [visitor for visitor in self._visiting if visitor.is_alive()]
            if names and len(self._visiting) < VISITORS:
                self.counts["visitors"] += 1
                called = self._dice.choice(names), self._dice.uniform(SHORTEST, LONGEST)
                self._visiting.append(threading.Thread(target=self._visit, args=called, daemon=True))
                self._visiting[-1].start()

        return invite

    def _visit(self, name: str, stay: float) -> None:
        """Hear a query for a while, or until it is deleted."""
        deadline, last = time.monotonic() + stay, None
        with self._client() as client:
            events = client.events(name)
            try:
                for event in events:
                    if event.kind == "answer":
                        self.counts["heard"] += 1
                        if last is not None and event.data["at"] <= last:
                            self._break(f"{name}: {event.data['at']} is told after {last}")
                        last = event.data["at"]
                    elif event.kind in ("problem", "gap"):
                        self._break(f"{name}: {event.kind} {event.data}")
                    if time.monotonic() > deadline or self._over.is_set():
                        return
            except ProblemError as problem:
                if problem.code != "unknown-query":  # it was deleted before we came
                    self._break(f"{name}: {problem}")
            except Unreachable as error:
                self._break(f"{name}: {error}")
            finally:
                events.close()
