"""Nemo: a rule engine that derives everything anew. What comes in stands in a file, and is read in the time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nmo_python
import numpy as np

from bench.peers.installing import PYPI
from bench.peers.job import Cannot, Job
from bench.peers.tabular import Window

PROGRAMS = {
    "closure": "c(?x, ?y) :- t(?x, ?p, ?y) . c(?x, ?z) :- c(?x, ?y), t(?y, ?p, ?z) .",
    "self": "c(?x, ?y, ?z) :- t(?x, ?p, ?y), t(?y, ?p, ?z) .",
    "rdfs": "c(?s, ?p, ?o) :- t(?s, ?p, ?o) . c(?s, ?q, ?o) :- t(?s, ?p, ?o), supers(?p, ?q) . "
            "c(?s, {type}, ?c) :- t(?s, ?p, ?o), domains(?p, ?c) . "
            "c(?o, {type}, ?c) :- t(?s, ?p, ?o), ranges(?p, ?c) ."}


class Nemo:
    version = PYPI["nemo-python"]

    def prepare(self, job: Job) -> None:
        if job.kind not in PROGRAMS:
            raise Cannot("nothing to derive: one pattern needs no rule" if job.kind == "single"
                         else "not written: the queries filter and group values, they do not entail")
        self._job, self._window = job, Window(job)
        self._folder = tempfile.TemporaryDirectory(prefix="csparql-spark-nemo-")
        tables = {"t": 3}
        if job.kind == "rdfs":
            tables |= {"supers": 2, "domains": 2, "ranges": 2}
            for name in ("supers", "domains", "ranges"):
                self._write(name, getattr(job, name))
        imports = [f'@import {name} :- csv {{ resource = "{self._file(name)}", format = ({", ".join(["int"] * n)}) }} .'
                   for name, n in tables.items()]
        self._text = "\n".join([*imports, PROGRAMS[job.kind].format(**job.names), "@output c ."])

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.csv"

    def _write(self, name: str, rows: np.ndarray) -> None:
        np.savetxt(self._file(name), rows, fmt="%d", delimiter=",")

    def ready(self, added: np.ndarray, removed: np.ndarray) -> str:
        rows = np.stack(self._window.moved(added), axis=1)
        self._write("t", rows if self._job.kind == "rdfs" else np.concatenate([self._job.background, rows]))
        return self._text

    def slide(self, given: str) -> nmo_python.NemoEngine:
        engine = nmo_python.NemoEngine(nmo_python.load_string(given))
        engine.reason()
        return engine

    def rows(self, answer: nmo_python.NemoEngine) -> np.ndarray:
        columns = 2 if self._job.kind == "closure" else 3
        rows = np.array([[int(value) for value in row] for row in answer.result("c")]).reshape(-1, columns)
        return rows[:, [0, 2]] if self._job.kind == "self" else rows

    def close(self) -> None:
        self._folder.cleanup()
