from __future__ import annotations

import pytest

from csparql_spark.language import ContinuousQuery, parse
from csparql_spark.schedule.instants import grid_of, is_known_before
from csparql_spark.windows.grid import Grid
from tests.engine.asked import Asked, Seen


def query(*windows: Seen, every: int | None = None) -> ContinuousQuery:
    return parse(Asked(windows, ("s",), (("?s", "?p", "?o"),), every=every).text)


TIME, OTHER, SAME = Seen("urn:a", 9, 6), Seen("urn:b", 10, 4), Seen("urn:b", 30, 6)
TRIPLES, ELEMENTS = Seen("urn:a", 3, 2, "TRIPLES"), Seen("urn:b", 5, 1, "ELEMENTS")


@pytest.mark.parametrize("windows, every, grid, known", [
    ((TIME,), None, Grid((6,)), True),
    ((TIME, OTHER, SAME), None, Grid((4, 6)), True),                # the union, each grid once
    ((TIME, OTHER), 25, Grid((25,)), True),
    ((TRIPLES,), None, None, False),                                # turns, whenever they come
    ((TRIPLES, ELEMENTS), None, None, False),
    ((TRIPLES, ELEMENTS), 25, Grid((25,)), True),
    ((TIME, ELEMENTS), None, Grid((6,)), False),                    # and turns between them
    ((TIME, ELEMENTS), 25, Grid((25,)), True),
])
def test_which_instants_a_query_has(windows: tuple[Seen, ...], every: int | None, grid: Grid | None,
                                    known: bool) -> None:
    asked = query(*windows, every=every)
    assert (grid_of(asked), is_known_before(asked)) == (grid, known)


def test_tumbling_windows_answer_once_in_a_range() -> None:
    assert grid_of(parse("SELECT * FROM STREAM <urn:a> [RANGE 5s] { ?s ?p ?o }")) == Grid((5000,))
