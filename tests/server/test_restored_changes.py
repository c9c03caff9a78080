"""Who follows changes of a log that a copy was put back of holds what is so now, and nothing that was lost.

.   an answer is told      c   a copy is taken      p   it is put back, and the server started
r   the server is started again                     s   the client reads all there is, and is cut off
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.client import AnswerFold
from csparql_spark.client.changes import KINDS, folded_event
from csparql_spark.client.following import Event as Heard
from csparql_spark.disk.bell import Bell
from csparql_spark.log.sqlite import incarnations
from csparql_spark.server.subscribers.fanout import Fanout
from csparql_spark.server.subscribers.instants import envelope
from csparql_spark.server.subscribers.subscription import FIRST, Subscription, Wishes, start_after
from csparql_spark.server.subscribers.voices import AskedChanges
from tests.examples import examples
from tests.server.playing import Event, parsed
from tests.server.test_restored import GAP, MEMORY, House
from tests.store.restoring import QUERY


class Follower(House):
    """A client that folds what it hears, and asks for wholes that it lacks."""

    def __init__(self, path: Path, changes: AskedChanges) -> None:
        super().__init__(path)
        self.changes, self.fold, self.asked = changes, AnswerFold(), 0

    def come_back(self) -> None:
        ids = [event.id for event in self.seen if event.id]
        for event in self.heard(ids[-1] if ids else None):
            self.seen.append(event)
            if event.kind == GAP:
                self.fold.drop()
            elif event.kind in KINDS:
                change = folded_event(self.fold, Heard(event.kind, event.data, event.id), self.kept)
                assert (change.whole.at, token(change.whole.rows)) == (change.at, self.said(change.at))

    def heard(self, last: str | None) -> Iterator[Event]:
        fanout = Fanout(self.database, self.answers, Bell(self.directory.bell("answers")), places=9)
        fanout.look()
        start = FIRST if last is None else start_after(last, self.order)
        subscription = Subscription(fanout, ["q"], start, wishes=Wishes(changes=self.changes))
        while pieces := subscription.more():
            yield from (event for piece in pieces for event in parsed(piece.decode()))
        subscription.close()

    def kept(self, query: str, at: int) -> dict:
        self.asked += 1
        return json.loads(envelope(query, self.answers.at(QUERY, at)))

    def said(self, at: int) -> str:
        return self.past.answers[at // 1000 - 1]


def token(rows: list[dict]) -> str:
    (row,) = rows
    return f"token {row['n'].value}"


@pytest.mark.parametrize("changes", [AskedChanges.CHANGED, AskedChanges.ALL])
def test_after_what_was_put_back_a_keyframe(tmp_path: Path, changes: AskedChanges) -> None:
    house = Follower(tmp_path, changes)
    house.play("..c..sp")
    house.answer(2)
    house.come_back()
    told = [(event.kind, event.data.get("at"), event.data.get("since")) for event in house.seen if event.kind]
    assert told == [
        ("keyframe", 1000, None),
        *(("change", at, at - 1000) for at in (2000, 3000, 4000)),
        (GAP, None, None),
        ("keyframe", 3000, None),
        ("change", 4000, 3000),
    ]
    assert house.asked == 0
    house.stop()


@settings(max_examples=examples(60), deadline=None)
@given(
    script=st.text(alphabet="..ccprsss", max_size=25),
    changes=st.sampled_from([AskedChanges.CHANGED, AskedChanges.ALL]),
    data=st.data(),
)
def test_whatever_is_put_back_a_client_holds_what_is_so(
    script: str, changes: AskedChanges, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as path, mock.patch.object(incarnations, "RECENT", 1000):
        house = Follower(Path(path), changes)
        for sign in script + ".s":
            if sign == "p":
                if house.copies:
                    house.stop()
                    house.put_back(data.draw(st.integers(0, len(house.copies) - 1)))
                    house.start()
                continue
            house.play(sign)
            if sign == "s" and house.fold.at is not None:
                assert house.fold.at == 1000 * len(house.past.answers)
                assert token(house.fold.whole().rows) == house.past.answers[-1]
        assert house.fold.at is not None
        house.stop()
