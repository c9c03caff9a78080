"""Installing peers, in pinned versions, into a folder of the bench's own: a venv, an npm prefix, a folder of jars.

    place = Place(Path("~/.cache/csparql-spark-bench").expanduser())
    place.python("duckdb")          # the interpreter that has it; `NotInstalled` tells why there is none

What is there is not fetched again. Only PyPI, npm and Maven Central are asked, each by its own client.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PYPI = {
    "duckdb": "2.0.0",
    "polars": "2.1.0",
    "pyoxigraph": "0.5.13",
    "nemo-python": "0.10.1",
    "owlrl": "7.6.2",
    "reasonable": "0.4.4",
    "pathway": "0.33.0",
}
BESIDE = ("numpy==2.4.6", "pyarrow==25.0.1")  # what the bench itself needs there
NPM = {"@tanstack/db-ivm": "0.2.0", "rsp-js": "1.3.5"}
JENA = "5.6.0"
MOST_SECONDS = 900

POM = """<project><modelVersion>4.0.0</modelVersion><groupId>bench</groupId><artifactId>peers</artifactId>
<version>1</version><dependencies><dependency><groupId>org.apache.jena</groupId><artifactId>jena-arq</artifactId>
<version>{version}</version></dependency></dependencies></project>
"""


class NotInstalled(Exception):
    """A peer is not to be had here: the reason, for a footnote."""


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def python(self, package: str) -> str:
        environment = self.folder / "venv"
        python = environment / "bin" / "python"
        if not python.exists():
            venv.create(environment, with_pip=True)
        self._once(
            f"{package}-{PYPI[package]}",
            [
                str(python),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *BESIDE,
                f"{package}=={PYPI[package]}",
            ],
        )
        return str(python)

    def node(self, package: str) -> str:
        """The folder from which the package can be imported."""
        prefix = self.folder / "npm"
        prefix.mkdir(exist_ok=True)
        name = f"{package}-{NPM[package]}"
        self._once(
            name,
            [
                _client("npm"),
                "install",
                "--prefix",
                str(prefix),
                "--silent",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                f"{package}@{NPM[package]}",
            ],
        )
        return str(prefix)

    def jena(self, source: Path) -> str:
        """The class path of a small program, compiled against Jena."""
        jars, classes, project = (self.folder / name for name in ("maven", "classes", "pom"))
        for folder in (classes, project):
            folder.mkdir(exist_ok=True)
        (project / "pom.xml").write_text(POM.format(version=JENA), encoding="utf-8")
        self._once(
            f"jena-{JENA}",
            [
                _client("mvn"),
                "--quiet",
                "--batch-mode",
                "--file",
                str(project / "pom.xml"),
                "dependency:copy-dependencies",
                f"-DoutputDirectory={jars}",
            ],
        )
        compiled = classes / f"{source.stem}.class"
        if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
            _run([_client("javac"), "-cp", f"{jars}/*", "-d", str(classes), str(source)])
        return f"{classes}{os.pathsep}{jars}/*"

    def _once(self, name: str, command: list[str]) -> None:
        stamp = self.folder / f".{name.replace('/', '-')}"
        if not stamp.exists():
            print(f"installing {name} into {self.folder} …", file=sys.stderr, flush=True)
            _run(command)
            stamp.touch()


def _client(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        package = {"mvn": "maven", "javac": "openjdk-17-jdk-headless"}.get(name, name)
        raise NotInstalled(f"{name} was not found (on Debian: apt-get install {package})")
    return found


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{Path(command[0]).name} took more than {MOST_SECONDS} s") from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise NotInstalled(f"{Path(command[0]).name} failed: {said}")
