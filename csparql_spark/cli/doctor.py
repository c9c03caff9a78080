"""`doctor`: is all there that a server needs, and if not, what to do.

Each check looks at one thing and says one finding: `ok`, `warning` (it will run, and something should be known), or
`problem` (it will not run). None changes anything.

    csparql-spark doctor --data data --port 8000
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import click

from csparql_spark.cli.flags import flags, resolved
from csparql_spark.disk import DatabaseFault, DataDirectory, StoreError
from csparql_spark.disk.database import SCHEMA_VERSION, SINCE, Database
from csparql_spark.kernel import native
from csparql_spark.settings import HANDED_DOWN, Settings
from csparql_spark.store.tokens import Tokens, refuse_open_doors

OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
LITTLE_DISK, LITTLE_MEMORY = 2 << 30, 2 << 30
DRIFT_SECONDS = 2.0
ANOTHER_PORT = "--port 8001, or `make serve PORT=8001`"
_PIN = re.compile(r"([A-Za-z0-9_.-]+)==([^;,\s]+)\s*(;.*extra.*)?")


@dataclass(frozen=True)
class Finding:
    about: str
    state: str  # "ok", "warning" or "problem"
    text: str  # what was seen
    do: str = ""  # what to do about it


Check = Callable[[Settings], Iterator[Finding]]


@click.command()
@flags()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(config: Path | None, as_json: bool, **given: object) -> None:
    """Look whether all is there that the server needs, and say what to do.

    Exit code 0 if a server would start, 1 if something is in its way. With a server that runs on the data directory,
    its health is asked, too.
    """
    settings = resolved(given, config).settings
    findings = [finding for check in CHECKS for finding in check(settings)]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        marks = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}
        for finding in findings:
            click.echo(f"{marks[finding.state]}  {finding.about:15} {finding.text}")
            if finding.do:
                click.echo(f"{'':25}{finding.do}")
    if any(finding.state == "problem" for finding in findings):
        sys.exit(1)


def python(settings: Settings) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        yield Finding(
            "Python",
            "problem",
            f"{version} in {sys.executable} is too old",
            "install Python 3.11 or newer: make PYTHON=/path/to/python3 install",
        )
    else:
        yield Finding("Python", "ok", f"{version}, {sys.executable}")
    worker = os.environ.get("PYSPARK_PYTHON")
    if worker and os.path.realpath(worker) != os.path.realpath(sys.executable):
        yield Finding(
            "PYSPARK_PYTHON",
            "warning",
            f"is {worker}, and does not count",
            f"the workers run {sys.executable}, where the packages are: unset it, so that nobody is misled",
        )


def packages(settings: Settings) -> Iterator[Finding]:
    try:
        required = metadata.requires("csparql-spark") or []
    except metadata.PackageNotFoundError:
        yield Finding(
            "packages", "problem", "csparql-spark itself is not installed", "install it: make install, or pip install ."
        )
        return
    pins = (pin for text in required if (pin := _PIN.fullmatch(text.strip())) and not pin[3])
    yield from against({pin[1]: pin[2] for pin in pins})


def against(pins: dict[str, str], installed: Callable[[str], str] = metadata.version) -> Iterator[Finding]:
    """The packages that are there, and those that were tested."""
    wrong = 0
    for name, pinned in pins.items():
        try:
            found = installed(name)
        except metadata.PackageNotFoundError:
            wrong += 1
            yield Finding(
                name, "problem", "is not installed", f"install it: {sys.executable} -m pip install {name}=={pinned}"
            )
            continue
        if name == "pandas" and int(found.split(".")[0]) >= 3:
            wrong += 1
            yield Finding(
                name,
                "problem",
                f"is {found}, and Spark needs one before 3",
                f"install it: {sys.executable} -m pip install pandas=={pinned}",
            )
        elif found != pinned:
            wrong += 1
            yield Finding(
                name,
                "warning",
                f"is {found}, and {pinned} was tested",
                f"if something is odd: {sys.executable} -m pip install {name}=={pinned}",
            )
    if not wrong:
        yield Finding("packages", "ok", f"{len(pins)} of the versions that were tested")


def kernel(settings: Settings) -> Iterator[Finding]:
    if native.library is None:
        yield Finding(
            "kernel",
            "warning",
            f"its functions run in numpy: all answers are the same, later. {native.missing}",
            "docs/reliability.md says what that means",
        )
    else:
        yield Finding("kernel", "ok", "compiled")


def java(settings: Settings) -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME")
    found = os.path.join(home, "bin", "java") if home else shutil.which("java")
    install = "install a Java runtime, 17 or newer (on Debian: apt-get install openjdk-17-jre-headless), "
    if found is None or not os.path.exists(found):
        yield Finding(
            "Java",
            "problem",
            f"was not found in {f'JAVA_HOME, {home}' if home else 'PATH'}",
            f"{install}and put it on PATH or point JAVA_HOME at it",
        )
        return
    try:
        shown = subprocess.run([found, "-version"], capture_output=True, text=True, check=False, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("Java", "problem", f"{found} does not run ({error})", f"{install}and put it first on PATH")
        return
    match = re.search(r'version "([^"]+)"', shown)
    version = match[1] if match else "of an unknown version"
    major = version.removeprefix("1.").split(".")[0].split("-")[0]
    if not major.isdigit() or int(major) < OLDEST_JAVA:
        yield Finding(
            "Java",
            "problem",
            f"{found} is {version}, and 17 or newer is needed",
            f"{install}and put it first on PATH or point JAVA_HOME at it",
        )
    else:
        yield Finding("Java", "ok", f"{version}, {found}")


def directory(settings: Settings) -> Iterator[Finding]:
    path = settings.data
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield Finding("data", "problem", f"{there} cannot be written", "choose another directory with --data")
        return
    yield Finding("data", "ok", f"{path}" if there == path else f"{path} will be made")
    yield from _format(DataDirectory(path).database)
    yield _room(
        "disk",
        shutil.disk_usage(there).free,
        LITTLE_DISK,
        f" in {there}",
        "make room, or choose another directory with --data",
    )


def _format(database: Path) -> Iterator[Finding]:
    if not database.exists():
        return
    try:
        version = Database.format(database)
    except DatabaseFault as error:
        yield Finding(
            "store",
            "problem",
            f"{database} cannot be read ({error})",
            "put back a copy of the file, or choose another directory with --data",
        )
        return
    if version not in (0, SCHEMA_VERSION, *SINCE):
        yield Finding(
            "store",
            "problem",
            f"{database} has the format {version}, and this version writes {SCHEMA_VERSION}",
            "choose another directory with --data, or the version of csparql-spark that wrote it",
        )
    else:
        yield Finding("store", "ok", f"format {version}, {database.stat().st_size / 1e6:.1f} MB")


def server(settings: Settings) -> Iterator[Finding]:
    """The server on the data directory, if one runs; otherwise whether one could."""
    if settings.data.is_dir() and _in_use(settings.data):
        try:
            running = Settings.handed_down(settings.data / HANDED_DOWN)
        except (OSError, ValueError, KeyError):
            yield Finding(
                "server", "warning", "one runs here, and does not say where it listens", "ask its /health yourself"
            )
            return
        yield health(f"http://{_asked(running.host)}:{running.port}/health")
        return
    yield Finding("server", "ok", f"none runs on {settings.data}")
    yield from port(settings)
    yield from doors(settings)


def health(url: str) -> Finding:
    asked = urllib.request.Request(url)
    if os.environ.get("CSPARQL_TOKEN"):
        asked.add_header("Authorization", f"Bearer {os.environ['CSPARQL_TOKEN']}")
    try:
        with urllib.request.urlopen(asked, timeout=5) as response:
            report = json.loads(response.read())
    except (OSError, ValueError) as error:
        return Finding(
            "server",
            "problem",
            f"one runs here, and {url} is not answered ({error})",
            "read what it prints, and start it again",
        )
    engine = report.get("engine", {})
    more = f": {engine['reason']}" if engine.get("reason") else ""
    if damaged := report.get("damaged"):
        others = report.get("damages", len(damaged)) - 1
        return Finding(
            "server",
            "problem",
            f"{url} says {report.get('status')}: {damaged[0]['reason']}{f'; and {others} more' if others else ''}",
            "`csparql-spark store check` names all that is damaged on the disk, docs/reliability.md says "
            "what to do about each",
        )
    if report.get("status") == "degraded":
        return Finding(
            "server", "problem", f"{url} says degraded{more}", "engine/engine.log in the data directory says why"
        )
    if report.get("status") == "behind":
        seconds = f" by {engine['lag_ms'] / 1000:.0f} s" if "lag_ms" in engine else ""
        return Finding(
            "server",
            "warning",
            f"{url} says behind{seconds}{more}",
            "ask again in a while; if it is not less then, GET /queries/NAME/measures tells which query takes long",
        )
    state = "ok" if report.get("status") == "ok" else "warning"
    return Finding("server", state, f"{url} says {report.get('status')}{more}")


def port(settings: Settings) -> Iterator[Finding]:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        reason = "is taken by another program" if taken else f"cannot be used ({error.strerror})"
        yield Finding(
            "port",
            "problem",
            f"{settings.port} of {settings.host} {reason}",
            f"stop what uses it, or choose another one: {ANOTHER_PORT}"
            if taken
            else "choose others with --host and --port",
        )
    else:
        yield Finding("port", "ok", f"{settings.port} of {settings.host} is free")


def doors(settings: Settings) -> Iterator[Finding]:
    try:
        tokens = Tokens(settings.data, settings.tokens)
        refuse_open_doors(settings.host, tokens)
    except StoreError as error:
        yield Finding("tokens", "problem", str(error))
        return
    count = len(tokens.all())
    yield Finding(
        "tokens",
        "ok",
        f"{count} token{'' if count == 1 else 's'}" if count else "none: everybody on this machine may do everything",
    )


def memory(settings: Settings) -> Iterator[Finding]:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return  # no Linux: nobody knows
    match = re.search(r"MemAvailable:\s+(\d+) kB", text)
    if match is None:
        return
    yield _room("memory", int(match[1]) * 1024, LITTLE_MEMORY, "", "Spark wants some 2 GiB: stop other programs")


def _room(what: str, free: int, little: int, where: str, instead: str) -> Finding:
    """How much of something is free, and what to do where that is little."""
    text = f"{free / (1 << 30):.1f} GiB are free{where}"
    return Finding(what, "warning", text, instead) if free < little else Finding(what, "ok", text)


def console(settings: Settings) -> Iterator[Finding]:
    if (settings.web / "dist" / "index.html").is_file():
        yield Finding("console", "ok", f"built, in {settings.web / 'dist'}")
        return
    node = shutil.which("node")
    yield Finding(
        "console",
        "warning",
        f"is not built, and Node {'is there' if node else 'was not found'}",
        "make serve builds it"
        if node
        else "install Node 20 or newer, then make serve builds it; "
        "without it the server answers over HTTP all the same",
    )


def clock(settings: Settings) -> Iterator[Finding]:
    drift = 0.0
    if settings.data.is_dir() and os.access(settings.data, os.W_OK):
        probe = settings.data / ".clock"
        before = time.time()
        probe.write_bytes(b"")
        drift = probe.stat().st_mtime - before
        probe.unlink()
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    if time.gmtime().tm_year < 2024:
        yield Finding("clock", "problem", f"it cannot be {now}", "set the clock: it stamps what is pushed")
    elif abs(drift) > DRIFT_SECONDS:
        yield Finding(
            "clock",
            "warning",
            f"that of the file system of {settings.data} is {drift:+.1f} s away",
            "set both clocks, by NTP for instance",
        )
    else:
        yield Finding("clock", "ok", now)


def _in_use(path: Path) -> bool:
    """Whether a server holds the directory: looked at, and not taken."""
    try:
        with (path / "server.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def _asked(host: str) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


CHECKS: tuple[Check, ...] = (python, packages, kernel, java, memory, clock, directory, server, console)
