"""The W3C's SPARQL tests, where they are: manifests, and expected results to compare answers with.

    for case in cases("QueryEvaluationTest"):
        case.query, case.graphs(), case.expected()

Answers are compared as bags of rows, with blank nodes up to renaming, and lexical forms as they are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pyoxigraph as ox

from csparql_spark.answers.bindings import Result
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.formats import read_recording

ROOT = Path(__file__).resolve().parent.parent.parent / "shared" / "w3c"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_FORMATS = {".srx": ox.QueryResultsFormat.XML, ".srj": ox.QueryResultsFormat.JSON, ".tsv": ox.QueryResultsFormat.TSV}

Row = dict[str, str]


@dataclass(frozen=True)
class Case:
    folder: str
    id: str
    files: dict[str, object]

    @property
    def name(self) -> str:
        return f"{self.folder}/{self.id}"

    @property
    def base(self) -> str:
        return f"http://example.org/w3c/{self.folder}/"

    def path(self, name: str) -> Path:
        return ROOT / self.folder / name

    @property
    def query(self) -> str:
        return self.path(self.files["query"]).read_text(encoding="utf-8")

    def graph(self, name: str, number: int) -> Chunk:
        return read_recording(self.path(name), base=self.base + name, blank_prefix=f"g{number}x")


def cases(kind: str) -> Iterator[Case]:
    for entry in json.loads((ROOT / "index.json").read_text(encoding="utf-8")) if ROOT.exists() else ():
        if entry["type"] == kind:
            yield Case(entry["folder"], entry["id"], entry)


# --- expected results


def expected(case: Case) -> tuple[str, object]:
    """("rows", rows), ("boolean", truth) or ("graph", triples)."""
    path = case.path(case.files["result"])
    if path.suffix in _FORMATS:
        found = ox.parse_query_results(path.read_bytes(), format=_FORMATS[path.suffix])
        if isinstance(found, ox.QueryBoolean):
            return "boolean", bool(found)
        names = [variable.value for variable in found.variables]
        return "rows", [
            {name: str(solution[name]) for name in names if solution[name] is not None} for solution in found
        ]
    triples = [
        (str(quad.subject), str(quad.predicate), str(quad.object))
        for quad in ox.parse(path=str(path), base_iri=case.base + path.name, format=None)
    ]
    return (
        _result_set(triples)
        if any(p == f"<{RS}resultVariable>" for _, p, _ in triples) or any(p == f"<{RS}boolean>" for _, p, _ in triples)
        else ("graph", triples)
    )


def _result_set(triples: list[tuple[str, str, str]]) -> tuple[str, object]:
    def values(subject: str, name: str) -> list[str]:
        return [o for s, p, o in triples if s == subject and p == f"<{RS}{name}>"]

    for _, predicate, object in triples:
        if predicate == f"<{RS}boolean>":
            return "boolean", object.startswith('"true"')
    root = next(s for s, p, o in triples if p == f"<{RS}resultVariable>")
    rows = []
    for solution in values(root, "solution"):
        rows.append(
            {
                values(binding, "variable")[0][1:-1]: values(binding, "value")[0]
                for binding in values(solution, "binding")
            }
        )
    return "rows", rows


# --- comparing


def agrees(answer: Result, wanted: tuple[str, object]) -> bool:
    kind, value = wanted
    if kind == "boolean":
        return answer.truth == value
    if kind == "graph":
        if answer.ntriples is None:
            return False
        found = [
            (str(quad.subject), str(quad.predicate), str(quad.object))
            for quad in ox.parse(answer.ntriples, format=ox.RdfFormat.N_TRIPLES)
        ]
        return same_bags(
            [dict(zip("spo", triple)) for triple in set(found)], [dict(zip("spo", triple)) for triple in set(value)]
        )
    return answer.table is not None and same_bags(answer.table.rows(), value)


def same_bags(first: list[Row], second: list[Row]) -> bool:
    """Whether two bags of rows are the same, up to the names of blank nodes."""
    if len(first) != len(second):
        return False
    mine, theirs = blank_nodes(first), blank_nodes(second)
    if len(mine) != len(theirs):
        return False
    wanted = bag(second, {})
    if len(mine) > 7:  # too many ways to try: by shape only
        return bag(first, dict.fromkeys(mine, "_:")) == bag(second, dict.fromkeys(theirs, "_:"))
    return any(bag(first, dict(zip(mine, order))) == wanted for order in permutations(theirs))


def blank_nodes(rows: list[Row]) -> list[str]:
    return sorted({term for row in rows for term in row.values() if term.startswith("_:")})


def bag(rows: list[Row], names: dict[str, str]) -> Counter:
    return Counter(tuple(sorted((name, names.get(term, term)) for name, term in row.items())) for row in rows)
