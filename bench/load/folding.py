"""Folding: what subscribers to changes hold, each instant whole, for who compares it with a replay.

    keyframe, change, unchanged, …  ──▶ folded as a client folds them ──▶ a digest of each whole

A client holds a bag, in no order; of a query with ORDER BY a list. So does a digest: it is that of the rows with until
when they hold, sorted where they are in no order of their own.

    heard, wrong = folded(path)                     # of what `Listening` has written down
    digest_of({"until": …, "results": …}, listed=False)
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.load.listening import Heard, digest
from csparql_spark.client.answer import results_of
from csparql_spark.client.changes import AnswerFold, entries, lines_of


def digest_of(data: dict[str, Any], *, listed: bool) -> str:
    """Of a whole, as an envelope has it."""
    if "triples" in data:
        return digest("".join(sorted(lines_of(data["triples"]))).encode())
    results = results_of(data)
    if "boolean" in results:
        return digest(json.dumps([results["boolean"], data.get("until")]).encode())
    rows = [
        (row, -1 if until is None else until)
        for row, until in entries(results["results"]["bindings"], data.get("until"))
    ]
    return digest(json.dumps(rows if listed else sorted(rows)).encode())


def folded(path: Path) -> tuple[list[Heard], list[str]]:
    """What subscribers held at each instant; and where nothing could be made of what they were told."""
    heard, wrong = [], []
    folds: dict[int, AnswerFold] = defaultdict(AnswerFold)
    listed: dict[int, bool] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            subscriber, query, id, ms, told = line.rstrip("\n").split("\t")
            number, data = int(subscriber), json.loads(told)
            fold = folds[number]
            change = fold.take(data)
            if change.kind == "keyframe":
                listed[number] = data.get("listed", False)
            if fold.at is None:
                wrong.append(f"subscriber {subscriber} of {query}: what is told at {data['at']} folds into nothing")
                continue
            fold.at = data["at"]
            position = int(id.partition("-")[0] or 0)
            whole = fold.whole().data
            heard.append(Heard(number, query, data["at"], position, float(ms), digest_of(whole, listed=listed[number])))
    return heard, wrong
