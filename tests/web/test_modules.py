"""The console's modules without a browser: their own tests, and what the server tells, folded by them.

    Result ──change_envelopes──▶ JSON ──(Node) folded──▶ rows   ==   rows ◀──answerOf── JSON ◀── each whole
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bag_union import in_row_order
from csparql_spark.answers.bindings import Result
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.subscribers.changes import WholeParts, change_envelopes
from csparql_spark.store import QueryRecord, StoredAnswer
from tests.examples import examples
from tests.web.conftest import WEB

HISTORIES = 40  # that Node is told at once
STREAM = "FROM STREAM <urn:s> [RANGE 2s STEP 1s] WHERE { ?a <urn:b> ?n }"
GROUPED = f"REGISTER QUERY q AS SELECT ?n (SUM(?m) AS ?a) {STREAM.replace('?n', '?n ; <urn:m> ?m')} GROUP BY ?n"
TEXTS = {
    "bag": f"REGISTER QUERY q AS SELECT ?n ?a {STREAM}",
    "groups": GROUPED,
    "list": f"{GROUPED} ORDER BY ?a",
    "graph": f"REGISTER STREAM q AS CONSTRUCT {{ ?a <urn:is> ?n }} {STREAM}",
    "truth": f"REGISTER QUERY q AS ASK {STREAM}",
}
TERMS = [None, "<urn:a>", "<urn:é>", "_:b", '"c\\"\\n\\\\\\t"', '"c"@en', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"\U0001f600"']
rows = st.lists(st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS), st.sampled_from([7, 8, ALWAYS])), max_size=12)


@st.composite
def answers(draw: st.DrawFn, kind: str) -> Result:
    timed = draw(st.integers(0, 5)) > 0
    if kind == "truth":
        truth = Result.boolean(draw(st.booleans()))
        return truth.holding(np.array([draw(st.sampled_from([7, 8]))])) if timed else truth
    drawn = draw(rows)
    if kind == "graph":
        return Result.graph("".join(sorted({f"<urn:x> <urn:p> {term} .\n" for term, *_ in drawn if term})))
    if kind != "bag":  # each group once
        drawn = list({group: (group, *more) for group, *more in drawn}.values())
    made = Result.bindings(("n", "a"), [[group for group, *_ in drawn], [value for _, value, _ in drawn]])
    made = made.holding(np.array([until for *_, until in drawn], dtype=np.int64)) if timed else made
    return made if kind == "list" else in_row_order(made)


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, list[Result]]:
    kind = draw(st.sampled_from(sorted(TEXTS)))
    return TEXTS[kind], draw(st.lists(answers(kind), min_size=1, max_size=6))


def told(text: str, results: list[Result]) -> dict[str, list[object]]:
    """What is told of these answers as changes, and of each as a whole."""
    query = QueryRecord(1, "q", 0, text, None)
    stored = [[StoredAnswer(1, 1000 * at, 0, len(result), result.to_bytes())] for at, result in enumerate(results, 1)]

    def envelopes(answers: list[list[StoredAnswer]]) -> list[object]:
        return [json.loads(b"".join(pieces)) for pieces in change_envelopes(query, map(WholeParts, answers), every=True)]

    return {"changes": envelopes(stored), "wholes": [whole for one in stored for whole in envelopes([one])]}


def node_tests(*names: str, **environment: str) -> None:
    if shutil.which("node") is None:
        pytest.skip("There is no Node to run the console's modules: install nodejs and npm.")
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("The console's packages are not installed: npm ci --ignore-scripts in web/.")
    command = ["node", "test.mjs", *names]
    ran = subprocess.run(command, cwd=WEB, env={**os.environ, **environment}, capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


def test_modules(built: Path) -> None:
    node_tests("rows", "fold", "feed", "series")


def test_types(built: Path) -> None:
    if not (WEB / "node_modules" / "typescript").is_dir():
        pytest.skip("The console's packages are not installed: npm ci --ignore-scripts in web/.")
    ran = subprocess.run(["npm", "run", "check"], cwd=WEB, capture_output=True, text=True, timeout=200, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:]


@given(st.lists(histories(), min_size=HISTORIES, max_size=HISTORIES))
@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_server_tells_is_folded_to_its_wholes(tmp_path_factory, built: Path, drawn) -> None:
    path = tmp_path_factory.mktemp("told") / "told.json"
    path.write_text(json.dumps([told(*history) for history in drawn]))
    node_tests("told", TOLD=str(path))
