"""A data directory whose database is copied, put back and started again, and beside it a list of what is in it.

Entries and answers are tokens of which no two are the same, so that the lists say which past a database has.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import NamedTuple

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.log.sqlite.incarnations import Incarnations, Lineage
from csparql_spark.store import AnswerStore, StoredAnswer, order
from csparql_spark.store.order import AnswerOrder
from csparql_spark.store.witness import Witness

QUERY = 1


class Past(NamedTuple):
    log: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    def begins_with(self, other: Past) -> bool:
        return self.log[: len(other.log)] == other.log and self.answers[: len(other.answers)] == other.answers


class World:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.directory = DataDirectory(path / "data").create()
        self.past = Past()
        self.checkpoint: Past | None = None  # what the engine has read, if it has a checkpoint
        self.copies: list[tuple[Path, Past, Past | None]] = []
        self._tokens = 0
        self.open()
        self.begin()

    def open(self) -> None:
        self.database = Database(self.directory.database).create()
        self.answers = AnswerStore(self.database, self.directory.bell("answers"))
        self.witness = Witness(self.directory, self.database)

    def begin(self) -> None:
        Incarnations(self.database).begin(at=0)
        self.order = AnswerOrder(self.database)

    @property
    def lineage(self) -> Lineage:
        return self.order.lineage

    def _token(self) -> str:
        self._tokens += 1
        return f"token {self._tokens}"

    def push(self, count: int = 1) -> None:
        for _ in range(count):
            token = self._token()
            with self.database.transaction() as connection:
                connection.execute(
                    "INSERT INTO log (kind, at, subject, payload) VALUES ('chunk', 7, 'urn:s', ?)", (token.encode(),)
                )
            self.past = self.past._replace(log=(*self.past.log, token))

    def answer(self, count: int = 1) -> None:
        for _ in range(count):
            token = self._token()
            instant = 1000 * (len(self.past.answers) + 1)
            self.answers.write([StoredAnswer(QUERY, instant, 0, 1, token.encode())])
            self.past = self.past._replace(answers=(*self.past.answers, token))

    def batch(self) -> None:
        """The engine reads everything that there is."""
        self.directory.checkpoint.mkdir(parents=True, exist_ok=True)
        self.witness.write()
        self.checkpoint = self.past

    def forget(self, keep: int = 1) -> None:
        """All of the log but its newest entry, and all but the newest answers."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM log WHERE seq < (SELECT max(seq) FROM log)")
            (cut,) = connection.execute("SELECT max(instant) FROM answers").fetchone()
            order.forget(
                connection,
                QUERY,
                "query = :query AND instant <= :upto",
                {"query": QUERY, "upto": (cut or 0) - 1000 * keep},
            )

    def copy(self) -> None:
        path = self.path / f"copy-{len(self.copies)}"
        path.mkdir()
        with sqlite3.connect(path / "store.db") as target:
            self.database.connection.backup(target)
        target.close()
        if self.directory.engine.exists():
            shutil.copytree(self.directory.engine, path / "engine")
        self.copies.append((path, self.past, self.checkpoint))

    def stop(self) -> None:
        self.database.close()

    def put_back(self, number: int, *, whole: bool = False) -> None:
        """While the server is stopped; `whole`: what the engine has made, too."""
        path, self.past, checkpoint = self.copies[number]
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            (self.directory.path / name).unlink(missing_ok=True)
        shutil.copy(path / "store.db", self.directory.database)
        if whole:
            shutil.rmtree(self.directory.engine)
            shutil.copytree(path / "engine", self.directory.engine)
            self.checkpoint = checkpoint

    def leave(self) -> str | None:
        """As at a start: a checkpoint of another past is left. The sentence that says so."""
        sentence = self.witness.contradiction()
        if sentence is not None:
            shutil.rmtree(self.directory.checkpoint)
            self.checkpoint = None
        return sentence

    def start(self) -> str | None:
        self.open()
        sentence = self.leave()
        self.begin()
        return sentence
