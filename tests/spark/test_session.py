from __future__ import annotations

import pytest

from csparql_spark.spark.session import patient


@pytest.mark.parametrize("master, told", [
    ("local", "local[1,3]"), ("local[2]", "local[2,3]"), ("local[*]", "local[*,3]"), ("local[2,1]", "local[2,1]"),
    ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"), ("spark://host:7077", "spark://host:7077")])
def test_a_task_whose_worker_has_died_is_tried_again(master: str, told: str) -> None:
    assert patient(master) == told
