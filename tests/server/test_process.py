"""The web process itself: starting, being killed, being told to end, being left alone."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log import Draft, Log, LogWriter
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.server.http.connections import listen
from csparql_spark.server.process import limits_of, main
from csparql_spark.server.settings import Settings
from csparql_spark.store import AnswerStore, StoredAnswer
from csparql_spark.store.tokens import Tokens, made
from tests.server.playing import Listener, number

PATIENCE = 60


class Parent:
    """Holds the listening socket and the lifeline, and starts web processes one after the other."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.listening = listen("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        self.lifeline, self.life = os.pipe()
        self.children: list[subprocess.Popen[str]] = []

    def start(self, *more: str) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "csparql_spark.server.process",
            "--data",
            str(self.data),
            "--fd",
            str(self.listening.fileno()),
            "--lifeline",
            str(self.lifeline),
            "--base-url",
            "http://csparql.test",
            *more,
        ]
        child = subprocess.Popen(
            command,
            pass_fds=(self.listening.fileno(), self.lifeline),
            start_new_session=True,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.children.append(child)
        return child

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, dict[str, object]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")
        finally:
            connection.close()

    def leave(self) -> None:
        """What the kernel does when the parent is killed."""
        os.close(self.life)
        self.life = -1

    def close(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            child.stderr.close()
        self.listening.close()
        os.close(self.lifeline)
        if self.life >= 0:
            os.close(self.life)


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Parent]:
    parent = Parent(tmp_path / "data")
    yield parent
    parent.close()


class Pusher(threading.Thread):
    """Sends numbers over a kept connection, and comes back when it breaks; knows which ones were acknowledged."""

    def __init__(self, parent: Parent, first: int, progress: queue.SimpleQueue[int]) -> None:
        super().__init__()
        self.parent, self.numbers, self.progress = parent, iter(range(first, first + 1_000_000)), progress
        self.acknowledged: dict[int, int] = {}  # number → place in the log
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.parent.port, timeout=PATIENCE)
            try:
                while not self.enough.is_set():
                    pushed = next(self.numbers)
                    connection.request(
                        "POST",
                        "/streams/s",
                        f"<urn:{pushed}> <urn:p> <urn:b> .",
                        {"Content-Type": "application/n-triples"},
                    )
                    response = connection.getresponse()
                    told = json.loads(response.read())
                    assert response.status == 200, told
                    self.acknowledged[pushed] = told["seq"]
                    self.progress.put(pushed)
            except (OSError, http.client.HTTPException):
                pass  # its fate is unknown, and it is not sent again
            finally:
                connection.close()


def test_killed_in_the_middle_of_pushes_it_has_kept_what_it_acknowledged(parent: Parent) -> None:
    child = parent.start()
    parent.ask("PUT", "/streams/s")
    progress: queue.SimpleQueue[int] = queue.SimpleQueue()
    pushers = [Pusher(parent, 1_000_000 * number, progress) for number in range(8)]
    for pusher in pushers:
        pusher.start()
    dice, log = random.Random(3), Log(Database(DataDirectory(parent.data).database))
    for _ in range(3):
        for _ in range(dice.randint(30, 90)):
            progress.get(timeout=PATIENCE)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child = parent.start()
    while not progress.empty():
        progress.get()
    for _ in range(30):
        progress.get(timeout=PATIENCE)
    for pusher in pushers:
        pusher.enough.set()
    for pusher in pushers:
        pusher.join()
    logged: dict[int, list[int]] = {}
    for entry in log.read(1, log.tail()):
        ((subject, _, _),) = Chunk.from_ipc(entry.payload).triples()
        logged.setdefault(int(subject.removeprefix("<urn:").removesuffix(">")), []).append(entry.seq)
    acknowledged = {number: [seq] for pusher in pushers for number, seq in pusher.acknowledged.items()}
    assert len(acknowledged) > 100
    assert {number: logged.get(number) for number in acknowledged} == acknowledged
    assert all(len(places) == 1 for places in logged.values()), "a push is in the log twice"


