"""Running peers on a job, each in a process of its own, and believing their times only if their answers agree.

For example:

    first, second = side_by_side(job, ["csparql-spark", "duckdb"], place, limit=60, times=2)
    first["duckdb"].seconds              # of the median slide, in the first of two turns
    first["duckdb"].reason               # or why there is none
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers.installing import JENA, NPM, PYPI, NotInstalled, Place
from bench.peers.job import Job, digests

HERE = Path(__file__).parent
TREE = HERE.parent.parent
HEAP = "4g"
OURS = "csparql-spark"

Command = Callable[[Place], list[str]]


@dataclass
class Report:
    peer: str
    version: str
    seconds: float | None = None
    cpu_seconds: float | None = None
    rows: int | None = None
    reason: str | None = None
    unable: bool = False  # whatever the size
    late: bool = False  # not done in the time that it had
    told: list[tuple[int, str]] | None = None  # digests of the answers


_unable: dict[tuple[str, str], Report] = {}  # who said so, by peer and kind of job


def _own(name: str) -> Command:
    return lambda place: [sys.executable, "-m", "bench.peers.child", "bench.peers.ours", name]


def _python(package: str, module: str, name: str) -> Command:
    return lambda place: [place.python(package), "-m", "bench.peers.child", f"bench.peers.{module}", name]


def _node(package: str, script: str) -> Command:
    return lambda place: ["node", "--max-old-space-size=8000", str(HERE / script), place.node(package)]


def _java(mode: str) -> Command:
    return lambda place: [
        "java",
        f"-Xmx{HEAP}",
        "-XX:+UseParallelGC",
        "-cp",
        place.jena(HERE / "Jena.java"),
        "Jena",
        mode,
    ]


# Ours comes first: the others are compared with it.
PEERS: dict[str, tuple[str, Command]] = {
    OURS: ("this tree", _own("Ours")),
    "csparql-spark, changes": ("this tree", _own("Told")),
    "csparql-spark, matches": ("this tree", _own("Kept")),
    "duckdb": (PYPI["duckdb"], _python("duckdb", "duck", "Duck")),
    "polars": (PYPI["polars"], _python("polars", "polar", "Polars")),
    "pathway": (PYPI["pathway"], _python("pathway", "pathways", "Pathway")),
    "db-ivm": (NPM["@tanstack/db-ivm"], _node("@tanstack/db-ivm", "ivm.mjs")),
    "pyoxigraph": (PYPI["pyoxigraph"], _python("pyoxigraph", "oxigraph", "Oxigraph")),
    "jena-arq": (JENA, _java("arq")),
    "jena-rete": (JENA, _java("rete")),
    "jena-rdfs": (JENA, _java("rdfs")),
    "nemo": (PYPI["nemo-python"], _python("nemo-python", "nemo", "Nemo")),
    "reasonable": (PYPI["reasonable"], _python("reasonable", "reasoners", "Reasonable")),
    "owlrl": (PYPI["owlrl"], _python("owlrl", "reasoners", "OwlRl")),
    "rsp-js": (NPM["rsp-js"], _node("rsp-js", "rsp.mjs")),
}


def side_by_side(
    job: Job,
    peers: Sequence[str],
    place: Place,
    limit: float,
    times: int = 1,
    hopeless: Mapping[str, str] | None = None,
) -> list[dict[str, Report]]:
    """What each peer took, turn by turn. Of all that answered, those who say what ours says are believed. `hopeless`:
    who is not even tried, and why."""
    turns: list[dict[str, Report]] = []
    with tempfile.TemporaryDirectory(prefix="csparql-spark-peers-") as folder:
        source = Path(folder) / "job"
        job.write(source)
        # Who was not able to will not be, and is not asked again.
        never = {peer: Report(peer, PEERS[peer][0], reason=reason) for peer, reason in (hopeless or {}).items()}
        for _ in range(times):
            reports: dict[str, Report] = {}
            for peer in peers:
                known = never.get(peer) or _unable.get((peer, job.kind))
                report = reports[peer] = known or _run(peer, source, Path(folder) / "out", job.arity, place, limit)
                if report.unable:
                    _unable[peer, job.kind] = report
            agree(reports)
            never |= {peer: report for peer, report in reports.items() if report.seconds is None}
            turns.append(reports)
    return turns


def agree(reports: dict[str, Report]) -> None:
    """Take the times of those who say something else than ours does; without ours, than most do."""
    told = {peer: tuple(report.told) for peer, report in reports.items() if report.told is not None}
    if not told:
        return
    right = told.get(OURS) or statistics.mode(told.values())
    for peer, said in told.items():
        if said != right:
            report = reports[peer]
            first = next(
                (n for n, (mine, other) in enumerate(zip(said, right)) if mine != other), min(len(said), len(right))
            )
            counts = [one[first][0] if first < len(one) else 0 for one in (said, right)]
            report.reason = (
                f"its answers are others: at slide {first} it has {counts[0]:,} rows, "
                f"not the {counts[1]:,} of the others"
            )
            report.seconds = report.cpu_seconds = None


def _run(peer: str, source: Path, target: Path, arity: int, place: Place, limit: float) -> Report:
    version, command = PEERS[peer]
    report = Report(peer, version)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    try:
        arguments = [*command(place), str(source), str(target)]
    except NotInstalled as error:
        report.reason, report.unable = f"not installed: {error}", True
        return report
    environment = {**os.environ, "PYTHONPATH": str(TREE), "NODE_NO_WARNINGS": "1"}
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=limit, env=environment, cwd=TREE)
    except FileNotFoundError:
        report.reason = f"not installed: {arguments[0]} was not found"
        return report
    except subprocess.TimeoutExpired:
        report.reason, report.late = f"not done after {limit:g} s", True
        return report
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if "Error" in line] or lines[-1:] or [f"exit status {done.returncode}"]
        report.reason = f"it failed: {errors[-1].strip()[:200]}"
        return report
    said = json.loads((target / "times.json").read_text(encoding="utf-8"))
    report.version = said.get("version", version)
    if "reason" in said:
        report.reason, report.unable = said["reason"], True
        return report
    report.seconds = statistics.median(said["wall"])
    report.cpu_seconds = statistics.mean(said["cpu"]) if said["cpu"] else None
    report.told = digests(target, arity)
    report.rows = report.told[-1][0]
    return report
