"""Subscribers of a log that a copy was put back of: what they were told and is not so any more is named, and all that
is so now is told, whenever the copy was taken and however far the log has grown since.

    .   an answer is told      c   a copy is taken      p   it is put back, and the server started
    r   the server is started again                     s   the subscriber reads all there is, and is cut off
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.disk.bell import Bell
from csparql_spark.log.sqlite import incarnations
from csparql_spark.log.sqlite.incarnations import Incarnation, Lineage
from csparql_spark.server.subscribers.event_ids import SeenId, event_id, read_id
from csparql_spark.server.subscribers.fanout import Fanout
from csparql_spark.server.subscribers.subscription import FIRST, Subscription, start_after
from csparql_spark.store import Registry, StoredAnswer, packing
from tests.examples import examples
from tests.server.playing import TEXT, Event, number, parsed
from tests.store.restoring import QUERY, World

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where nothing waits for a disk
VERSION_3 = Path(__file__).parents[1] / "store/schemas/3.sql"
GAP = "gap"
A, B, C = "bbbbbbbbbb", "cccccccccc", "dddddddddd"
LIST = [Incarnation("", 0, 0, 0), Incarnation(A, 40, 0, 1), Incarnation(B, 60, 0, 2)]
HEAD = 90


@pytest.mark.parametrize(
    "text, seen",
    [
        ("0", SeenId(0)),
        ("40", SeenId(40)),
        ("41", SeenId(0, True)),
        ("90", SeenId(0, True)),
        (f"41-{A}", SeenId(41)),
        (f"60-{A}", SeenId(60)),
        (f"61-{A}", SeenId(60, True)),
        (f"500-{A}", SeenId(60, True)),
        (f"61-{B}", SeenId(61)),
        (f"90-{B}", SeenId(90)),
        (f"91-{B}", SeenId(0, True)),
        (f"5-{C}", SeenId(0, True)),
        (f"500-{C}", SeenId(0, True)),
        ("", None),
        ("-1", None),
        ("1-", None),
        ("x", None),
        ("5-vowels", None),
        (f"5-{A}b", None),
        (f"5-{A.upper()}", None),
    ],
)
def test_what_an_id_says(text: str, seen: SeenId | None) -> None:
    assert read_id(text, Lineage("x", LIST), HEAD) == seen


@pytest.mark.parametrize("position", [0, 1, 40, 41, 60, 61, 90])
def test_an_id_that_was_given_is_understood(position: int) -> None:
    lineage = Lineage("x", LIST)
    assert read_id(event_id(lineage, position), lineage, HEAD) == SeenId(position)


def test_an_incarnation_that_is_forgotten_with_all_its_answers() -> None:
    lineage = Lineage("x", LIST[2:])
    assert read_id(f"50-{A}", lineage, HEAD) == SeenId(50), "gaps say what is forgotten"
    assert read_id("12", lineage, HEAD) == SeenId(12)
    assert read_id(f"70-{A}", lineage, HEAD) == SeenId(0, True)


class House(World):
    """With a query, and a subscriber that comes back with the last id that it has seen."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.database.transaction() as connection:
            connection.execute(
                "INSERT INTO log (kind, at, subject, payload) VALUES ('register', 0, 'q', ?)",
                (f'{{"text": "{TEXT}", "base": null}}',),
            )
        self.past = self.past._replace(log=("register",))
        assert Registry(self.database).query("q").id == QUERY
        self.seen: list[Event] = []

    def answer(self, count: int = 1) -> None:
        for _ in range(count):
            instant = 1000 * (len(self.past.answers) + 1)
            token = self._token()
            self.answers.write([StoredAnswer(QUERY, instant, 0, 1, number(int(token.split()[1])).to_bytes())])
            self.past = self.past._replace(answers=(*self.past.answers, token))

    def subscribe(self, last: str | None) -> list[Event]:
        fanout = Fanout(self.database, self.answers, Bell(self.directory.bell("answers")), places=9)
        fanout.look()
        start = FIRST if last is None else start_after(last, self.order)
        subscription = Subscription(fanout, ["q"], start)
        seen: list[Event] = []
        while pieces := subscription.more():
            seen += [event for piece in pieces for event in parsed(piece.decode())]
        subscription.close()
        return seen

    def come_back(self) -> None:
        ids = [event.id for event in self.seen if event.id]
        self.seen += self.subscribe(ids[-1] if ids else None)

    def play(self, script: str) -> list[str]:
        """What the subscriber has heard, in short: the instant, in seconds, of an answer, or a gap and its ends."""
        for sign in script:
            match sign:
                case ".":
                    self.answer()
                case "c":
                    self.copy()
                case "s":
                    self.come_back()
                case "r" | "p":
                    self.stop()
                    if sign == "p":
                        self.put_back(-1)
                    self.start()
        return [short(event) for event in self.seen if event.kind]

    def believed(self) -> list[str]:
        """What a client knows that takes gaps at their word: nothing after `after` is so."""
        believed: list[tuple[int, str]] = []
        for event in self.seen:
            if event.kind == "answer":
                (row,) = event.data["results"]["results"]["bindings"]
                believed.append((event.data["at"], f"token {row['n']['value']}"))
            elif event.kind == GAP and event.data["reason"] == "restored":
                believed = [one for one in believed if one[0] <= (event.data["after"] or 0)]
        return [token for _, token in believed]


