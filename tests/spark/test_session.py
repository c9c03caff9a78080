from __future__ import annotations

import pytest

from csparql_spark.spark.session import patient, secrecy


@pytest.mark.parametrize(
    "master, told",
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_task_whose_worker_has_died_is_tried_again(master: str, told: str) -> None:
    assert patient(master) == told


@pytest.mark.parametrize(
    "master, asks",
    [
        ("local", True),
        ("local[2]", True),
        ("local[*]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://host:7077", False),
    ],
)
def test_spark_alone_asks_for_a_secret(master: str, asks: bool) -> None:
    """On a cluster it is the cluster's to set, and without one Spark would not start."""
    assert secrecy(master) == ({"spark.authenticate": "true"} if asks else {})
