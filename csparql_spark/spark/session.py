"""A Spark session set up for micro-batches that are short and many.

`SETTINGS` is the measured minimum of what a trigger costs (docs/performance.md has the numbers, setting by setting).
Nothing here weakens recovery: offsets, commits and state are written as Spark does by default, only cheaper.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from pyspark.sql import SparkSession

from csparql_spark.store import DataDirectory

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.checkpointFileManagerClass":
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


class EngineError(Exception):
    """Spark cannot be started; the text says why and what to do."""


def check_java() -> None:
    """Java 17 or newer is there."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None or not os.path.exists(java):
        raise EngineError("Java was not found: install a Java runtime, 17 or newer, "
                          "and put it on PATH or point JAVA_HOME at it")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    words = shown.split('"')
    version = words[1] if len(words) > 1 else ""
    major = version.split(".")[1] if version.startswith("1.") else version.split(".")[0].split("-")[0]
    if not major.isdigit() or int(major) < 17:
        raise EngineError(f"Java 17 or newer is needed, and {java} is {version or 'of an unknown version'}: "
                          "install a newer one, and put it first on PATH or point JAVA_HOME at it")


def open_session(directory: DataDirectory, *, master: str = "local[2]") -> SparkSession:
    check_java()
    # Workers must be this Python with these packages, whatever PATH says.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("csparql-spark")
    for name, value in {**SETTINGS, "spark.local.dir": str(directory.engine / "scratch"),
                        "spark.sql.warehouse.dir": str(directory.engine / "warehouse")}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
