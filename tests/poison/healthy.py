"""Healthy queries beside a poison, over the same stream: what they have to say is known from what was pushed.

    pushes        ●  ●  ●  ●  ●  ●          numbers, one after the other, each with the stamp that the server told
    Plain         │     │     │             those of the last three seconds
    Entailed      │     │     │             the same, by what follows from a background

    healthy = Healthy(url)
    healthy.begin()
    health = healthy.since(instant)         # judged: which answers are wrong or missing, and how late they came

Nothing of the server's own code says what is right.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from csparql_spark.client import Client, ProblemError, Unreachable

RANGE, STEP = 3000, 1000
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SCHEMA = (
    f"<urn:number> <{RDFS}subPropertyOf> <urn:value> . <urn:value> <{RDFS}domain> <urn:Push> . "
    f"<urn:Push> <{RDFS}subClassOf> <urn:Event> ."
)
WINDOW = "FROM STREAM <streams/numbers> [RANGE 3s STEP 1s]"
QUERIES = {
    "Plain": f"REGISTER QUERY Plain AS SELECT ?n {WINDOW} WHERE {{ ?push <urn:number> ?n }}",
    "Entailed": f"REGISTER QUERY Entailed AS SELECT ?n FROM <urn:schema> {WINDOW} USING ENTAILMENT rdfs "
    "WHERE { ?push <urn:value> ?n . ?push a <urn:Event> }",
}
PAUSE_SECONDS = 0.2
PATIENCE_SECONDS = 240.0
END_SECONDS = 10.0
LATE_SECONDS = 4.0  # a poison's time limit twice: less than that is no lateness


@dataclass
class Health:
    """`late`: how often answers began to be late; `lag`: seconds, of the latest."""

    broken: list[str] = field(default_factory=list)
    lag: float = 0.0
    late: int = 0


class Healthy:
    def __init__(self, url: str) -> None:
        self._client = Client(url, timeout=60, patience=PATIENCE_SECONDS)
        self._pushed: dict[int, int] = {}  # number: its stamp
        self._told: dict[str, dict[int, tuple[float, list[int]]]] = {name: {} for name in QUERIES}
        self._said: list[str] = []
        self._over, self._pushing = threading.Event(), threading.Lock()
        self._grown = threading.Condition()
        self._threads = [threading.Thread(target=self._listen, args=(name,), daemon=True) for name in QUERIES]
        self._threads.append(threading.Thread(target=self._push, daemon=True))

    def begin(self) -> None:
        """Everything runs when this returns."""
        self._client.create_stream("numbers")
        self._client.graph_put("urn:schema", SCHEMA)
        for name, text in QUERIES.items():
            self._client.register(name, text)
        for thread in self._threads:
            thread.start()
        self.reached(int(time.time() * 1000), PATIENCE_SECONDS)

    def end(self) -> None:
        """While the server is there: who listens ends with the next answer."""
        self._over.set()
        for thread in self._threads:
            thread.join(END_SECONDS)
        self._client.close()

    def reached(self, instant: int, patience: float) -> bool:
        """All have told an instant."""
        with self._grown:
            return self._grown.wait_for(
                lambda: all(told and max(told) >= instant for told in self._told.values()), patience
            )

    def since(self, instant: int, late_seconds: float = LATE_SECONDS) -> Health:
        """What was told of the instants after this one; what came so much later is late."""
        with self._pushing, self._grown:
            pushed, told = dict(self._pushed), {name: dict(of) for name, of in self._told.items()}
            health, self._said = Health(self._said), []
        for name, answers in told.items():
            instants = sorted(at for at in answers if at > instant)
            wrong = [at for at in instants if answers[at][1] != _expected(pushed, at)]
            if wrong:
                at = wrong[0]
                health.broken.append(
                    f"{name} says {answers[at][1]} at {at}, and should {_expected(pushed, at)}; {len(wrong)} are wrong"
                )
            begun = max(instant // STEP * STEP, min(answers, default=0) - STEP)
            if missing := [at for at, after in zip([begun, *instants], instants) if after != at + STEP]:
                health.broken.append(f"{name} tells nothing after {missing[0]}")
            lags = [answers[at][0] - at / 1000 for at in instants]
            health.lag = max([health.lag, *lags])
            late = [lag > late_seconds for lag in lags]
            health.late = max(health.late, sum(now and not before for before, now in zip([False, *late], late)))
        return health

    def _push(self) -> None:
        number = 0
        while not self._over.wait(PAUSE_SECONDS):
            number += 1
            with self._pushing:
                try:
                    told = self._client.push("numbers", f"<urn:push/{number}> <urn:number> {number} .")
                    self._pushed[number] = told["at"]
                except (ProblemError, Unreachable) as error:
                    self._said.append(f"a healthy push was refused: {error}")
        self._client.close()

    def _listen(self, name: str) -> None:
        try:
            answers = self._client.subscribe(name, start="beginning")
            for answer in answers:
                numbers = sorted(int(str(row["n"])) for row in answer.rows)
                with self._grown:
                    if answer.at in self._told[name]:
                        self._said.append(f"{name} tells {answer.at} twice")
                    self._told[name][answer.at] = time.time(), numbers
                    self._grown.notify_all()
                if self._over.is_set():
                    answers.close()
                    return
        except (ProblemError, Unreachable) as error:
            self._said.append(f"{name} is told no more: {error}")


def _expected(pushed: dict[int, int], instant: int) -> list[int]:
    return sorted(number for number, at in pushed.items() if instant - RANGE < at <= instant)
