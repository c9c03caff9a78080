"""A query that fails by its limits, and an engine that starts from the log again, with other limits: it comes to the same.

For example:

    limits     2 rows                  none                          none
    told       1 2 failed ─▶ log ─▶    1 2 failed                    1 2 failed
    database   as it is                as it is, no checkpoint       neither answers nor failures
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from csparql_spark.asking.replay import answer_log
from csparql_spark.engine.messages import InstantAnswer, QueryFailure
from csparql_spark.log import Log
from csparql_spark.log.contents import QueryFailed, content_of
from csparql_spark.schedule.failures import Failures
from csparql_spark.store import AnswerStore, QueryRecord, Registry
from csparql_spark.store.registry import StreamRecord
from tests.recovery.test_put_back import PATIENCE_SECONDS, STREAM, TEXT, House

REASON = "the answer has more than 2 rows, which is the limit for one instant: add a LIMIT or a FILTER"


def run_engine(house: House, **limits: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "csparql_spark.spark.engine", "--data", str(house.directory.path), "--to-the-end"],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore", **limits},
    )


def test_an_engine_that_begins_again_fails_what_has_failed(tmp_path: Path) -> None:
    house = House(tmp_path / "data")
    answers, log = AnswerStore(house.database, house.directory.bell("answers")), Log(house.database)
    house.writer.append(StreamRecord.draft(STREAM, name="s", clock="event", delay=0))
    query = house.writer.append(QueryRecord.draft("q", text=TEXT, base=None)).seq
    house.push("a", 1, 2, 3, 4, 5, 9)
    run_engine(house, CSPARQL_SPARK_MOST_ROWS="2")
    told, failure = house.stored(), answers.failure(query)
    assert ([instant for instant, _ in told], failure) == ([1000, 2000], (3000, REASON))
    Failures(Registry(house.database), answers, house.writer).look()
    assert [content_of(entry) for entry in log.read(0, log.tail()) if entry.kind == "fail"] == [
        QueryFailed(query, 3000, REASON, 2000)
    ]
    house.push("a", 12)
    assert list(answer_log(log)) == [
        *(InstantAnswer(query, instant, part, instant // 1000, payload) for (instant, part), payload in told.items()),
        QueryFailure(query, 3000, REASON),
    ]

    shutil.rmtree(house.directory.path / "engine")
    run_engine(house)
    assert (house.stored(), answers.failure(query)) == (told, failure)

    shutil.rmtree(house.directory.path / "engine")
    with house.database.transaction() as connection:
        for table in ("answers", "failures", "engine_progress"):
            connection.execute(f"DELETE FROM {table}")
    assert (house.stored(), answers.failure(query)) == ({}, None)
    run_engine(house)
    assert (house.stored(), answers.failure(query)) == (told, failure)
    house.close()
