"""The W3C's tests of the CSV format: what is written of an answer, line by line. Rows come in any order, and blank
nodes have any names."""

from __future__ import annotations

import re

import pytest

from csparql_spark.answers.formats import CSV, write
from csparql_spark.asking.one_shot import Question, ask

from ..w3c import ROOT, Case, cases

CASES = list(cases("CSVResultFormatTest"))

pytestmark = pytest.mark.skipif(not CASES, reason=f"the W3C's tests are not at {ROOT}: clone w3c/rdf-tests there")


def lines(text: str) -> tuple[str, list[str]]:
    """The head, and the rows in one order."""
    head, *rows = re.sub(r"_:\w+", "_:", text).split("\r\n")
    return head, sorted(rows)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_csv_is_written_as_the_w3c_writes_it(case: Case) -> None:
    graphs = {case.base + name: case.graph(name, 0) for name in case.files["data"]}
    answer = ask(Question(case.query, graphs, base=case.base + case.files["query"], default_graphs=list(graphs)))
    wanted = case.path(case.files["result"]).read_text(encoding="utf-8").replace("\n", "\r\n")  # as the format has it
    assert lines(write(answer, CSV).decode()) == lines(wanted)
