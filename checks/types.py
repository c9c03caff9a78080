"""Types: mypy over the product. What it finds in a room may become less, and never more.

    python -m checks.types             # compares with types.json; exit code 1 where there is more, or less than it says
    python -m checks.types --write     # writes types.json anew, when there is less

Invariant: `types.json` says exactly what mypy finds, so that what was won is not lost again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

BASELINE = Path(__file__).with_suffix(".json")
FOUND = re.compile(r"^(?:csparql_spark/)?(\w+)(?:\.py|/.*?):\d+: error: ", re.MULTILINE)


def found(output: str) -> dict[str, int]:
    """How many errors there are in each room, in the output of mypy."""
    return dict(sorted(Counter(FOUND.findall(output)).items()))


def difference(now: dict[str, int], before: dict[str, int]) -> list[str]:
    """What has changed, as sentences."""
    changed = [room for room in sorted({*now, *before}) if now.get(room, 0) != before.get(room, 0)]
    return [f"{room} has {now.get(room, 0)} errors of types, {BASELINE.name} says {before.get(room, 0)}: "
            + ("mend the new ones" if now.get(room, 0) > before.get(room, 0)
               else "write it down with python -m checks.types --write") for room in changed]


def main() -> int:
    ran = subprocess.run([sys.executable, "-m", "mypy"], cwd=BASELINE.parents[1], capture_output=True, text=True)
    now = found(ran.stdout)
    if ran.returncode != (1 if now else 0):         # 1 says both that there are errors, and that mypy is not there
        print(ran.stdout, ran.stderr, file=sys.stderr)
        return 2
    if "--write" in sys.argv:
        BASELINE.write_text(json.dumps(now, indent=4) + "\n")
    before = json.loads(BASELINE.read_text())
    changed, more = difference(now, before), [room for room in now if now[room] > before.get(room, 0)]
    for line in ran.stdout.splitlines():
        if any(line.startswith((f"csparql_spark/{room}/", f"csparql_spark/{room}.py", f"{room}/")) for room in more):
            print(line)
    print("\n".join(changed) or f"types: {sum(now.values())} errors, as before")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
