"""Sizes: what a data directory takes on the disk.

    sizes(Path("data"))     # {"database_mb": 12.4, "checkpoint_mb": 1.9, "checkpoint_files": 214, "state_mb": 0.8, …}

The database counts with its write-ahead log; the state store is a part of the checkpoint, `scratch` is where Spark has
its working copy of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from csparql_spark.disk import DataDirectory


def sizes(data: Path) -> dict[str, float]:
    directory = DataDirectory(data)
    database = sum(_size(Path(f"{directory.database}{end}")) for end in ("", "-wal"))
    checkpoint, files = below(directory.checkpoint)
    state, _ = below(directory.checkpoint / "state")
    scratch, _ = below(directory.engine / "scratch")
    return {
        "database_mb": database / 1e6,
        "checkpoint_mb": checkpoint / 1e6,
        "checkpoint_files": files,
        "state_mb": state / 1e6,
        "scratch_mb": scratch / 1e6,
    }


def below(path: Path) -> tuple[int, int]:
    """Bytes and number of the files below a directory."""
    total = files = 0
    for folder, _, names in os.walk(path):
        for name in names:
            total += _size(Path(folder, name))
            files += 1
    return total, files


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # files come and go
