"""What paths become in the algebra; what they say is compared with the snapshot evaluator in `test_incremental`."""

from __future__ import annotations

import pytest

from csparql_spark.answers.algebra import Filter, Join, Operator, Project, Reach, Scan, Union, all_of
from csparql_spark.answers.over_ids import over_ids
from csparql_spark.answers.translation import translated


def shape(path: str, start: str = "?s", end: str = "?o") -> str:
    body = f"SELECT * {{ {start} {path} {end} }}"
    operator = translated(over_ids(body), body)
    assert isinstance(operator, Project)
    return drawn(operator.inner)


def drawn(operator: Operator) -> str:
    match operator:
        case Scan():
            tests = "".join(f" but {piece}" for test in operator.tests for piece in test.pieces if piece[0] == "<")
            return " . ".join(" ".join(pattern) for pattern in operator.patterns) + tests
        case Project():
            return drawn(operator.inner) + (" once" if operator.distinct else "")
        case Union() | Join():
            parts = operator.parts if isinstance(operator, Union) else (operator.left, operator.right)
            return f"({(' or ' if isinstance(operator, Union) else ' and ').join(map(drawn, parts))})"
        case Reach():
            nodes = "" if operator.nodes is None else f"; nodes {drawn(operator.nodes)}"
            signs = ("far " if operator.far else "") + ("zero " if operator.zero else "")
            return f"{signs}{operator.start} {operator.end} by [{drawn(operator.steps)}{nodes}]"
    raise AssertionError(operator)


NODES = "(?node_3 ?node_4 ?node_5 or ?node_5 ?node_4 ?node_3) once"


@pytest.mark.parametrize(
    "path, wanted",
    [
        ("<p:>/^<q:>", "?s <p:> ?step_1 . ?o <q:> ?step_1"),
        ("^(<p:>/<q:>)", "?o <p:> ?step_1 . ?step_1 <q:> ?s"),
        ("<p:>|^<q:>", "(?s <p:> ?o or ?o <q:> ?s) once"),
        ("<p:>+", "far ?s ?o by [?before_1 <p:> ?after_2 once]"),
        ("^<p:>+", "far ?o ?s by [?before_1 <p:> ?after_2 once]"),
        ("<p:>?", f"zero ?s ?o by [?before_1 <p:> ?after_2 once; nodes {NODES}]"),
        ("<p:>*", f"far zero ?s ?o by [?before_1 <p:> ?after_2 once; nodes {NODES}]"),
        ("(<p:>/<q:>)+", "far ?s ?o by [?before_1 <p:> ?step_3 . ?step_3 <q:> ?after_2 once]"),
        ("<p:>/<q:>+", "(?s <p:> ?step_1 and far ?step_1 ?o by [?before_2 <q:> ?after_3 once])"),
        ("!<p:>", "?s ?verb_1 ?o but <p:>"),
        ("!^<p:>", "?o ?verb_1 ?s but <p:>"),
        ("!()", "?s ?verb_1 ?o"),
        ("!(<p:>|^<q:>|<r:>)", "(?s ?verb_1 ?o but <p:> but <r:> or ?o ?verb_2 ?s but <q:>)"),
    ],
)
def test_what_paths_become(path: str, wanted: str) -> None:
    assert shape(path) == wanted


def test_where_an_end_is_known_no_other_node_leads_to_itself() -> None:
    assert shape("<p:>*", start="<a:>") == "far zero <a:> ?o by [?before_1 <p:> ?after_2 once]"
    assert shape("<p:>*", end="<b:>") == "far zero ?s <b:> by [?before_1 <p:> ?after_2 once]"


def test_a_filter_stays_outside_of_what_is_reached() -> None:
    body = "SELECT * { ?s <p:>+ ?o FILTER(?o != <a:>) }"
    parts = list(all_of(translated(over_ids(body), body)))
    assert [type(part) for part in parts] == [Project, Filter, Reach, Project, Scan]
    assert parts[-1].tests == ()
