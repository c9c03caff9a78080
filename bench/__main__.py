"""Run the benchmarks, and print their numbers as JSON: a line for each time that each of them ran.

    python -m bench                                          all of them: hours, see --list
    python -m bench latency throughput --times 3             those that begin so, three times each
    python -m bench --missing --output results.jsonl         those that have no line there: go on after an interruption
    python -m bench.book results.jsonl                       the tables and the plots of docs/performance.md

Each line is stamped with the run it belongs to, the command that made it, when, for how long, and how busy the machine
was before and after; the first line of a run describes the machine. A benchmark that fails has a line with the reason,
and the others go on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click

from bench.machine import TREE
from bench.parts import PARTS, Part
from bench.results import MACHINE, BadLine, Line, read
from bench.signals import heeded
from bench.stamps import Run

STOP_SECONDS = 30
LONG = 1200  # seconds: parts that are not repeated unless they are named
PRIVATE = "-begins"  # lines that say what is where on this machine


def printed(name: str, part: Part, run: Run, quick: bool) -> Iterator[Line]:
    """The lines that a part prints, as they come; one with a reason if it fails."""
    begun = run.begun(f"python -m bench {name}" + (" --quick" if quick else ""), quick)
    heard: deque[str] = deque(maxlen=1)
    with subprocess.Popen(
        part.command(name, quick),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=TREE,
        start_new_session=True,
    ) as process:
        listener = threading.Thread(target=_listen, args=(process.stderr, heard), daemon=True)
        listener.start()
        told, ended = False, False
        try:
            for line in read(process.stdout, name):
                if not str(line["bench"]).endswith(PRIVATE):
                    if part.called:
                        line["bench"] = str(line["bench"]).replace(part.called, name, 1)
                    told |= line["bench"] == name or str(line["bench"]).startswith(f"{name}-") and "peer" in line
                    yield begun.stamped(line)
            ended = True
        finally:
            if not ended:
                _stop(process)
            process.wait()
            listener.join()
    if process.returncode and not told:  # what has come to a verdict may end with 1
        yield begun.stamped({"bench": name, "reason": (heard or [f"exit status {process.returncode}"])[0][:300]})


def _stop(process: subprocess.Popen[str]) -> None:
    """The part, and the servers that it has started; it is asked to tidy up first."""
    for asked in (signal.SIGINT, signal.SIGTERM):
        os.killpg(process.pid, asked)
        try:
            process.wait(STOP_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue


def _listen(stream: TextIO, heard: deque[str]) -> None:
    """What a part says of its progress is told on; the last of it may be why it failed."""
    for line in stream:
        if line.strip():
            heard.append(line.strip())
            sys.stderr.write(line)


def estimate(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def listed(chosen: dict[str, Part], quick: bool) -> Iterator[str]:
    total = 0.0
    for name, part in chosen.items():
        seconds = part.quick_seconds if quick else part.seconds
        total += seconds
        yield f"{name:24} {estimate(seconds):>8}"
    yield f"{'all of these':24} {estimate(total):>8}"


def named(words: Sequence[str]) -> list[str]:
    """The parts that a user means: the one that is called so, or else all whose names begin so."""
    meant = {word: [word] if word in PARTS else [name for name in PARTS if name.startswith(word)] for word in words}
    if wrong := [word for word, names in meant.items() if not names]:
        raise click.ClickException(f"there is no benchmark {', '.join(wrong)}: choose of {', '.join(PARTS)}")
    return [name for name in PARTS if not words or any(name in names for names in meant.values())]


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--times", default=1, show_default=True, help="Run each so often; without NAMES, those once that take 20 minutes."
)
@click.option("--quick", is_flag=True, help="Small sizes, and fewer of them: a few minutes.")
@click.option("--missing", is_flag=True, help="Only those that have no numbers in the output.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the lines go, after what is there; else they are printed.",
)
@click.option("--list", "only_list", is_flag=True, help="Tell what there is, and how long it takes on a quiet machine.")
def main(names: tuple[str, ...], times: int, quick: bool, missing: bool, output: Path | None, only_list: bool) -> None:
    """Measure the parts that are called NAMES, or whose names begin so (all, if none is named)."""
    chosen = {name: PARTS[name] for name in named(names) if PARTS[name].quick is not None or not quick}
    if not chosen:
        raise click.ClickException(f"{', '.join(names)} has no part in a quick run")
    if missing:
        there = _there(output)
        chosen = {name: part for name, part in chosen.items() if name not in there}
    if only_list:
        click.echo("\n".join(listed(chosen, quick)))
        return
    run, failed = Run(), []
    with run.writer(output) as write:
        write(run.machine(quick))
        for name, part in chosen.items():
            for _ in range(times if names or part.seconds < LONG else 1):
                begun = time.monotonic()
                for line in printed(name, part, run, quick):
                    write(line)
                    if line["bench"] == name and "reason" in line:
                        failed.append(f"{name}: {line['reason']}")
                click.echo(f"{name}: {time.monotonic() - begun:.0f} s", err=True)
    if failed:
        raise click.ClickException("without numbers: " + "; ".join(failed))


def _there(output: Path | None) -> set[str]:
    """The benchmarks, and the programs, that have numbers in a file."""
    if output is None:
        raise click.ClickException("--missing needs --output: the file where it is looked what is missing")
    if not output.exists():
        return set()
    try:
        lines = list(read(output.read_text(encoding="utf-8").splitlines(), output))
    except BadLine as error:
        raise click.ClickException(str(error)) from error
    with_numbers = {str(line["bench"]) for line in lines if "reason" not in line and line["bench"] != MACHINE}
    return with_numbers | {bench.split("-")[0] for bench in with_numbers if bench.startswith("peers-")}


if __name__ == "__main__":
    heeded()
    sys.exit(main())
