"""What children are asked to do in tests: functions that a child finds by their names."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import numpy as np
import pyoxigraph as ox

from csparql_spark.answers.limits import Limits, TooManyRows
from csparql_spark.asking.admission import Refusal
from csparql_spark.asking.guarded import work
from csparql_spark.asking.one_shot import Question
from csparql_spark.language import LanguageError
from csparql_spark.language.errors import Fix


def echo(value: bytes) -> bytes:
    return bytes(value)


def measured(value: bytes) -> bytes:
    return b"%d" % len(value)


def number() -> bytes:
    return b"%d" % os.getpid()


def total(column: np.ndarray) -> bytes:
    return b"%d" % column.sum()


def spin() -> bytes:
    while True:
        pass


def spin_until(path: str) -> bytes:
    """Keep a processor busy until there is such a file."""
    while not os.path.exists(path):
        pass
    return b"spun"


def toil(seconds: float) -> bytes:
    """Use so many seconds of the processor."""
    while time.process_time() < seconds:
        pass
    return b"toiled"


def rest(seconds: float) -> bytes:
    time.sleep(seconds)
    return b"rested"


def say_and_spin(descriptor_of_a_file: str) -> bytes:
    """Write the number of the process into a file, and go on for ever."""
    with open(descriptor_of_a_file, "w") as file:
        file.write(f"{os.getpid()}\n")
    return spin()


def hold(path: str, other: str) -> bytes:
    """Say in a named pipe that it has begun, and end when the other one is written to."""
    with open(path, "wb") as begun:
        begun.write(b"!")
    with open(other, "rb") as end:
        end.read(1)
    return b"held"


def signalled(number: int) -> bytes:
    os.kill(os.getpid(), number)
    return b"alive"


def stop() -> bytes:
    return signalled(signal.SIGSTOP)


def fill(size: int) -> bytes:
    return b"%d" % len(bytearray(size))


def keep(size: int) -> bytes:
    """Leave the process as large as that."""
    global _kept
    _kept = np.ones(size, np.uint8)
    return number()


def double(times: int) -> bytes:
    """A string that is doubled by Oxigraph, which ends the process where there is no memory."""
    bound = " ".join(f"BIND(CONCAT(?v{i}, ?v{i}) AS ?v{i + 1})" for i in range(times))
    (solution,) = ox.Store().query(f'SELECT ?v{times} {{ BIND("{"x" * 1000}" AS ?v0) {bound} }}')
    return b"%d" % len(solution[0].value)


def refuse() -> bytes:
    raise Refusal("unknown-graph", "there is no such graph")


def misread() -> bytes:
    raise LanguageError(
        "bad", "It is bad.", line=2, column=3, offending="xy", hint="Mend it.", fix=Fix("Write z", 2, 3, 2, 5, "z")
    )


def exceed() -> bytes:
    raise TooManyRows("more than one row")


def nest(depth: int = 0) -> bytes:
    return nest(depth + 1)


def err() -> bytes:
    raise KeyError("nobody expects it")


class BusyAnswer:
    """The answer to a question, which keeps a processor busy until there is such a file if it says `slow`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, question: Question, limits: Limits, media_type: str) -> bytes:
        if "slow" in question.text:
            spin_until(self.path)
        return work.answered(question, limits, media_type)


class Gate:
    """Any work, which ends when the gate is opened: for each there is a byte in a named pipe then."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *arguments: object) -> bytes:
        with open(self.path, "rb", buffering=0) as pipe:
            pipe.read(1)
        raise Refusal("refused", "it has waited at the gate")


class GatedReading(Gate):
    """The reading of a text, which waits at the gate if it says `slow`."""

    def __call__(self, text: str, base: str | None) -> bytes:
        return super().__call__() if "slow" in text else work.reading(text, base)


class Alone:
    """Work that takes none of the arguments that it is given."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        self.work = work

    def __call__(self, *arguments: object) -> bytes:
        return self.work()
