"""Excess: what is said of work that needs more than it may have, for all kinds of work, wherever it is done.

    OF_ANSWERS.of_processor(limits.seconds)         # a TooMuch: its answer takes longer than 10 s of processor time, …
    OF_BODIES.of_memory(768 << 20)                  # it needs more memory than the 768 MiB that a body may have
    OF_QUESTIONS.of_clock(10.0)                     # an Overloaded: at another time it may be done

Each sentence says which limit it was and, where there is something, what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from csparql_spark.answers.limits import PATIENCE, Overloaded, TooMuch, size


@dataclass(frozen=True)
class Excess:
    """What is said of work of a kind that needs more than it may have: of memory, of the processor, of the clock."""

    memory: str
    processor: str
    clock: str

    def of_memory(self, most: int) -> TooMuch:
        return TooMuch(self.memory.format(size=size(most)))

    def of_memory_perhaps(self, most: int) -> Overloaded:
        """Somebody kills whatever works on it: the machine, it may be, which has none left."""
        return Overloaded(self.memory.format(size=size(most)))

    def of_processor(self, seconds: float) -> TooMuch:
        return TooMuch(self.processor.format(seconds=seconds))

    def of_time(self, seconds: float, *, on_the_clock: bool) -> TooMuch:
        return self.of_clock(seconds) if on_the_clock else self.of_processor(seconds)

    def of_clock(self, seconds: float) -> Overloaded:
        """`seconds`: of the processor, that it may have."""
        return Overloaded(self.clock.format(seconds=PATIENCE * seconds, times=PATIENCE))


OF_ANSWERS = Excess(
    "its answer needs more memory than the {size} that a query may have: connect all parts of its pattern by "
    "variables, choose a narrower RANGE, make shorter texts, or ask for less",
    "its answer takes longer than {seconds:g} s of processor time, which is the limit, since the others wait for it: "
    "connect all parts of its pattern by variables, choose a narrower RANGE, make shorter texts, or ask for less",
    "its answer takes longer than {seconds:g} s on the clock, {times} times the processor time that it may have, and "
    "the others wait for it: the machine has too little time for it; ask for less, or give the server more processors",
)
OF_BACKGROUNDS = Excess(
    "what follows from its background under its rules needs more memory than the {size} that a query may have: leave "
    "out rules that multiply, or give them fewer facts",
    "what follows from its background under its rules takes longer than {seconds:g} s of processor time, which is the "
    "limit: leave out rules that multiply, or give them fewer facts",
    "what follows from its background under its rules takes longer than {seconds:g} s on the clock, {times} times the "
    "processor time that it may have: give it fewer facts, or the server more processors",
)
OF_QUESTIONS = Excess(
    "it needs more memory than the {size} that a question may have: connect all parts of its pattern by variables, "
    "make shorter texts, or ask for less",
    "it takes longer than {seconds:g} s of processor time, which is the limit: connect all parts of its pattern by "
    "variables, make shorter texts, or ask for less",
    "it takes longer than {seconds:g} s on the clock, {times} times the processor time that it may have: ask for less, "
    "or give the server more processors",
)
OF_BODIES = Excess(
    "it needs more memory than the {size} that a body may have",
    "it takes longer than the {seconds:g} s of processor time that a body may have",
    "it takes longer than {seconds:g} s on the clock, {times} times the processor time that a body may have",
)
OF_TEXTS = Excess(
    "it needs more memory than the {size} that a text may have until it is understood: make it shorter, or nest it "
    "less",
    "it takes longer than {seconds:g} s of processor time until it is understood, which is the limit: make it shorter, "
    "or nest it less",
    "it takes longer than {seconds:g} s on the clock until it is understood, {times} times the processor time that it "
    "may have: make it shorter, or give the server more processors",
)


def broken(signal: str) -> str:
    """What is said of work that has ended its process otherwise, by a signal of its own."""
    return f"it has ended the process that worked on it ({signal}): ask for less, or nest it less"


def most_is_held(used: int, most: int, held: int) -> TooMuch:
    """Why a query fails though it is within its own limits."""
    return TooMuch(
        f"the queries of this server need {size(used)} together, and may have {size(most)} (worker-memory): most is "
        f"held for this one, {size(held)}; choose a narrower RANGE, ask for less, or give the server more memory"
    )
