"""Bits of the database that are flipped, where nothing but a checksum can see it: in the payload of an entry of the
log, while the server is stopped or at work, in an answer, in a registration.

    row = entry_while_stopped()

Two queries read a stream each, so that it can be seen that the one that is not concerned goes on.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.faults.row import Row, unless
from bench.faults.scene import KEPT, PATIENCE_SECONDS
from bench.server import Server
from csparql_spark.client import Client
from csparql_spark.disk import DataDirectory

LOOK_SECONDS = 0.1
QUERIES = {"A": "a", "B": "b"}


class Place:
    """A server with two streams and two queries, which have answered."""

    def __init__(self, data: str) -> None:
        self.directory = DataDirectory(data)
        self.broken: list[str] = []
        self._log = tempfile.NamedTemporaryFile("w+", prefix="csparql-fault-", suffix=".log")  # noqa: SIM115  closed with the scene
        self._port = "0"
        self.start()
        for stream in QUERIES.values():
            self.client.create_stream(stream)
        self.ids = {name: self.register(name) for name in QUERIES}
        self.seqs = {stream: self.push(stream) for stream in QUERIES.values()}
        for name in QUERIES:
            self.answers(name, 2)

    def register(self, name: str) -> int:
        return self.client.register(
            name,
            f"REGISTER QUERY {name} AS SELECT ?n FROM STREAM <streams/{QUERIES[name]}> "
            "[RANGE 2s STEP 500ms] WHERE { ?s <urn:n> ?n }",
        )["id"]

    def push(self, stream: str) -> int:
        return self.client.push(stream, f'<urn:s> <urn:n> "{time.time_ns()}" .', "nt")["seq"]

    def get(self, path: str) -> dict:
        """What a GET is told, an answer or a problem."""
        connection = self.server.connect()
        try:
            connection.request("GET", path, headers={"Accept": "application/json"})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def start(self) -> None:
        self.server = Server(*KEPT, "--port", self._port, data=str(self.directory.path), log=self._log)
        self._port = str(self.server.port)  # names of streams begin with it
        self.client = Client(f"http://127.0.0.1:{self.server.port}", timeout=60)
        self.server.until("running")

    def stop(self) -> None:
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait()
        self.server.process.stdout.close()

    def close(self) -> None:
        if self.server.process.poll() is None:
            self.stop()
        self._log.close()

    def expect(self, expected: bool, sentence: str) -> None:
        self.broken += unless(expected, sentence)

    def answers(self, name: str, count: int) -> int:
        """Wait for so many more answers; the newest instant."""
        first = latest = self.get(f"/queries/{name}")["latest"] or 0
        seen = 0
        for latest in self._looks(lambda: self.get(f"/queries/{name}")["latest"] or 0):
            seen += latest > first
            first = max(first, latest)
            if seen >= count:
                break
        return latest

    def reason(self, name: str) -> str:
        """Wait until a query has failed; why."""
        for told in self._looks(lambda: self.get(f"/queries/{name}")["failure"]):
            if told is not None:
                return told["reason"]
        return ""

    @staticmethod
    def _looks(look: Callable[[], object]) -> Iterator:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            yield look()
            time.sleep(LOOK_SECONDS)
        raise TimeoutError(f"it did not come in {PATIENCE_SECONDS:.0f} s")

    def refusal(self, path: str) -> str:
        """The detail of the problem that a GET is told; empty if it is told none, or another one."""
        told = self.get(path)
        return told["detail"] if isinstance(told, dict) and told.get("code") == "damaged" else ""

    def flip(self, table: str, key: str, place: int) -> None:
        """Flip a bit of a payload, wherever in the files it stands."""
        with contextlib.closing(sqlite3.connect(self.directory.database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            (payload,) = connection.execute(f"SELECT payload FROM {table} WHERE {key} = ?", (place,)).fetchone()
        flipped = 0
        for end in ("", "-wal"):
            path = Path(f"{self.directory.database}{end}")
            content = path.read_bytes() if path.exists() else b""
            begin = content.find(payload)
            while begin >= 0:
                with path.open("r+b") as file:
                    file.seek(begin + len(payload) // 2)
                    file.write(bytes([payload[len(payload) // 2] ^ 0x10]))
                flipped += 1
                begin = content.find(payload, begin + 1)
        assert flipped, "a small payload stands on one page"

    def command(self, *words: str) -> tuple[int, str]:
        ended = subprocess.run(
            [sys.executable, "-m", "csparql_spark", "store", *words, "--data", str(self.directory.path)],
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    def checked(self, count: int) -> None:
        """`store check` finds so many places."""
        code, told = self.command("check", "--json")
        found = json.loads(told)["damaged"]
        self.expect((code, len(found)) == (min(count, 1), count), f"store check: exit code {code}, {told}")

    def row(self, injected: str, observed: str) -> Row:
        return Row("", injected, observed, self.broken)


@contextlib.contextmanager
def _place() -> Iterator[Place]:
    data = tempfile.mkdtemp(prefix="csparql-fault-")
    place = Place(data)
    try:
        yield place
    finally:
        place.close()
        shutil.rmtree(data, ignore_errors=True)


def entry_while_stopped() -> Row:
    with _place() as place:
        seq = place.seqs["a"]
        place.stop()
        place.flip("log", "seq", seq)
        shutil.rmtree(place.directory.engine)  # the engine is to read it again
        place.checked(1)
        reasons = []
        for _ in range(2):
            place.start()
            reasons.append(place.reason("A"))
            place.answers("B", 3)
            place.stop()
        place.expect(reasons[0] == reasons[1] and f"entry {seq} of the stream" in reasons[0], f"it fails: {reasons}")
        code, told = place.command("skip", str(seq), "--yes")
        place.expect(code == 0, f"store skip: {told}")
        place.checked(0)
        place.start()
        health = place.client.health()
        place.expect(
            [one["seq"] for one in health.get("skipped", ())] == [seq] and "damaged" not in health,
            f"GET /health after store skip: {health}",
        )
        place.client.delete("A")
        place.register("A")
        place.push("a")
        place.answers("A", 3)
        shown = reasons[0].replace(place.get("/streams/a")["iri"], "…/streams/a")
        return place.row(
            "The server is stopped; in `store.db` one bit of the payload of an entry of the log is flipped, and "
            "`DATA/engine` is deleted, so that it is read again; it is started again, twice",
            f"The query that reads the stream fails, both times: “{shown}” The other one goes on. `store check` names the "
            "entry; after `store skip` `GET /health` tells it as skipped, and the query, registered again, answers.",
        )


def entry_while_serving() -> Row:
    with _place() as place:
        seq = place.seqs["a"]
        place.flip("log", "seq", seq)
        place.push("b")
        told = place.refusal("/streams/a/elements")
        place.expect(f"entry {seq} of the stream" in told, f"GET /streams/a/elements: {told!r}")
        for name in QUERIES:
            place.answers(name, 3)
        health = place.client.health()
        place.expect(
            health["status"] == "degraded" and [one["seq"] for one in health.get("damaged", ())] == [seq],
            f"GET /health: {health}",
        )
        place.checked(1)
        shown = told.replace(place.get("/streams/a")["iri"], "…/streams/a")
        return place.row(
            "The server is at work; in `store.db` one bit of the payload of an entry of the log is flipped that the engine "
            "has read",
            f"Who asks for it is told 500 `damaged`: “{shown}” Both queries, which have read it before, go on; "
            "`GET /health` (degraded) and `store check`, beside the running server, name the entry.",
        )


def answer() -> Row:
    with _place() as place:
        for _ in range(8):  # each answer is another one
            place.push("a")
            latest = place.answers("A", 1)
        place.stop()
        with contextlib.closing(sqlite3.connect(place.directory.database)) as connection:
            position, instant = connection.execute(
                "SELECT position, instant FROM answers WHERE query = ? AND instant < ? AND rows > 0 AND payload IN "
                "(SELECT payload FROM answers GROUP BY payload HAVING count(*) = 1) ORDER BY instant LIMIT 1",
                (place.ids["A"], latest),
            ).fetchone()
        place.flip("answers", "position", position)
        place.start()
        told = place.refusal(f"/queries/A/answers?at={instant}")
        place.expect(f"answer at {instant} is damaged" in told, f"GET …/answers: {told!r}")
        heard = []
        for event in place.client.events("A", start="beginning"):
            if event.kind in ("answer", "gap"):
                heard.append((event.kind, event.data.get("at", event.data.get("first")), event.data.get("reason")))
            if heard and heard[-1][1] > latest:
                break
        place.expect([one for one in heard if one[0] == "gap"] == [("gap", instant, "damaged")], f"events: {heard}")
        place.answers("A", 3)
        place.checked(1)
        return place.row(
            "The server is stopped; in `store.db` one bit of an answer is flipped; it is started again",
            "`GET …/answers` of that instant is told 500 `damaged`; a subscriber from the beginning is told "
            "a `gap` in its place, and all other answers; both queries go on.",
        )


def registration() -> Row:
    with _place() as place:
        seq = place.ids["A"]
        place.stop()
        place.flip("log", "seq", seq)
        place.start()
        reason = place.reason("A")
        place.expect(f"entry {seq} that registered the query A is damaged" in reason, f"it fails: {reason}")
        place.answers("B", 3)
        place.client.delete("A")
        place.register("A")
        place.push("a")
        place.answers("A", 3)
        return place.row(
            "The server is stopped; in `store.db` one bit of a registration is flipped; it is started again",
            f"It starts. That query has failed: “{reason}”. The other one goes on; deleted and registered "
            "again, the query answers.",
        )
