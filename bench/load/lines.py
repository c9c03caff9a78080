"""Lines: results as JSON, one object a line, for people who watch and for programs that draw.

    with Lines(Path("soak.jsonl")) as lines:
        lines.say("overnight-series", minute=3, pss_mb=1204.7)      # {"bench": "overnight-series", "minute": 3, …}

A series has a name of its own: its lines are points of one run, and not runs that could be compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType


class Lines:
    def __init__(self, path: Path | None = None) -> None:
        """On the standard output, and in a file if one is given."""
        self._file = path.open("a", encoding="utf-8") if path is not None else None

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def say(self, bench: str, **told: object) -> None:
        line = json.dumps(
            {"bench": bench, **{name: rounded(value) for name, value in told.items()}}, ensure_ascii=False
        )
        print(line, flush=True)
        if self._file is not None:
            self._file.write(line + "\n")
            self._file.flush()


def rounded(value: object) -> object:
    """What nobody reads is left out of the numbers in it."""
    match value:
        case float():
            return round(value, 3)
        case dict():
            return {key: rounded(inner) for key, inner in value.items()}
        case list() | tuple():
            return [rounded(inner) for inner in value]
    return value
