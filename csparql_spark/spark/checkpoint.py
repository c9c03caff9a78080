"""A checkpoint that cannot be read, because its files were damaged or it is that of another log: it is set aside, and
the engine starts from the log.

Nothing that was told hangs on the checkpoint: what it holds is derived from the log, which keeps what windows of time
can still reach, and each query goes on with the instant up to which it has answered (see `source`). Only a window that
counts elements further back than the log reaches begins with what is there.

    if lack := lacking(directory):               # before the job is started: parts are gone without which others mean
        where = set_aside(directory)             # nothing. …/checkpoint-1.damaged; one that was there before is gone
    if is_unreadable(directory, error):          # the error with which the job ended
        where = set_aside(directory)

Before anything is appended, and again before the engine goes on, it is compared with the database that is there:

    sentence = leave_another(directory, database)       # None: it is of this log, and of this incarnation's past

What Spark does not notice by itself must be found beforehand: without its offsets, for one, it begins at the beginning
of the log, and would come across states of later batches on its way.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from csparql_spark.disk import Database, DataDirectory
from csparql_spark.spark.source import AHEAD
from csparql_spark.store.witness import Witness

# What Spark says of a file that is cut, changed or gone; each file has a checksum beside it. The path must stand in the
# same sentence: a plan names the checkpoint in errors of any kind.
_SIGNS = (
    "Failed to read log file (?:file:)?{0}",
    "Checksum error: (?:file:)?{0}",
    "Checksum validation failed.*{0}",
    r"(?:File )?(?:file:)?{0}\S* does not exist",
    r"{0}\S* \(No such file or directory\)",
    "(?:[Ee]rror|[Ff]ailed) [a-z ]*reading .*{0}",
    "[Mm]alformed .*{0}",
    "Corruption: .*{0}",
    r"\[STDS_FAILED_TO_READ_\w+\] .*{0}",
    r"\[CANNOT_LOAD_STATE_STORE",
)
# A disk that is full or out of reach damages nothing: when it is there again, so is the checkpoint. Nor does a worker
# that crashes while it reads.
_OF_OTHERS = re.compile(
    r"worker exited unexpectedly|No space left|Permission denied|Too many open files|"
    r"Read-only file system|Input/output error|Disk quota exceeded|Stale file handle|"
    r"Cannot allocate memory"
)


def lacking(directory: DataDirectory) -> str | None:
    """What is gone of a checkpoint while the rest of it is there, as a sentence; None if nothing is, or all of it.

    Spark writes `metadata` first, then for each batch its offsets, its state, and that it is committed."""
    checkpoint = directory.checkpoint
    there = [name for name in ("offsets", "commits", "state") if any(_files(checkpoint / name))]
    if not there:
        return None if _is_whole(checkpoint / "metadata", absent=True) else "its metadata is damaged"
    if not _is_whole(checkpoint / "metadata", absent=False):
        return "its metadata is gone or damaged"
    begun, committed = _batches(checkpoint / "offsets"), _batches(checkpoint / "commits")
    newest = max(begun, default=-1)
    # Spark begins with the newest batch, at the end of the one before.
    if not begun or newest < max(committed, default=-1) or newest > 0 and newest - 1 not in begun:
        return "its offsets are gone"
    if committed and "state" not in there:
        return "its state is gone"
    if empty := next((path for name in there for path in _files(checkpoint / name) if not path.stat().st_size), None):
        return f"{empty.relative_to(checkpoint)} is empty"
    return None


def is_unreadable(directory: DataDirectory, error: BaseException) -> bool:
    """Whether the job has ended because what the checkpoint holds cannot be read."""
    text = "\n".join(_sentences(error))
    if not directory.checkpoint.exists():
        return False
    if AHEAD in text:
        return True
    path = re.escape(str(directory.checkpoint))
    found = any(re.search(sign.format(path), text) for sign in _SIGNS)
    return found and not _OF_OTHERS.search(text)


def set_aside(directory: DataDirectory) -> Path:
    """Put the checkpoint where nobody reads it. Of those that were set aside only this one stays."""
    for earlier in directory.engine.glob("*.damaged"):
        shutil.rmtree(earlier)
    aside = directory.checkpoint.with_name(f"{directory.checkpoint.name}.damaged")
    directory.checkpoint.rename(aside)
    return aside


def _batches(path: Path) -> set[int]:
    return {int(found.name) for found in path.glob("*") if found.name.isdigit()}


def _files(path: Path) -> Iterator[Path]:
    """Those that were finished; Spark gives others a name that begins with a dot. Tables are copied under their names,
    and what a kill leaves of one is in no version of the state."""
    return (
        found
        for found in path.rglob("*")
        if found.is_file() and not found.name.startswith(".") and found.suffix != ".sst"
    )


def _is_whole(metadata: Path, *, absent: bool) -> bool:
    try:
        return "id" in json.loads(metadata.read_bytes())
    except FileNotFoundError:
        return absent
    except (ValueError, TypeError):
        return False


def leave_another(directory: DataDirectory, database: Database) -> str | None:
    """Set the checkpoint aside if it is not of the past of the database that is there; what there is to say of it."""
    contradiction = Witness(directory, database).contradiction()
    if contradiction is None:
        return None
    return (
        f"{contradiction}; what the engine made of the other one is set aside as {set_aside(directory)}, and the "
        "engine starts again from the log"
    )


def _sentences(error: BaseException | None) -> Iterator[str]:
    """All that an error says, with its causes; those of Spark's that come from Java have theirs in a trace."""
    while error is not None:
        yield str(error)
        yield str(getattr(error, "_stackTrace", ""))
        error = getattr(error, "_cause", None) or error.__cause__
