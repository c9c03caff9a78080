"""Kill -9, at random moments, of each process that a server has; and what hangs, so that somebody has to notice.

For example:

    row = killed("engine", 4)
    row = hung("engine", "jvm", "worker")
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time

from bench.faults.row import Row
from bench.faults.scene import Scene

WHAT = {
    "web": "the web process",
    "engine": "the engine's Python process",
    "jvm": "the engine's JVM",
    "daemon": "the daemon that forks Spark's Python workers",
    "worker": "all of Spark's Python workers",
}
SEED = 20100530
COMES_BACK_SECONDS = 15.0
NOTICED_SECONDS = 120.0  # four times what a process has by default until it counts as hung


def killed(name: str, times: int) -> Row:
    """Kill one kind of process several times, while pushes and answers go on."""
    dice, took = random.Random(SEED), []
    with Scene() as scene:
        scene.begin()
        for _ in range(times):
            time.sleep(dice.uniform(0.1, 2.5))  # the random moment is the point
            deadline = time.monotonic() + COMES_BACK_SECONDS
            while not (killed := scene.kill(name)) and time.monotonic() < deadline:
                time.sleep(0.05)  # it is just coming back
            if killed:
                took.append(scene.answered(3))
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        again = "" if len(took) == times else " It does not come back before it is needed; answers went on without it."
        return Row.of(
            f"kill-{name}",
            f"kill -9 of {WHAT[name]}, {_times(len(took))}, while 2 producers push",
            f"Answers go on by themselves; three answers later at most {max(took):.1f} s had passed.{again} "
            f"{_pushes(scene)}",
            verdict,
            seconds=max(took),
            kills=len(took),
        )


def supervisor(times: int, *, hanging: bool = False) -> Row:
    """Kill the process that a user has started; all others end with it, also where they hang: where they are stopped,
    so that they can do nothing for it. Then start it again."""
    dice, gone, took = random.Random(SEED), [], []
    broken = []
    with Scene() as scene:
        scene.begin()
        for _ in range(times):
            time.sleep(dice.uniform(0.1, 2.5))
            children = [pid for pid in scene.server.processes() if pid != scene.server.process.pid]
            for pid in children if hanging else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            begun = time.monotonic()
            scene.server.process.send_signal(signal.SIGKILL)
            scene.server.process.wait()
            while (left := [pid for pid in children if _runs(pid)]) and time.monotonic() - begun < 30:
                time.sleep(0.02)
            gone.append(time.monotonic() - begun)
            if left:
                broken.append(f"{len(left)} processes outlive their supervisor")
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
            scene.again()
            begun = time.monotonic()
            scene.answered(3)
            took.append(time.monotonic() - begun)
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        verdict.broken += broken
        stopped = "All others are stopped (SIGSTOP), so that they hang; then " if hanging else ""
        return Row.of(
            "kill-supervisor",
            f"{stopped}kill -9 of `csparql-spark serve` itself, {_times(times)}; then it is started again",
            f"Its {len(children)} processes ended with it, after {max(gone):.1f} s at most; started "
            f"again, three answers later at most {max(took):.1f} s had passed. {_pushes(scene)}",
            verdict,
            seconds=max(took),
            kills=times,
        )


def hung(*names: str) -> Row:
    """Stop kinds of processes, one after the other, so that they hang, with the time that users have by default: each
    is noticed and killed, with what belongs to it, and answers go on."""
    dice, noticed, took = random.Random(SEED), [], []
    broken = []
    with Scene() as scene:
        scene.begin()
        for name in names:
            time.sleep(dice.uniform(0.1, 2.5))
            begun = time.monotonic()
            stopped = scene.kill(name, signal.SIGSTOP)
            while (left := [pid for pid in stopped if _runs(pid)]) and time.monotonic() - begun < NOTICED_SECONDS:
                time.sleep(0.1)
            noticed.append(time.monotonic() - begun)
            if left or not stopped:
                broken.append(f"{WHAT[name]} hangs, and nobody has noticed")
                for pid in left:
                    os.kill(pid, signal.SIGCONT)
            scene.answered(3)
            took.append(time.monotonic() - begun)
        scene.answered(4)
        scene.finish()
        verdict = scene.verdict()
        verdict.broken += broken
        return Row.of(
            f"hang-{names[0]}",
            f"SIGSTOP of {', then of '.join(WHAT[name] for name in names)}, so that it hangs, while 2 producers push",
            f"Noticed, killed and started again after {max(noticed):.1f} s at most; three answers later at most "
            f"{max(took):.1f} s had passed. {_pushes(scene)}",
            verdict,
            seconds=max(took),
            kills=len(took),
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _pushes(scene: Scene) -> str:
    refused = scene.refusals()
    told = (
        "none was refused"
        if not refused
        else ", ".join(f"{count} were told {status} ({code})" for (status, code), count in refused.items())
    )
    return f"The longest push took {scene.longest():.1f} s, {told}."


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
