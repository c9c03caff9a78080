"""A row of what was found: one fault, what was injected, what was observed.

For example:

    row = Row.of("kill-web", "kill -9 of the web process", "Answers went on after 2 s.", scene.verdict())
    row.holds, row.observed
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.faults.laws import Verdict


@dataclass(frozen=True)
class Row:
    fault: str
    injected: str
    observed: str
    broken: list[str] = field(default_factory=list)
    numbers: dict[str, object] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return not self.broken

    @classmethod
    def of(cls, fault: str, injected: str, observed: str, verdict: Verdict, **numbers: object) -> Row:
        """After a scene: the laws' verdict is a part of what was observed."""
        held = (
            f"{verdict.numbers.get('acknowledged', 0)} acknowledged pushes are in the log, once each; "
            f"{verdict.numbers.get('answers', 0)} answers as a replay gives them; "
            f"{verdict.numbers.get('told', 0)} instants told, each once."
        )
        return cls(fault, injected, f"{observed} {held}".strip(), verdict.broken, {**verdict.numbers, **numbers})


def unless(expected: bool, sentence: str) -> list[str]:
    """What is broken, unless what was expected is so."""
    return [] if expected else [sentence]