def test_sigterm_ends_it_in_order(parent: Parent) -> None:
    """Subscribers are sent home, and the next process goes on where they were."""
    child = parent.start()
    parent.ask("PUT", "/streams/s?clock=event")
    status, query = parent.ask("PUT", "/queries/q", "SELECT ?s FROM STREAM <streams/s> [RANGE 1s] { ?s ?p ?o }")
    assert status == 201
    directory = DataDirectory(parent.data)
    store = AnswerStore(Database(directory.database), directory.bell("answers"))
    store.write([StoredAnswer(query["id"], 1000, 0, 1, number(1000).to_bytes())])
    listener = Listener(parent.port)
    first = listener.next()
    assert first.data["at"] == 1000
    child.send_signal(signal.SIGTERM)
    assert listener.next() is None
    listener.close()
    assert child.wait(PATIENCE) == 0
    assert child.stderr.read() == ""
    store.write([StoredAnswer(query["id"], 2000, 0, 1, number(2000).to_bytes())])
    parent.start()
    again = Listener(parent.port, Last_Event_ID=first.id)
    assert again.next().data["at"] == 2000
    again.close()


def test_it_does_not_outlive_its_parent(parent: Parent) -> None:
    child = parent.start()
    assert parent.ask("GET", "/health")[0] == 200
    parent.leave()
    assert child.wait(PATIENCE) == -signal.SIGKILL


