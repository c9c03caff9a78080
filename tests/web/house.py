"""A house to look at: a web process over a directory, and a hand in this process that plays the engine.

    with House(tmp_path) as house:
        house.stream("temp")
        id = house.register("Hot", "REGISTER QUERY Hot AS …")
        house.answer(id, 1_700_000_000_000, ("room", "celsius"), [{"room": "<urn:lab>", "celsius": '"30"'}])
        house.restart()             # another process behind the same socket: who comes meanwhile waits
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from csparql_spark.answers.bindings import Result
from csparql_spark.server.http.connections import listen
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.store import AnswerStore, Status, StoredAnswer
from csparql_spark.store.retention import Retention
from csparql_spark.store.tokens import Tokens
from csparql_spark.relations.tags import ALWAYS

PATIENCE = 60


class House:
    def __init__(self, data: Path, *, tokens: Mapping[str, Sequence[str]] | None = None) -> None:
        self.directory = DataDirectory(data).create()
        kept = Tokens(self.directory.path)
        self.tokens = {name: kept.add(name, list(scopes)) for name, scopes in (tokens or {}).items()}
        self.listening = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.lifeline, self._life = os.pipe()
        self._child: subprocess.Popen[bytes] | None = None
        self._noise = (data / "web.log").open("wb")

    def __enter__(self) -> House:
        self.start()
        self.ask("GET", "/health", token=next(iter(self.tokens), None))
        self.database = Database(self.directory.database)
        self.store = AnswerStore(self.database, self.directory.bell("answers"))
        Status(self.database).say("engine", {"state": "running", "pid": os.getpid()})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.stop()
        self.database.close()
        self.listening.close()
        self._noise.close()
        os.close(self.lifeline)
        os.close(self._life)

    def start(self) -> None:
        command = [sys.executable, "-m", "csparql_spark.server.process", "--data", str(self.directory.path),
                   "--fd", str(self.listening.fileno()), "--lifeline", str(self.lifeline), "--base-url", self.url]
        self._child = subprocess.Popen(command, pass_fds=(self.listening.fileno(), self.lifeline),
                                       start_new_session=True, stderr=self._noise)

    def stop(self) -> None:
        self._child.kill()
        self._child.wait()

    def restart(self) -> None:
        self.stop()
        self.start()

    def ask(self, method: str, path: str, body: str = "", token: str | None = None,
            **headers: str) -> dict[str, object]:
        if token is not None:
            headers["Authorization"] = f"Bearer {self.tokens[token]}"
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body.encode(), sent)
            response = connection.getresponse()
            told = response.read()
            assert response.status < 300, told.decode()
            return json.loads(told or b"{}")
        finally:
            connection.close()

    def stream(self, name: str, clock: str = "arrival", **more: str) -> str:
        """The IRI of a stream that is there from now on."""
        return str(self.ask("PUT", f"/streams/{name}", json.dumps({"clock": clock, **more}),
                            Content_Type="application/json")["iri"])

    def forget(self) -> None:
        """As the server does after a while: what was pushed up to now is kept no longer."""
        time.sleep(0.002)  # until the clock of the log has gone on
        self.stream("later")
        retention = Retention(self.database)
        retention.advance(1 << 30)
        assert retention.forget(keep_log=0, reach=0, keep_answers=1000)

    def register(self, name: str, text: str) -> int:
        return int(self.ask("PUT", f"/queries/{name}", text)["id"])

    def id_of(self, name: str) -> int:
        return int(self.ask("GET", f"/queries/{name}")["id"])

    def answer(self, query: int, instant: int, variables: Sequence[str], rows: Sequence[Mapping[str, str]],
               until: Sequence[int | None] | None = None) -> None:
        """Say this at an instant, as the engine would."""
        answer = Result.from_rows(tuple(variables), [dict(row) for row in rows])
        if until is not None:
            answer = answer.holding(np.array([ALWAYS if at is None else at for at in until], np.int64))
        self.store.write([StoredAnswer(query, instant, 0, len(answer), answer.to_bytes())])

    def answer_graph(self, query: int, instant: int, ntriples: str) -> None:
        answer = Result.graph(ntriples.encode())
        self.store.write([StoredAnswer(query, instant, 0, len(answer), answer.to_bytes())])
