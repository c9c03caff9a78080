"""Stamps: to which run a line of results belongs, which command made it, when, and how busy the machine was.

For example:

    run = Run()
    with run.writer(Path("results.jsonl")) as write:            # appends; on the standard output without a path
        write(run.machine())
        begun = run.begun("python -m bench commits")
        write(begun.stamped({"bench": "commits", "fsync_per_s": 4095}))
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bench.machine import load, shape
from bench.results import MACHINE, Line


@dataclass(frozen=True)
class Begun:
    """A command that was started."""

    run: str
    command: str
    quick: bool
    load_before: float
    started: float

    def stamped(self, line: Line) -> Line:
        """What a line says of itself stays."""
        stamps: Line = {
            "run": self.run,
            "at": _instant(),
            "command": self.command,
            "lasted": round(time.monotonic() - self.started, 1),
            "load_before": self.load_before,
            "load_after": load(),
        }
        return {
            **line,
            **{name: value for name, value in stamps.items() if name not in line},
            **({"quick": True} if self.quick else {}),
        }


class Run:
    def __init__(self) -> None:
        self.name = time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + str(os.getpid())

    def machine(self, quick: bool = False) -> Line:
        """The line that comes first."""
        return self.begun("", quick).stamped({"bench": MACHINE, **shape()})

    def begun(self, command: str, quick: bool = False) -> Begun:
        return Begun(self.name, command, quick, load(), time.monotonic())

    @staticmethod
    @contextmanager
    def writer(path: Path | None) -> Iterator[Callable[[Line], None]]:
        """Each line is on the disk before the next is measured."""
        if path is None:
            yield lambda line: print(_json(line), flush=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", encoding="utf-8") as file:
            if file.tell() and not _whole(path):
                file.write("\n")  # a run that was killed has left half a line
            yield lambda line: _append(file, line)


def _append(file: TextIO, line: Line) -> None:
    file.write(_json(line) + "\n")
    file.flush()


def _whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _json(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False)


def _instant() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
