"""A job: what every peer is given, and what it gives back, as files that any language can read.

A job is background facts and a stream that slides: `width` slides make a window, and each has `count` triples. The
first `width` slides are there from the beginning; with each that follows, one leaves. Terms are numbers, places in
`terms`; no triple comes while it is in the window, so that to add and to remove are all that there is to a slide.

    job.write(folder); Job.read(folder)
    for added, removed in job.moves(): …          # job.warm of them do not count, the others are measured
    write_answers(folder, rows)                   # one array of whole rows for each that is measured
    digests(folder, job.arity)                    # what is compared: the same for the same rows in any order

What a row is depends on `kind`: see `workloads`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ARRAYS = {"background": 3, "stream": 3, "tenths": 1, "supers": 2, "domains": 2, "ranges": 2}
NUMBERS = ("width", "count", "warm", "slides", "arity")


class Cannot(Exception):
    """A peer is not able to do a job: the reason, for a footnote."""


@dataclass
class Job:
    kind: str
    width: int  # slides in a window
    count: int  # triples in a slide
    warm: int  # slides that do not count, when the window is full already
    slides: int  # slides that count
    arity: int  # numbers in a row of the answer
    terms: list[str]  # in N-Triples syntax
    background: np.ndarray  # three columns of places in `terms`, like `stream`
    stream: np.ndarray
    queries: list[str] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  # the places of terms that a peer has to know
    tenths: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))  # of a term, ten times its value
    supers: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int32))  # of each property, all above it
    domains: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int32))  # all classes of its subjects
    ranges: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int32))  # and of its objects

    def slide(self, number: int) -> np.ndarray:
        return self.stream[number * self.count : (number + 1) * self.count]

    @property
    def full(self) -> np.ndarray:
        """What the first window holds."""
        return self.stream[: self.width * self.count]

    def moves(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """What comes and what leaves, slide by slide."""
        for number in range(self.warm + self.slides):
            yield self.slide(self.width + number), self.slide(number)

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"kind {self.kind}",
            *(f"{name} {getattr(self, name)}" for name in NUMBERS),
            *(f"name.{name} {place}" for name, place in self.names.items()),
        ]
        for name, content in (("job", lines), ("terms", self.terms), ("queries", self.queries)):
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
        for name in ARRAYS:
            (folder / f"{name}.bin").write_bytes(np.ascontiguousarray(getattr(self, name), dtype="<i4").tobytes())

    @classmethod
    def read(cls, folder: Path) -> Job:
        said = dict(line.split(" ", 1) for line in (folder / "job.txt").read_text(encoding="utf-8").splitlines())
        arrays = {}
        for name, columns in ARRAYS.items():
            flat = np.frombuffer((folder / f"{name}.bin").read_bytes(), dtype="<i4")
            arrays[name] = flat.reshape(-1, columns) if columns > 1 else flat
        return cls(
            kind=said["kind"],
            **{name: int(said[name]) for name in NUMBERS},
            **arrays,
            names={key.removeprefix("name."): int(said[key]) for key in said if key.startswith("name.")},
            **{
                name: (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in ("terms", "queries")
            },
        )


def write_answers(folder: Path, answers: Iterable[np.ndarray]) -> None:
    with (folder / "answers.bin").open("wb") as file:
        for rows in answers:
            file.write(np.array([len(rows)], dtype="<i4").tobytes())
            file.write(np.ascontiguousarray(rows, dtype="<i4").tobytes())


def digests(folder: Path, arity: int) -> list[tuple[int, str]]:
    """For each slide that is measured, how many rows there are, and a digest of them, sorted."""
    found = []
    with (folder / "answers.bin").open("rb") as file:
        while head := file.read(4):
            length = int(np.frombuffer(head, dtype="<i4")[0])
            rows = np.frombuffer(file.read(4 * arity * length), dtype="<i4").reshape(length, arity)
            found.append((length, digest(rows)))
    return found


def digest(rows: np.ndarray) -> str:
    """Of a bag of rows: their order does not matter, how often each is there does."""
    rows = np.asarray(rows, dtype=np.int64)
    ordered = rows[np.lexsort(rows.T[::-1])] if len(rows) else rows
    return hashlib.sha256(ordered.astype("<i4").tobytes()).hexdigest()
