"""The job: one streaming query for all registered queries.

For example:

    query = start(spark, DataDirectory("data"))
    query.awaitTermination()
"""

from __future__ import annotations

import os
import shutil

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from csparql_spark.answers.limits import Limits
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.engine.guard import GuardTerms
from csparql_spark.entailment.maintain.strategies import AUTO, check_name
from csparql_spark.pulse import JOB, Pulse
from csparql_spark.settings import MAINTENANCE, WORKER_MEMORY
from csparql_spark.spark.answer_writer import AnswerWriter
from csparql_spark.spark.batch_reports import BatchReports
from csparql_spark.spark.batches import Batches
from csparql_spark.spark.processor import GroupProcessor
from csparql_spark.spark.report_rows import OUTPUT
from csparql_spark.spark.source import LogSource
from csparql_spark.spark.stages import Stages
from csparql_spark.store import AnswerStore
from csparql_spark.store.measures import Measures
from csparql_spark.store.witness import Witness


def start(
    spark: SparkSession,
    directory: DataDirectory,
    *,
    to_the_end: bool = False,
    limits: Limits | None = None,
    stages: Stages | None = None,
) -> StreamingQuery:
    """Start the job over the log in `directory`; `to_the_end`: stop when everything that is in the log now is
    answered. `limits` of each query: those that the environment names, if none are given.
    `stages` hear of each batch. Which strategy maintains closures, the environment names, too."""
    maintenance = check_name(os.environ.get(MAINTENANCE) or AUTO)
    limits = Limits.from_environment(os.environ) if limits is None else limits
    shutil.rmtree(directory.closed, ignore_errors=True)  # it is an earlier engine's
    spark.dataSource.register(LogSource)
    rows = spark.readStream.format(LogSource.name()).option("data", str(directory.path)).load()
    # One partition is one task without a shuffle, which is a quarter of the price of a trigger.
    reports = (
        rows.coalesce(1)
        .groupBy("group", "shard")
        .transformWithStateInPandas(
            statefulProcessor=GroupProcessor(
                str(directory.checkpoint),
                AnswerWriter(str(directory.path)),
                limits,
                maintenance,
                Pulse(directory.bell("life-engine"), JOB),
                GuardTerms(
                    directory.checkpoint / "notes",
                    int(os.environ.get(WORKER_MEMORY) or 0),
                    None if to_the_end else str(directory.path),  # nobody waits where a log is gone through
                ),
            ),
            outputStructType=OUTPUT,
            outputMode="Update",
            timeMode="None",
        )
    )
    database = Database(directory.database)
    batch_reports = BatchReports(
        AnswerStore(database, directory.bell("answers"), Measures(database)),
        stages,
        Batches(directory, database),
        Witness(directory, database),
    )
    writer = (
        reports.writeStream.foreachBatch(batch_reports)
        .queryName("csparql")
        .option("checkpointLocation", str(directory.checkpoint))
    )
    return (writer.trigger(availableNow=True) if to_the_end else writer).start()
