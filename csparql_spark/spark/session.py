"""A Spark session set up for micro-batches that are short and many.

`SETTINGS` is the measured minimum of what a trigger costs (docs/performance.md has the numbers, setting by setting).
Nothing here weakens recovery: offsets, commits and state are written as Spark does by default, only cheaper.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from csparql_spark.answers.confinement import ENVIRONMENT
from csparql_spark.disk import DataDirectory
from csparql_spark.lifeline import Lifeline
from csparql_spark.spark import callbacks, cpu_features, files
from csparql_spark.spark.scratch import Scratch

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing"
_STREAMING = "org.apache.spark.sql.execution.streaming"

SETTINGS = {
    # A trigger runs little code, and often: the quick compiler and the collector without threads leave the cores to the
    # work. What is old is little, too: a heap that begins small is collected before it has touched memory that it does
    # not need, and given back where it has become twice as large as what is in it: left alone, it is three times, and
    # gives back a tenth at a time. With less room than that it is collected whole three times a minute.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms192m -Xmn112m "
    "-XX:MinHeapFreeRatio=40 -XX:MaxHeapFreeRatio=50 -XX:-ShrinkHeapInSteps",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINTS}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.streaming.ui.enabled": "false",
    # Also without a page that shows them, jobs are remembered, each with all of its properties.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "100",
    # What a batch has broadcast or counted is let go when the collector finds that nobody holds it. The serial
    # collector makes the heap larger before it looks at what is old, and the larger it is, the later it looks: somebody
    # has to ask it to, about as often as it would do so in a heap that is small. That is a tenth of a second each time.
    "spark.cleaner.periodicGC.interval": "1min",
    "spark.sql.catalogImplementation": "in-memory",
    # The plans are small and their rows few and large: compiling Java for them costs more than it saves.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.broadcast.compress": "false",
    "spark.locality.wait": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


# Of a task, before the batch fails. Two workers may die of queries (see `engine.guard`), and one of somebody else.
TRIES = 4


class EngineError(Exception):
    """Spark cannot be started; the text says why and what to do."""


def check_java() -> None:
    """Java 17 or newer is there."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        raise EngineError(
            "Java was not found: install a Java runtime, 17 or newer, and put it on PATH or point JAVA_HOME at it"
        )
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', shown)  # there may be other lines, about options and warnings
    version = found[1] if found else ""
    major = version.split(".")[1] if version.startswith("1.") else version.split(".")[0].split("-")[0]
    if not major.isdigit() or int(major) < 17:
        raise EngineError(
            f"Java 17 or newer is needed, and {java} is {version or 'of an unknown version'}: "
            "install a newer one, and put it first on PATH or point JAVA_HOME at it"
        )


def _worker_python(scratch: Scratch) -> Path:
    """The Python of workers on this machine: ours, without the search path that Spark puts in front.

    Spark points workers at a zip of pyspark's sources, which each of some ten processes would compile anew when it
    starts: more than half a second each, of a start-up that people wait for. The installed pyspark next to it is
    compiled already.
    """
    own = os.environ.get("PYTHONPATH")
    begin = [sys.executable, "-m", "csparql_spark.spark.worker", str(scratch.line)]
    scratch.python.write_text(
        f"#!/bin/sh\n{f'export PYTHONPATH={shlex.quote(own)}' if own else 'unset PYTHONPATH'}\n"
        + "".join(
            f"export {name}={shlex.quote(value)}\n"
            for name, value in {**cpu_features.unwanted(), **ENVIRONMENT}.items()
        )
        + f'exec {shlex.join(begin)} "$@"\n'
    )
    scratch.python.chmod(0o700)
    return scratch.python


def patient(master: str) -> str:
    """The master, told to try a task again whose worker has died. On a cluster Spark does so; alone it gives up at
    once, and the engine with it."""
    local = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return f"local[{local[1] or 1},{TRIES}]" if local else master


def secrecy(master: str) -> dict[str, str]:
    """Settings with which nobody talks to Spark who does not belong to it. Alone, it makes a secret for itself, which
    is in the memory of the JVM only. On a cluster, all of that must have been told the same one."""
    return {"spark.authenticate": "true"} if master.startswith("local") and "cluster" not in master else {}


def open_session(directory: DataDirectory, *, master: str = "local[2]") -> SparkSession:
    """A session, with a JVM and workers that end when this process does."""
    check_java()
    scratch = Scratch(directory).anew()
    line = Lifeline(scratch.line)
    # Workers must be this Python with these packages, whatever PATH says.
    worker = str(_worker_python(scratch)) if master.startswith("local") else sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = os.environ["PYSPARK_PYTHON"] = worker
    conf = (
        SparkConf(loadDefaults=False)
        .setMaster(patient(master))
        .setAppName("csparql-spark")
        .setAll(
            list(
                {
                    **SETTINGS,
                    **secrecy(master),
                    JAVA_OPTIONS: f"{SETTINGS[JAVA_OPTIONS]} {shlex.quote(f'-Djava.io.tmpdir={scratch.local}')}",
                    "spark.local.dir": str(scratch.local),
                    "spark.python.unix.domain.socket.dir": str(scratch.sockets),
                    "spark.sql.warehouse.dir": str(directory.engine / "warehouse"),
                }.items()
            )
        )
    )
    gateway = launch_gateway(conf, {"pass_fds": (line.reading,)})  # starts the JVM, and no context yet
    line.tie(gateway.proc.pid)
    callbacks.guard(gateway)
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    files.install(SparkContext._jvm)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
