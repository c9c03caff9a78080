"""Run the benchmarks, and print their numbers as JSON, one line for each.

    python -m bench                    all of them, some ten minutes
    python -m bench latency throughput
"""

from __future__ import annotations

import json
import os
import platform
import sys

from bench import closure, commits, crowd, fanout, incremental, latency, many, parsing, resting, soak, throughput

BENCHES = {
    "machine": lambda: {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
    "commits": lambda: commits.measure(3.0),
    "parsing": lambda: parsing.measure(60_000),
    "throughput-selective": lambda: throughput.measure(throughput.HIGH, 20_000_000, 100_000),
    "throughput-everything": lambda: throughput.measure(throughput.EVERY, 6_000_000, 100_000),
    "latency-1000": lambda: latency.measure(1_000, 60),
    "latency-10000": lambda: latency.measure(10_000, 60),
    "answers-join": lambda: incremental.compared("join"),
    "answers-self-join": lambda: incremental.compared("self"),
    "answers-single": lambda: incremental.compared("single"),
    "laser-diamond": lambda: incremental.laser("single"),
    "laser-self-join": lambda: incremental.laser("self"),
    "many-queries-100": lambda: many.measure(100),
    "many-queries-1000": lambda: many.measure(1000),
    "crowd-1000": lambda: crowd.measure(1000),
    "fanout-500": lambda: fanout.measure(500, 1_000),
    "fanout-500-large": lambda: fanout.measure(500, 10_000),
    "start-up": resting.start_up,
    "closure-scratch-10000": lambda: closure.from_scratch(10_000),
    "closure-scratch-70131": lambda: closure.from_scratch(70_131),
    "closure-slides-10000": lambda: closure.changes(10_000),
    "closure-slides-100000": lambda: closure.changes(100_000),
    "closure-windows": closure.windows,
    "closure-windows-rdfs": lambda: closure.windows("rdfs"),
    "closure-rates": closure.rates,
    "soak": lambda: soak.measure(5_000_000),
    "idle": lambda: resting.idle(60),
}


def main() -> None:
    chosen = [name for name in BENCHES if not sys.argv[1:] or any(name.startswith(word) for word in sys.argv[1:])]
    if not chosen:
        sys.exit(f"there is no benchmark {' '.join(sys.argv[1:])}: choose of {', '.join(BENCHES)}")
    for name in chosen:
        numbers = {key: round(value, 3) if isinstance(value, float) else value
                   for key, value in BENCHES[name]().items()}
        print(json.dumps({"bench": name, **numbers}), flush=True)


if __name__ == "__main__":
    main()
