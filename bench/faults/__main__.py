"""Run faults, print what was found as JSON, one line for each, and write it into docs/reliability.md."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import traceback
from collections.abc import Callable

from bench.faults import (
    clocks,
    damage,
    full,
    kills,
    locked,
    malformed,
    readers,
    refusals,
    restores,
    slow,
    storage,
    table,
)
from bench.faults.row import Row

FAULTS: dict[str, Callable[[], Row]] = {
    "kill-web": lambda: kills.killed("web", 3),
    "kill-engine": lambda: kills.killed("engine", 2),
    "kill-jvm": lambda: kills.killed("jvm", 2),
    "kill-daemon": lambda: kills.killed("daemon", 2),
    "kill-worker": lambda: kills.killed("worker", 3),
    "kill-supervisor": lambda: kills.supervisor(2),
    "kill-supervisor-hanging": lambda: kills.supervisor(1, hanging=True),
    "hang-web": lambda: kills.hung("web"),
    "hang-engine": lambda: kills.hung("engine", "jvm", "worker"),
    "disk-full": full.full,
    "lock-10s": lambda: locked.locked(10),
    "lock-60s": lambda: locked.locked(60),
    "clock-ahead": lambda: clocks.jumped(3600),
    "clock-back": lambda: clocks.jumped(-3600),
    **{f"checkpoint-{part}": functools.partial(damage.damaged, part) for part in damage.DAMAGES},
    "checkpoint-deleted-at-work": lambda: damage.deleted("engine"),
    "checkpoint-metadata-deleted-at-work": lambda: damage.deleted("engine/checkpoint-1/metadata"),
    "restore-database": lambda: restores.restored(whole=False),
    "restore-directory": lambda: restores.restored(whole=True),
    "database-beginning": lambda: refusals.damaged("beginning"),
    "database-middle": lambda: refusals.damaged("middle"),
    "storage-entry": storage.entry_while_stopped,
    "storage-serving": storage.entry_while_serving,
    "storage-answer": storage.answer,
    "storage-registration": storage.registration,
    "reader-none": lambda: readers.reader(0),
    "reader-slow": lambda: readers.reader(1),
    "slow-heads": lambda: slow.slow("heads", 2000),
    "slow-bodies": lambda: slow.slow("bodies", 2000),
    "slow-readers": lambda: slow.slow("readers", 200),
    "malformed": lambda: malformed.malformed(10_000),
    "port-taken": refusals.port_taken,
    "data-not-writable": refusals.not_writable,
    "data-in-use": refusals.in_use,
    "data-newer": refusals.newer,
}


def main() -> None:
    chosen = [name for name in FAULTS if not sys.argv[1:] or any(name.startswith(word) for word in sys.argv[1:])]
    if not chosen:
        sys.exit(f"there is no fault {' '.join(sys.argv[1:])}: choose of {', '.join(FAULTS)}")
    broken = 0
    for name in chosen:
        row = _found(name)
        broken += not row.holds
        said = {"bench": "faults", "holds": row.holds, **dataclasses.asdict(row)}
        print(json.dumps(said, ensure_ascii=False), flush=True)
        table.write({name: row}, list(FAULTS))
    sys.exit(1 if broken else 0)


def _found(name: str) -> Row:
    """What is found; a fault that could not be followed to its end is broken, and the others go on."""
    try:
        return dataclasses.replace(FAULTS[name](), fault=name)
    except Exception as error:
        traceback.print_exc()
        return Row(name, "", "It could not be followed to its end.", [f"{type(error).__name__}: {error}"])


if __name__ == "__main__":
    main()
