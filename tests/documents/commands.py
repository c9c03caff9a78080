"""The commands of a document, as a reader would paste them, and what the document says comes of them.

    ```sh
    curl -s http://127.0.0.1:8000/queries/Visits/answers -H 'Accept: text/csv'
    ```
    ```text
    who,room
    …
    ```

A block marked `sh` is run by bash, in the order of the document. A block marked `text` directly behind it is what it
prints; `…` in it stands for anything (a number, the rest of a line, lines). A command that only reads is run until it
prints that, since answers come with time; one that changes something is run once.

    commands(Path("docs/tutorial.md"))     # [Command(line=12, text="curl …", prints=None), …]
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHANGES = re.compile(r"curl\b[^\n]*\s-X\s*(PUT|POST|DELETE)|--data-binary|csparql-spark push|make ")


class Command(NamedTuple):
    line: int
    text: str
    prints: str | None

    @property
    def only_reads(self) -> bool:
        return _CHANGES.search(self.text) is None

    def is_as_shown(self, printed: str) -> bool:
        """Whether it printed what the document shows."""
        if self.prints is None:
            return True
        parts = (re.escape(part) for part in self.prints.strip().split("…"))
        return re.fullmatch(".*?".join(parts), printed.replace("\r\n", "\n").strip(), re.DOTALL) is not None


def commands(document: Path, *, within: str | None = None) -> list[Command]:
    """The commands of a document, or of the section under the heading `within`."""
    text = document.read_text(encoding="utf-8")
    begin, end = 0, len(text)
    if within is not None:
        heading = re.search(rf"^## {re.escape(within)}$", text, re.MULTILINE)
        if heading is None:
            raise ValueError(f"{document} has no section {within!r}")
        begin = heading.end()
        following = re.compile(r"^## ", re.MULTILINE).search(text, begin)
        end = following.start() if following else len(text)
    found: list[Command] = []
    last_end = None
    for block in _BLOCK.finditer(text, begin, end):
        kind, content = block[1], block[2]
        if kind == "sh":
            found.append(Command(text.count("\n", 0, block.start()) + 2, content, None))
            last_end = block.end()
        elif kind == "text" and last_end is not None and not text[last_end : block.start()].strip():
            found[-1] = found[-1]._replace(prints=content)
            last_end = None
    return found
