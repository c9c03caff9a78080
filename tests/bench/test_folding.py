"""What subscribers to changes are told is folded, and what does not fold, or into something else, is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.load.folding import digest_of, folded
from bench.load.listening import Follower, Seat


def binding(room: str) -> dict[str, object]:
    return {"room": {"type": "literal", "value": room}}


def rows(*rooms: str, until: int) -> dict[str, object]:
    return {"bindings": [binding(room) for room in rooms], "until": [until] * len(rooms)}


def whole(at: int, *rooms: str, until: int) -> dict[str, object]:
    results = {"head": {"vars": ["room"]}, "results": {"bindings": [binding(room) for room in rooms]}}
    return {"query": "q", "at": at, "until": [until] * len(rooms), "results": results}


SEPARATORS = (",", ":")
KEYFRAME = {**whole(1000, "b", "a", until=5000), "key": ["room"]}
CHANGE = {
    "query": "q",
    "at": 2000,
    "since": 1000,
    "added": rows("c", until=5000),
    "removed": rows("a", until=5000),
    "until": rows(until=0),
}
UNCHANGED = {"query": "q", "at": 3000, "since": 2000}


def heard(path: Path, *events: tuple[str, dict[str, object]]) -> None:
    """As a subscriber writes it down."""
    with path.open("w") as file:
        follower = Follower(0, Seat("q", 1000), file)
        for number, (kind, data) in enumerate(events):
            told = f"id: {number}-x\nevent: {kind}\ndata: {json.dumps(data, separators=SEPARATORS)}\n\n".encode()
            assert [line.split("\t")[0] for line in follower.take(told, 9000.0)] == ["told"]


def test_each_instant_is_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "changes.tsv"
    heard(path, ("keyframe", KEYFRAME), ("change", CHANGE), ("unchanged", UNCHANGED))
    told, wrong = folded(path)
    assert not wrong and [(one.instant, one.id, one.ms) for one in told] == [
        (1000, 0, 8000.0),
        (2000, 1, 7000.0),
        (3000, 2, 6000.0),
    ]
    before, now = (digest_of(whole(0, *rooms, until=5000), listed=False) for rooms in (("a", "b"), ("c", "b")))
    assert [one.digest for one in told] == [before, now, now]
    assert before != digest_of(whole(0, "a", "b", until=6000), listed=False)
    assert digest_of(whole(0, "a", "b", until=5000), listed=True) != digest_of(KEYFRAME, listed=True)


@pytest.mark.parametrize(
    "change", [{"since": 500}, {"removed": rows("z", until=5000)}, {"removed": rows("a", until=6000)}]
)
def test_what_does_not_fold_is_told(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "changes.tsv"
    heard(path, ("keyframe", KEYFRAME), ("change", CHANGE | change))
    told, wrong = folded(path)
    assert len(told) == 1 and wrong == ["subscriber 0 of q: what is told at 2000 folds into nothing"]
