"""Cells: how numbers, and whether they are good enough, are written in tables of markdown.

For example:

    ranged(Number(166, 158, 181, 3), "ms")           # "166 ms (158–181)"
    table(["what", "measured"], [["latency", "166 ms"]])
"""

from __future__ import annotations

from bench.results import Number

NONE = "—"


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def met(is_met: bool) -> str:
    return "met" if is_met else "**not met**"


def ranged(number: Number | None, unit: str = "") -> str:
    """The median, and from the least to the most if it was measured more than once."""
    if number is None:
        return NONE
    text = short(number.median) + (f" {unit}" if unit else "")
    return text if number.times == 1 else f"{text} ({short(number.least)}–{short(number.most)})"


def wavering(number: Number) -> str:
    """The median, and half of the range as a part of it."""
    if number.times == 1 or not number.median:
        return short(number.median)
    return f"{short(number.median)} ± {(number.most - number.least) / 2 / number.median:.0%}"


def short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
