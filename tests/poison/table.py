"""The table of what poisons did, for docs/reliability.md, and to be printed.

    line_of(seen)                       # | string doubled 30 times | failed: … | 422 | 4.5 s | …
    write([seen], POISONS)              # rows of other poisons stay as they are
    rows(POISONS)                       # {"string doubled 30 times": "| string doubled 30 times | failed: … |", …}

Rows are in the order of the list; over them stands what they say together.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from tests.poison.poison import Poison
from tests.poison.trial import Seen

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- poisons: begin (written by make faults) -->", "<!-- poisons: end -->"
HEAD = (
    "| poison | what became of it | asked once | others late by | processors | memory | freed after |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
)
WIDTH = 160  # characters of a line of prose


def line_of(seen: Seen) -> str:
    became = seen.outcome if not seen.sentence else f"{seen.outcome}: {_short(seen.sentence)}"
    if broken := [*filter(None, [seen.unexpected]), *seen.broken]:
        became += " **broken**: " + "; ".join(map(_short, broken))
    cells = (
        seen.poison,
        became,
        seen.asked,
        f"{seen.lag:.1f} s",
        f"{seen.left:.0%}",
        f"{max(seen.above, 0):,.0f} MiB",
        f"{seen.freed:.1f} s",
    )
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def write(seen: Iterable[Seen], poisons: list[Poison], document: Path = DOCUMENT) -> None:
    lines = rows(poisons, document)
    lines |= {one.poison: line_of(one) for one in seen}
    lines |= {one.name: f"| {one.name} | **open**: {one.open} | | | | | |" for one in poisons if one.open}
    body = [lines[poison.name] for poison in poisons if poison.name in lines]
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    text = "\n".join([f"{before}{BEGIN}", summary(body, len(poisons)), "", HEAD + "\n".join(body), END + after])
    document.write_text(text, encoding="utf-8")


def rows(poisons: list[Poison], document: Path = DOCUMENT) -> dict[str, str]:
    """By the poison, of those that have one."""
    table = document.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    names = {poison.name.replace("|", "\\|"): poison.name for poison in poisons}
    return {
        name: line for line in table.splitlines() for shown, name in names.items() if line.startswith(f"| {shown} | ")
    }


def summary(lines: list[str], poisons: int) -> str:
    """What the rows say together."""
    hold = sum("**broken**" not in line and "**open**" not in line for line in lines)
    cells = [line.rstrip(" |").rsplit(" | ", 4)[1:] for line in lines if "**open**" not in line]
    lag, processors, _, _ = max(cells, key=lambda row: _number(row[0]))
    alone = max(_number(row[0]) * _number(row[1].rstrip("%")) / 100 for row in cells)
    above, freed = (max((row[column] for row in cells), key=_number) for column in (2, 3))
    return textwrap.fill(
        f"Of {poisons} poisons {hold} hold. The latest answer of the others came {lag} late, with {processors} of the "
        f"processors, and none later than {alone:.1f} s in proportion to these; all processes together took {above} more "
        f"than before, at most, and had given it back {freed} after the poison was deleted, at the latest.",
        WIDTH,
    )


def _number(cell: str) -> float:
    return float(cell.split()[0].replace(",", ""))


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= 160 else f"{sentence[:159]}…"