def test_alone_it_listens_itself_and_locks_the_directory(tmp_path: Path, capsys) -> None:
    command = [sys.executable, "-m", "csparql_spark.server.process", "--data", str(tmp_path / "data"), "--port", "0"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = child.stderr.readline()
    assert said.startswith("csparql-spark: the web process serves http://127.0.0.1:")
    port = int(said.rpartition(":")[2])
    assert main(["--data", str(tmp_path / "data"), "--port", "0"]) == 2
    assert capsys.readouterr().err == (
        f"csparql-spark: the data directory {tmp_path / 'data'} is in use by another server (process {child.pid}): "
        "stop that one, or choose another directory with --data\n"
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("PUT", "/streams/s")
    assert json.loads(connection.getresponse().read())["iri"] == f"http://127.0.0.1:{port}/streams/s"
    connection.close()
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 0
    assert child.stderr.read() == ""
    child.stderr.close()


@pytest.mark.parametrize(
    "settings, descriptors, connections, each",
    [
        (Settings(), 65536, 10_000, 2500),
        (Settings(connections=100), 65536, 100, 25),
        (Settings(connections=100, connections_per_address=7), 65536, 100, 7),
        (Settings(), 1024, 1024 - 256 - 4 * 64, (1024 - 256 - 4 * 64) // 4),
        (Settings(), 100, 1, 1),
        (Settings(), resource.RLIM_INFINITY, 10_000, 2500),
    ],
)
def test_connections_are_as_many_as_there_are_descriptors(
    monkeypatch, settings: Settings, descriptors: int, connections: int, each: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (descriptors, descriptors))
    limits = limits_of(settings)
    assert (limits.connections, limits.each) == (connections, each)


def test_what_keeps_it_from_starting(tmp_path: Path, capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--data", str(tmp_path / "data"), "--port", str(port)]) == 2
    assert capsys.readouterr().err == (
        f"csparql-spark: port {port} of 127.0.0.1 is taken: choose another one with --port, or stop the program that "
        "listens there\n"
    )
    assert not (tmp_path / "data").exists(), "nothing is half done"
    (tmp_path / "file").write_text("")
    assert main(["--data", str(tmp_path / "file" / "data"), "--port", "0"]) == 2
    assert capsys.readouterr().err == (
        f"csparql-spark: the data directory {tmp_path / 'file' / 'data'} cannot be written (Not a directory): choose "
        "another one with --data\n"
    )
    assert main(["--data", str(tmp_path / "data"), "--fd", "987"]) == 2
    assert capsys.readouterr().err == "csparql-spark: the descriptor 987 is no listening socket (Bad file descriptor)\n"
    assert main(["--data", str(tmp_path / "data"), "--host", "192.0.2.1", "--port", "0"]) == 2
    assert capsys.readouterr().err == (
        "csparql-spark: cannot listen on port 0 of 192.0.2.1 (Cannot assign requested address): choose others with "
        "--host and --port\n"
    )
    assert main(["--data", str(tmp_path / "data"), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert capsys.readouterr().err == (
        "csparql-spark: a server that listens on 0.0.0.0 can be reached by others, and needs tokens: make one with "
        f"`csparql-spark token add NAME --scope admin --data {tmp_path / 'data'}`, or listen on 127.0.0.1\n"
    )


def test_settings_that_are_handed_down_and_tokens_that_change_meanwhile(parent: Parent) -> None:
    secret, token = made("ci", ["push"])
    parent.data.mkdir()
    Settings(tokens=(token.as_setting,), subscribers=3).hand_down(parent.data)
    child = parent.start("--settings", str(parent.data / "settings.json"))
    assert parent.ask("GET", "/streams")[0] == 401
    assert parent.ask("GET", "/streams", Authorization=f"Bearer {secret}")[0] == 403
    told = Tokens(parent.data).add("lab", ["register"])
    assert parent.ask("PUT", "/streams/s", Authorization=f"Bearer {told}")[1]["iri"] == "http://csparql.test/streams/s"
    Tokens(parent.data).remove("lab")
    assert parent.ask("GET", "/streams", Authorization=f"Bearer {told}")[0] == 401
    parent.leave()
    child.wait(PATIENCE)
    said = child.stderr.read()
    assert secret not in said and told not in said and token.sha256 not in said


def test_rule_sets_of_an_earlier_server_are_named_at_the_start(parent: Parent) -> None:
    """They keep nothing from starting."""
    directory = DataDirectory(parent.data).create()
    database = Database(directory.database).create()
    writer = LogWriter(database, directory.bell("log"))
    writer.start()
    writer.append(Draft("rules", "old", rb"[(?x <urn:p> ?t) regex(?t, '(a)\\1') -> (?x <urn:q> ?t)]", rows=1))
    writer.stop()
    database.close()
    child = parent.start()
    assert child.stderr.readline() == (
        "csparql-spark: the rule set old has patterns that do not match what they may seem to: line 1, column 28: "
        r"\1 stands for what a group has matched, which takes more than one look at the text. So this regex holds of "
        "nothing. Mend it, and bring it again with PUT http://csparql.test/rules/old\n"
    )
    assert parent.ask("GET", "/health")[0] == 200


def test_it_ends_though_questions_are_at_work_and_wait(parent: Parent) -> None:
    """They are told so; what was acknowledged before is there again."""
    child = parent.start()
    parent.ask("PUT", "/streams/s")
    triples = "".join(f"<urn:s{number}> <urn:p> {number} .\n" for number in range(400))
    turtle = {"Content-Type": "text/turtle"}
    assert parent.ask("PUT", "/graphs?graph=urn:kb", triples, **turtle)[0] == 201
    heavy = "SELECT (COUNT(*) AS ?n) { ?a <urn:p> ?x . ?b <urn:p> ?y . ?c <urn:p> ?z FILTER(?x + ?y + ?z = 7) }"
    told: queue.SimpleQueue[tuple[int, object] | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            told.put(parent.ask("POST", "/sparql", heavy, **{"Content-Type": "application/sparql-query"}))
        except (OSError, http.client.HTTPException):
            told.put(None)  # its connection was closed

    crowd = [threading.Thread(target=ask) for _ in range(4)]  # two work, two wait
    for thread in crowd:
        thread.start()
    while len(begun(child.pid)) < 2:
        assert told.empty()
        threading.Event().wait(0.01)
    acknowledged = [
        parent.ask("POST", "/streams/s", f"<urn:{number}> <urn:p> <urn:b> .", **turtle)[1]["seq"] for number in range(5)
    ]
    guarded = descendants(child.pid)
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 0
    assert not any(map(process_runs, guarded))
    for thread in crowd:
        thread.join()
    for _ in crowd:
        answer = told.get()
        assert answer is None or answer[0] == 503 and "the server ends" in answer[1]["detail"].lower(), answer
    log = Log(Database(DataDirectory(parent.data).database))
    assert [entry.seq for entry in log.read(1, log.tail()) if entry.kind == "chunk"] == acknowledged


def descendants(process: int) -> list[int]:
    """The processes that one has started, and those that they have."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def process_runs(process: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def begun(process: int) -> list[int]:
    """The guarded children that have worked for half a second: more than there is in quick places."""
    ticks = os.sysconf("SC_CLK_TCK")
    times: list[int] = []
    for one in descendants(process):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            if int(fields[11]) + int(fields[12]) > ticks // 2 and int(fields[1]) != process:
                times.append(one)
    return times
