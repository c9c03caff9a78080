"""Spark: the one streaming job that serves all registered queries. The only room that imports pyspark.

    log ─▶ source ─▶ groupBy(group, shard) ─▶ processor (transformWithStateInPandas) ─▶ sink: failures, costs
                                                   └─▶ answers

- `session`    a Spark session set up for short micro-batches
- `scratch`    what it has on disk while it runs, and not afterwards
- `worker`     how its Python workers begin: they end with the engine
- `callbacks`  how the JVM calls Python, and nobody else does
- `delete_on_exit`  what the JVM means to delete when it ends
- `files`      checkpoint files without forked processes
- `cpu_features`    which instructions numpy had better not use on this processor
- `source`     the log as a Python data source, with admission control
- `processor`  a group of queries as a stateful processor
- `answer_writer`   answers into the store, exactly once, as soon as they are there
- `batch_reports`   what a batch has to say besides
- `report_rows` failures and costs as rows, and back
- `batches`    where in the log batches end
- `job`        the query that ties them together
- `checkpoint` what is done with one that cannot be read, or is that of another log
- `stages`     how long the parts of micro-batches take
- `engine`     the process that runs it
- `play`       scripts, played through all of it
"""
