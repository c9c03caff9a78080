"""The job: one streaming query for all registered queries.

    query = start(spark, DataDirectory("data"))
    query.awaitTermination()
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from csparql_spark.spark.processor import OUTPUT, GroupProcessor
from csparql_spark.spark.sink import AnswerSink
from csparql_spark.spark.source import LogSource
from csparql_spark.store import AnswerStore, Database, DataDirectory


def start(spark: SparkSession, directory: DataDirectory, *, to_the_end: bool = False) -> StreamingQuery:
    """Start the job over the log in `directory`; `to_the_end`: stop when everything that is in the log now is
    answered."""
    spark.dataSource.register(LogSource)
    rows = spark.readStream.format(LogSource.name()).option("data", str(directory.path)).load()
    # One partition is one task without a shuffle, which is a quarter of the price of a trigger.
    told = rows.coalesce(1).groupBy("group", "shard").transformWithStateInPandas(
        statefulProcessor=GroupProcessor(str(directory.checkpoint)), outputStructType=OUTPUT, outputMode="Update",
        timeMode="None")
    answers = AnswerStore(Database(directory.database), directory.bell("answers"))
    writer = told.writeStream.foreachBatch(AnswerSink(answers)).queryName("csparql").option(
        "checkpointLocation", str(directory.checkpoint))
    return (writer.trigger(availableNow=True) if to_the_end else writer).start()
