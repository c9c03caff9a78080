"""What children are asked to do in tests: functions that a child finds by their names."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pyoxigraph as ox

from csparql_spark.answers.limits import TooManyRows
from csparql_spark.asking.admission import Refusal
from csparql_spark.language import LanguageError
from csparql_spark.language.errors import Fix


def echo(value: bytes) -> bytes:
    return bytes(value)


def number() -> bytes:
    return b"%d" % os.getpid()


def total(column: np.ndarray) -> bytes:
    return b"%d" % column.sum()


def spin() -> bytes:
    while True:
        pass


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
