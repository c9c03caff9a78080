"""The table of docs/reliability.md: a row for each fault, written from what was found.

For example:

    write({"kill-web": row})            # rows of other faults stay as they are
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.faults.row import Row

DOCUMENT = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: begin (written by python -m bench.faults) -->", "<!-- faults: end -->"
HEAD = "| fault | injected | observed | laws |\n| --- | --- | --- | --- |\n"


def write(rows: Mapping[str, Row], order: list[str], document: Path = DOCUMENT) -> None:
    text = document.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    lines = {line.split("|")[1].strip(" `"): line for line in old.splitlines() if line.startswith("| `")}
    lines |= {name: line_of(row) for name, row in rows.items()}
    body = "\n".join(lines[name] for name in sorted(lines, key=lambda name: order.index(name) if name in order else -1))
    document.write_text(f"{before}{BEGIN}\n{HEAD}{body}\n{END}{after}", encoding="utf-8")


def line_of(row: Row) -> str:
    held = "hold" if row.holds else "**broken**: " + "; ".join(row.broken)
    return (
        "| "
        + " | ".join(
            cell.replace("|", "\\|").replace("\n", " ") for cell in (f"`{row.fault}`", row.injected, row.observed, held)
        )
        + " |"
    )
