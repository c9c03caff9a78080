"""What docs/http.md says of changes: its example is what is sent, and its JavaScript folds what is sent into wholes.

answers ─▶ the server's code ─▶ events ─▶ the page's JavaScript, under node ─▶ rows, as they were answered
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.client import AnswerFold, Change
from csparql_spark.relations.tags import ALWAYS
from csparql_spark.server.subscribers.changes import WholeParts, change_envelopes
from csparql_spark.server.subscribers.instants import envelope
from csparql_spark.server.subscribers.subscription import FIRST, Subscription, Wishes
from csparql_spark.server.subscribers.voices import AskedChanges
from csparql_spark.store import StoredAnswer
from csparql_spark.store.registry import QueryRecord
from tests.examples import examples
from tests.server.playing import record
from tests.server.test_changes import ROWS, Teller, select
from tests.server.test_subscription import House

ROOT = Path(__file__).resolve().parents[2]
SECTION = (ROOT / "docs" / "http.md").read_text(encoding="utf-8").partition("\n## Changes\n")[2].partition("\n## ")[0]
PROGRAM = re.search(r"^```js\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)[1]
URL = "http://127.0.0.1:8000/queries/rows/answers"

# A browser's two functions: events that were written down, and a server that has wholes.
BROWSER = """
const { url, events, kept } = JSON.parse(require("fs").readFileSync(0, "utf8"));
globalThis.fetch = async (asked) => ({ json: async () => kept[asked] ?? [] });
globalThis.EventSource = class {
  constructor(asked) {
    if (asked !== `${url}?changes`) throw new Error(asked);
    this.heard = {};
    setTimeout(() => events.forEach(([kind, data]) => this.heard[kind]?.({ data })));
  }
  addEventListener(kind, heard) { this.heard[kind] = heard; }
  close() { console.log(JSON.stringify("closed")); }
};
"""
USE = "\nfollow(url, (rows, at) => console.log(JSON.stringify({ at, rows })));\n"


def test_the_example_is_what_is_sent(tmp_path: Path) -> None:
    house = House(tmp_path / "data")
    try:
        text = (
            "REGISTER QUERY HotRooms AS SELECT ?room FROM STREAM <http://127.0.0.1:8000/streams/temp> "
            "[RANGE 10s STEP 1s] WHERE { ?room <urn:p> ?c }"
        )
        house.writer.append(QueryRecord.draft("HotRooms", text=text, base=None))
        query, begin = house.registry.query("HotRooms").id, 1_700_000_000_000
        for at, rooms in (
            (begin, {"hall": begin + 9000, "lab": begin + 4000}),
            (begin + 1000, {"hall": begin + 10_000, "shed": ALWAYS}),
        ):
            said = Result.bindings(("room",), [[f"<http://ex.org/{room}>" for room in rooms]])
            made = said.holding(np.array(list(rooms.values()), dtype=np.int64))
            house.store.write([StoredAnswer(query, at, 0, len(made), made.to_bytes())])
        subscription = Subscription(house.fanout, ["HotRooms"], FIRST, wishes=Wishes(changes=AskedChanges.CHANGED))
        subscription._fanout.look()
        sent = b"".join(subscription.more()).decode()
        subscription.close()
    finally:
        house.close()
    shown = re.search(r"^```\n(id: .*?)^```$", SECTION, re.MULTILINE | re.DOTALL)[1]
    ids = re.compile(r"^id: \d+-\w{10}$", re.MULTILINE)
    assert len(ids.findall(shown)) == 2
    assert ids.sub("id", shown).rstrip() == re.sub(r"^id: .*$", "id", sent, flags=re.MULTILINE).rstrip()


def test_the_example_in_python_tells_what_changes(capsys: pytest.CaptureFixture[str]) -> None:
    section = (ROOT / "docs" / "producers.md").read_text(encoding="utf-8").partition("\n## Python\n")[2]
    example = section.split("```python\n")[2].partition("```")[0]

    def follow(name: str) -> Iterator[Change]:
        fold = AnswerFold()
        answers = [
            Result.bindings(("room",), [[f'"{room}"' for room in rooms]]) for rooms in (["lab"], ["hall", "bath"])
        ]
        until = np.array([5000]), np.array([6000, 6000])
        parts = [
            [StoredAnswer(1, at, 0, 1, one.holding(end).to_bytes())] for at, one, end in zip((1, 2), answers, until)
        ]
        for pieces in change_envelopes(record(1, name), map(WholeParts, parts), every=False):
            yield fold.take(json.loads(b"".join(pieces)))

    exec(example, {"client": SimpleNamespace(follow=follow)})
    assert capsys.readouterr().out == "1 rows\n2 + hall\n2 + bath\n2 - lab before its time\n2 rows\n"


def test_the_program_is_short() -> None:
    assert len(PROGRAM.splitlines()) <= 30


def run(events: list[tuple[str, str]], kept: dict[str, list[object]]) -> list[object]:
    """What the page's program shows of events."""
    done = subprocess.run(
        ["node", "-e", BROWSER + PROGRAM + USE],
        input=json.dumps({"url": URL, "events": events, "kept": kept}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def sent_by(house: Teller) -> list[tuple[str, str]]:
    """The events of all that is kept, with their data as it is sent."""
    return [(event.kind, json.dumps(event.data)) for event in house.listen(FIRST) if event.kind]


def shown(rows: list[dict]) -> list[tuple[str, int | None]]:
    return [(one["row"]["n"]["value"], one["until"]) for one in rows]


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's JavaScript, and is not here")
class TestProgram:
    @given(st.data(), st.booleans())
    @settings(max_examples=examples(20), deadline=None)
    def test_it_folds_what_is_sent(self, tmp_path_factory, data: st.DataObject, listed: bool) -> None:
        """Some events get lost, some wholes cannot be had, and something is damaged."""
        house = Teller(tmp_path_factory.mktemp("data"), select(listed))
        try:
            for rows in data.draw(st.lists(ROWS, min_size=1, max_size=8)):
                house.say(rows, listed=listed)
            if data.draw(st.booleans()):
                with house.database.transaction() as connection:
                    connection.execute("UPDATE answers SET payload = x'00' WHERE instant = 3000")
            sent = sent_by(house)
            lost = data.draw(st.sets(st.integers(0, len(sent) - 1), max_size=2))
            gone = data.draw(st.sets(st.sampled_from(sorted(house.said)), max_size=1))
            events = [event for number, event in enumerate(sent) if number not in lost]
            kept = house.said.keys() - gone - {3000}
            seen = run(events, {f"{URL}?version={house.rows}&from={at}&to={at}": [whole(house, at)] for at in kept})
        finally:
            house.close()
        held, due = None, []
        for kind, text in events:
            told = json.loads(text)
            readable = told.get("since") not in gone | {3000} and told.get("since") is not None
            if kind == "gap":
                held = None
            elif kind == "keyframe" or told["since"] == held or readable:
                held = told["at"]
                due.append(held)
            else:
                held = None
        assert [one["at"] for one in seen] == due
        for one in seen:
            now = house.said[one["at"]]
            assert shown(one["rows"]) == now if listed else Counter(shown(one["rows"])) == Counter(now)

    def test_after_a_gap_it_folds_nothing_until_a_whole_comes(self, tmp_path: Path) -> None:
        house = Teller(tmp_path / "data", select(False))
        house.say([("a", 5000)], listed=False)
        house.say([("b", 5000)], listed=False)
        frame, change = sent_by(house)
        house.close()
        events = [frame, ("gap", "{}"), change, frame, change]
        assert [(one["at"], shown(one["rows"])) for one in run(events, {})] == [
            (1000, [("a", 5000)]),
            (1000, [("a", 5000)]),
            (2000, [("b", 5000)]),
        ]

    def test_of_a_query_that_is_replaced_it_shows_the_newest_version(self, tmp_path: Path) -> None:
        """Also where it has not heard the first whole of that one."""
        house = Teller(tmp_path / "data", select(False))
        for name in "abc":
            house.say([(name, 5000)], listed=False)
        frame, *changes = sent_by(house)
        house.close()
        later = [(kind, json.dumps({**json.loads(text), "version": 99})) for kind, text in (frame, *changes)]
        whole = [json.loads(later[0][1])]
        for first, kept in ((later[0], {}), (later[1], {f"{URL}?version=99&from=1000&to=1000": whole})):
            seen = run([frame, first, changes[0], changes[1], later[-1]], kept)
            assert [one["at"] for one in seen] == [1000, json.loads(first[1])["at"], *([3000] if kept else [])]

    def test_it_ends_with_the_query(self) -> None:
        assert run([("end", '{"query":"rows"}')], {}) == ["closed"]


def whole(house: Teller, at: int) -> object:
    return json.loads(envelope("rows", house.store.at(house.rows, at)))
