"""Nemo: a rule engine that derives everything anew. What comes in stands in a file, and is read in the time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import nmo_python
import numpy as np

from bench.peers.installing import PYPI
from bench.peers.job import Cannot, Job
from bench.peers.tabular import Window
from bench.peers.workloads import ROOMS

READ = "read(?o, ?s, ?v, ?r) :- t(?o, {of}, ?s), t(?o, {value}, ?x), tenths(?x, ?v), rooms(?s, ?r) . "
PROGRAMS = {
    "analytic": READ + "high(?r, ?o, ?v) :- read(?o, ?s, ?v, ?r), ?v > 200 . "
    "total(?r, #sum(?v, ?o)) :- high(?r, ?o, ?v) . most(?r, #max(?v)) :- high(?r, ?o, ?v) . "
    "number(?r, #count(?o)) :- high(?r, ?o, ?v) . "
    "c(?r, ?a, ?b, ?n) :- total(?r, ?a), most(?r, ?b), number(?r, ?n) .",
    "many": READ,
    "closure": "c(?x, ?y) :- t(?x, ?p, ?y) . c(?x, ?z) :- c(?x, ?y), t(?y, ?p, ?z) .",
    "self": "c(?x, ?y, ?z) :- t(?x, ?p, ?y), t(?y, ?p, ?z) .",
    "rdfs": "c(?s, ?p, ?o) :- t(?s, ?p, ?o) . c(?s, ?q, ?o) :- t(?s, ?p, ?o), supers(?p, ?q) . "
    "c(?s, {type}, ?c) :- t(?s, ?p, ?o), domains(?p, ?c) . "
    "c(?o, {type}, ?c) :- t(?s, ?p, ?o), ranges(?p, ?c) .",
}


class Nemo:
    version = PYPI["nemo-python"]

    def prepare(self, job: Job) -> None:
        if job.kind not in PROGRAMS:
            raise Cannot("nothing to derive: one pattern needs no rule")
        self._job, self._window = job, Window(job)
        self._folder = tempfile.TemporaryDirectory(prefix="csparql-spark-nemo-")
        fixed = {}
        if job.kind == "rdfs":
            fixed = {name: getattr(job, name) for name in ("supers", "domains", "ranges")}
        elif job.kind in ("analytic", "many"):
            valued = np.flatnonzero(job.tenths >= 0)
            fixed = {"tenths": np.stack([valued, job.tenths[valued]], axis=1), "rooms": job.background[:, [0, 2]]}
        for name, rows in fixed.items():
            self._write(name, rows)
        tables = {"t": 3, **dict.fromkeys(fixed, 2)}
        imports = [
            f'@import {name} :- csv {{ resource = "{self._file(name)}", format = ({", ".join(["int"] * n)}) }} .'
            for name, n in tables.items()
        ]
        rules = [PROGRAMS[job.kind].format(**job.names)]
        if job.kind == "many":
            room = job.names["room"]
            rules += [
                f"c({n}, ?o, ?s, ?v) :- read(?o, ?s, ?v, {room + n % ROOMS}), ?v > {10 * (n // ROOMS)} ."
                for n in range(len(job.queries))
            ]
        self._text = "\n".join([*imports, *rules, "@output c ."])

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / f"{name}.csv"

    def _write(self, name: str, rows: np.ndarray) -> None:
        np.savetxt(self._file(name), rows, fmt="%d", delimiter=",")

    def ready(self, added: np.ndarray, removed: np.ndarray) -> str:
        rows = np.stack(self._window.moved(added), axis=1)
        alone = self._job.kind in ("rdfs", "analytic", "many")  # what is fixed stands in tables of its own
        self._write("t", rows if alone else np.concatenate([self._job.background, rows]))
        return self._text

    def slide(self, given: str) -> nmo_python.NemoEngine:
        engine = nmo_python.NemoEngine(nmo_python.load_string(given))
        engine.reason()
        return engine

    def rows(self, answer: nmo_python.NemoEngine) -> np.ndarray:
        columns = {"closure": 2, "analytic": 4, "many": 4}.get(self._job.kind, 3)
        rows = np.array([[int(value) for value in row] for row in answer.result("c")]).reshape(-1, columns)
        return rows[:, [0, 2]] if self._job.kind == "self" else rows

    def close(self) -> None:
        self._folder.cleanup()