def short(event: Event) -> str:
    if event.kind != GAP:
        return str(event.data["at"] // 1000)
    after, next = (event.data[name] and event.data[name] // 1000 for name in ("after", "next"))
    return f"{event.data['reason']}({after},{next})"


@pytest.mark.parametrize(
    "script, heard",
    [
        ("...s..s", "1 2 3 4 5"),
        ("...sr..s", "1 2 3 4 5"),
        ("...srrr.s.rs", "1 2 3 4 5"),
        ("..c..sp...s", "1 2 3 4 restored(2,3) 3 4 5"),  # positions 3 and 4 are other answers now
        ("..c..sps", "1 2 3 4 restored(2,None)"),  # and it says so before there are any
        ("..c..sps.s.s", "1 2 3 4 restored(2,None) 3 4"),  # once
        ("..c..spr..rs", "1 2 3 4 restored(2,3) 3 4"),
        ("..sc..p...s", "1 2 3 4 5"),  # what was lost had not been told
        ("..c.sp.s.p.s", "1 2 3 restored(2,3) 3 restored(None,1) 1 2 3"),
        ("..cr..sp...s", "1 2 3 4 restored(None,1) 1 2 3 4 5"),  # a copy of before that start knows nothing of it
        ("c..sp...s", "1 2 restored(None,1) 1 2 3"),
        ("cs.p.s", "1"),
    ],
)
def test_timelines(tmp_path: Path, script: str, heard: str) -> None:
    house = House(tmp_path)
    assert house.play(script) == heard.split()
    assert house.believed() == list(house.past.answers)
    house.stop()


def test_ids_from_before_there_were_incarnations(tmp_path: Path) -> None:
    """A directory is opened by a version that knows of them: what was told until then is of the first one."""
    house = House(tmp_path)
    with mock.patch.object(packing, "LEAST", 1 << 30):
        house.answer(4)
    views = [
        statement
        for statement in VERSION_3.read_text().split(";")
        if "CREATE VIEW" in statement and ("VIEW streams" in statement or "VIEW queries" in statement)
    ]
    with house.database.transaction() as connection:
        for statement in (
            "DROP TABLE identity",
            "DROP TABLE incarnations",
            "DROP TABLE damages",
            "DROP VIEW streams",
            "DROP TABLE engine_progress",
            "DROP TABLE relayed",
            "DROP TABLE forgotten",
            "DROP TABLE batch_ends",
            "CREATE TABLE positions (reader TEXT PRIMARY KEY, seq INTEGER)",
            "DROP VIEW queries",
            "DROP VIEW versions",
            "ALTER TABLE log DROP COLUMN head_sum",
            "ALTER TABLE log DROP COLUMN payload_sum",
            *(f"ALTER TABLE answers DROP COLUMN {name}" for name in ("since", "frame", "weight", "size")),
            "ALTER TABLE answers DROP COLUMN checksum",
            *views,
            "PRAGMA user_version = 3",
        ):
            connection.execute(statement)
    house.stop()
    assert house.start() is None
    house.answer(2)
    assert [short(event) for event in house.subscribe("2")] == ["3", "4", "5", "6"]
    assert [short(event) for event in house.subscribe("4")] == ["5", "6"]
    assert [short(event) for event in house.subscribe("5")] == ["restored(None,1)", "1", "2", "3", "4", "5", "6"]
    ids = [event.id for event in house.subscribe("2")]
    assert ids[:2] == ["3", "4"] and [id.partition("-")[0] for id in ids[2:]] == ["5", "6"]
    assert len(ids[2]) == len("5-") + incarnations.NAME_LENGTH
    house.stop()


def test_without_names_for_incarnations_it_would_be_silence(tmp_path: Path) -> None:
    """What the law below is about: with positions alone the answers 3 and 4 of this log are never told."""
    house = House(tmp_path)
    with mock.patch.object(Lineage, "stands", lambda self, name, position: position):
        assert house.play("..c..sp...s") == ["1", "2", "3", "4", "5"]
    assert house.believed() != list(house.past.answers)
    house.stop()


@settings(max_examples=examples(100), deadline=None)
@given(script=st.text(alphabet="..ccprsss", max_size=25), data=st.data())
def test_whatever_is_put_back_a_subscriber_comes_to_know_what_is_so(script: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as path, mock.patch.object(incarnations, "RECENT", 1000):
        house = House(Path(path))
        for sign in script + "s":
            if sign == "p" and not house.copies:
                continue
            if sign == "p":
                house.stop()
                house.put_back(data.draw(st.integers(0, len(house.copies) - 1)))
                house.start()
                continue
            before, known = len(house.seen), house.believed()
            house.play(sign)
            if sign == "s":
                assert house.believed() == list(house.past.answers)
                so = known == list(house.past.answers[: len(known)])
                gaps = [event for event in house.seen[before:] if event.kind == GAP]
                assert len(gaps) == (not so), "a gap is told if, and only if, something was told that is not so"
        house.stop()
