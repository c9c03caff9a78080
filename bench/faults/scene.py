"""A scene: a server at work, with pushers that know what was acknowledged and a subscriber that knows what it was told.

    with Scene() as scene:
        scene.begin()
        scene.answered(4)                # four more instants have been told
        scene.kill("web")
        scene.finish()
        scene.verdict()                  # what was found, and which laws are broken

Every push is a triple with a number of its own, through the client that users have; every number is pushed once, with
the key that the client gives it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from bench.faults.laws import Verdict, judged
from bench.server import Server
from csparql_spark.client import Client, Event, ProblemError, Unreachable

PATIENCE_SECONDS = 240.0
STREAM, RANGE, STEP = "numbers", 3000, 500
WINDOW = "[RANGE 3s STEP 500ms]"
SCHEMA = "<urn:number> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <urn:value> ."
# The same in three ways: as it was pushed, as it follows, and by way of a stream that a query makes.
QUERIES = {
    "Numbers": f"REGISTER QUERY Numbers AS SELECT ?n FROM STREAM <streams/numbers> {WINDOW} "
    "WHERE { ?push <urn:number> ?n }",
    "Entailed": f"REGISTER QUERY Entailed AS SELECT ?n FROM <urn:schema> FROM STREAM <streams/numbers> {WINDOW} "
    "USING ENTAILMENT rho-df WHERE { ?push <urn:value> ?n }",
    "Copies": "REGISTER STREAM Copies AS CONSTRUCT { ?push <urn:copied> ?n } "
    "FROM STREAM <streams/numbers> [RANGE 500ms STEP 500ms] WHERE { ?push <urn:number> ?n }",
    "Copied": f"REGISTER QUERY Copied AS SELECT ?n FROM STREAM <streams/Copies> {WINDOW} "
    "WHERE { ?push <urn:copied> ?n }",
}
# All of it is checked afterwards.
KEPT = ("--keep-log", "10d", "--keep-answers", "1000000", "--forget-seconds", "86400")
PROCESSES = {
    "web": b"csparql_spark.server.process",
    "engine": b"csparql_spark.spark.engine",
    "jvm": b"org.apache.spark.deploy.SparkSubmit",
    "daemon": b"pyspark.daemon",
}


class Pusher(threading.Thread):
    """Pushes numbers one by one. What is refused is not sent again: another number is."""

    def __init__(self, url: str, first: int, pause: float) -> None:
        super().__init__(daemon=True)
        self._client, self._number, self._pause = Client(url, timeout=60, patience=PATIENCE_SECONDS), first, pause
        self.over = threading.Event()
        self.acknowledged: dict[int, int] = {}  # number: its place in the log
        self.refused: Counter[tuple[int, str]] = Counter()
        self.sentences: dict[str, str] = {}  # by code: one of them
        self.longest = 0.0  # seconds from a push to its acknowledgement
        self.lost: list[str] = []

    def run(self) -> None:
        while not self.over.wait(self._pause):
            self._number += 1
            begun = time.monotonic()
            try:
                told = self._client.push(STREAM, f'<urn:push/{self._number}> <urn:number> "{self._number}" .', "nt")
            except ProblemError as problem:
                self.refused[problem.status, problem.code] += 1
                self.sentences[problem.code] = problem.detail
                self.over.wait(0.1)
            except Unreachable as error:
                self.lost.append(str(error))
            else:
                self.acknowledged[self._number] = told["seq"]
                self.longest = max(self.longest, time.monotonic() - begun)


class Subscriber(threading.Thread):
    """Follows the answers from their beginning, through whatever happens."""

    def __init__(self, url: str, query: str = "Numbers") -> None:
        super().__init__(daemon=True)
        self._client, self._query = Client(url, timeout=60, patience=PATIENCE_SECONDS), query
        self.told: list[tuple[int, frozenset[int]]] = []
        self.notices: list[Event] = []
        self.failure: Exception | None = None
        self.grown = threading.Condition()

    def run(self) -> None:
        try:
            for answer in self._client.subscribe(self._query, start="beginning", notice=self.notice):
                numbers = frozenset(int(str(row["n"])) for row in answer.rows)
                with self.grown:
                    self.told.append((answer.at, numbers))
                    self.grown.notify_all()
        except (ProblemError, Unreachable) as error:
            self.failure = error

    def notice(self, event: Event) -> None:
        self.notices.append(event)

    def reached(self, instant: int, patience: float = PATIENCE_SECONDS) -> bool:
        with self.grown:
            return self.grown.wait_for(lambda: bool(self.told) and self.told[-1][0] >= instant, patience)

    def more(self, count: int, patience: float = PATIENCE_SECONDS) -> float:
        """Wait until so many more answers have come; the seconds that it took."""
        begun = time.monotonic()
        with self.grown:
            wanted = len(self.told) + count
            if not self.grown.wait_for(lambda: len(self.told) >= wanted, patience):
                raise TimeoutError(f"no answer came for {patience:.0f} s")
        return time.monotonic() - begun


class Scene:
    def __init__(
        self,
        *options: str,
        data: str | None = None,
        environment: dict[str, str] | None = None,
        pushers: int = 2,
        pause: float = 0.03,
    ) -> None:
        self._own = data is None
        self.data = data or tempfile.mkdtemp(prefix="csparql-fault-")
        self._options, self._environment = options, environment
        self._log = tempfile.NamedTemporaryFile("w+", prefix="csparql-fault-", suffix=".log")  # noqa: SIM115  closed with the scene
        self._count, self._pause = pushers, pause
        self.pushers: list[Pusher] = []
        self.server = self._serve("0")
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.client = Client(self.url, timeout=60, patience=PATIENCE_SECONDS)
        self.subscriber = Subscriber(self.url)

    def _serve(self, port: str) -> Server:
        return Server(
            *KEPT, *self._options, "--port", port, data=self.data, environment=self._environment, log=self._log
        )

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *exception: object) -> None:
        for pusher in self.pushers:
            pusher.over.set()
        self.server.__exit__(*exception)
        self._log.close()
        if self._own:
            shutil.rmtree(self.data, ignore_errors=True)

    def begin(self) -> None:
        """Queries, pushers and a subscriber; everything runs when this returns."""
        self.client.create_stream(STREAM)
        self.client.graph_put("urn:schema", SCHEMA, "nt")
        for name, text in QUERIES.items():
            self.client.register(name, text)
        self.pushers = [Pusher(self.url, 1_000_000 * number, self._pause) for number in range(self._count)]
        for thread in (*self.pushers, self.subscriber):
            thread.start()
        self.answered(4)

    def answered(self, count: int, patience: float = PATIENCE_SECONDS) -> float:
        return self.subscriber.more(count, patience)

    def again(self) -> None:
        """Start the server again, after it has ended."""
        self.server = self._serve(str(self.server.port))

    def stop(self) -> None:
        """End the server in order."""
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait()
        self.server.process.stdout.close()

    def processes(self, name: str) -> list[int]:
        """The processes of a kind: web, engine, jvm, daemon, or worker (what the daemon has forked)."""
        kind = PROCESSES["daemon" if name == "worker" else name]
        found = [pid for pid in self.server.processes() if kind in _command(pid)]
        daemons = {pid for pid in found if kind not in _command(_parent(pid))}
        if name == "worker":
            return [pid for pid in found if pid not in daemons]
        return sorted(daemons) if name == "daemon" else found

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> list[int]:
        """Kill -9 the processes of a kind that are there, or send them another signal; which."""
        killed = []
        for pid in self.processes(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                killed.append(pid)
        return killed

    def said(self) -> str:
        """What the server has printed."""
        return Path(self._log.name).read_text()

    def finish(self) -> None:
        """No more pushes; wait for what was begun."""
        for pusher in self.pushers:
            pusher.over.set()
        for pusher in self.pushers:
            pusher.join(PATIENCE_SECONDS)

    def verdict(self) -> Verdict:
        """Of the laws, over everything that has happened. Waits until everything that was pushed is answered."""
        acknowledged = {number: seq for pusher in self.pushers for number, seq in pusher.acknowledged.items()}
        verdict = judged(Path(self.data), acknowledged, self.subscriber, patience=PATIENCE_SECONDS)
        for pusher in self.pushers:
            verdict.broken += [f"a push was given up: {sentence}" for sentence in pusher.lost]
        if self.subscriber.failure is not None:
            verdict.broken.append(f"the subscriber has given up: {self.subscriber.failure}")
        return verdict

    def refusals(self) -> Counter[tuple[int, str]]:
        return sum((pusher.refused for pusher in self.pushers), Counter())

    def sentences(self) -> dict[str, str]:
        return {code: text for pusher in self.pushers for code, text in pusher.sentences.items()}

    def longest(self) -> float:
        """Seconds that the slowest acknowledged push took."""
        return max(pusher.longest for pusher in self.pushers)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""  # it has ended meanwhile


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
