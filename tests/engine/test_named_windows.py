"""Named windows and graphs in a group: random bodies with GRAPH blocks, over random logs, by each way to evaluate them.

What is meant says SPARQL's algebra by enumeration (`tests.answers.section18`), over the graphs that the naive twin of
the pipeline sees.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.answers.bindings import Result
from csparql_spark.engine.evaluator_choice import why_snapshot
from csparql_spark.engine.group import Group
from csparql_spark.engine.messages import InstantAnswer, Message
from csparql_spark.language import parse
from csparql_spark.log import Entry
from csparql_spark.testing import replay
from csparql_spark.windows.rule import AlignedWindow
from tests.answers.section18 import Group as Body
from tests.answers.section18 import solutions, text
from tests.answers.test_graph_blocks import Chance
from tests.engine.asked import Asked, Seen
from tests.engine.logs import GRAPHS, STREAMS, TIMES, by_hand, entries, law, steps, written
from tests.engine.naive import Logged, looks_of
from tests.engine.running import in_one_go, matched_anew, routed
from tests.engine.test_laws import Cluster, everything
from tests.examples import examples

SHOWN = ("a", "b", "g", "h", "n1", "n2")
RULES = "[(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)] [(?a <urn:q> ?b) -> (?b <urn:p> ?a)]"
Rows = Counter


@dataclass(frozen=True)
class AskedOfBlocks(Asked):
    """A query whose body is a group of `section18`."""

    group: Body = ()

    def _spelled(self, pattern: object) -> str:
        return text(self.group)


class BlockChance(Chance):
    def graph(self) -> str:
        return self.choice(["?g", "?g", "?g", "?h", "<urn:v>", "<urn:w>", "<urn:h>"])

    def query(self, asked: Asked) -> AskedOfBlocks:
        """One that sees the streams and the background that another one does, through windows that mostly move
        together."""
        times = [self.choice(TIMES)]
        times += [(size, times[0][1] if self.random() < 0.9 else step) for size, step in self.choices(TIMES, k=2)]
        names = self.choice([(None, "urn:v"), ("urn:v", "urn:w"), ("urn:w", None), (None, "urn:v", "urn:w")])
        windows = tuple(
            Seen(self.choice(asked.streams), *extent, name=name) for extent, name in zip(times, names, strict=False)
        )
        unread = [stream for stream in asked.streams if stream not in {window.stream for window in windows}]
        if unread:
            windows = (dataclasses.replace(windows[0], stream=unread[0]), *windows[1:])
        inner = ("graph", self.graph(), self.group(2))
        group = (*self.choice([(), (), (self.triple(),)]), inner)
        output = self.choice(["RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"])
        return AskedOfBlocks(
            windows,
            SHOWN,
            (("", "", ""),),
            graphs=asked.graphs,
            named=self.choice([asked.named, ("urn:h",)]),
            output=output,
            paused=asked.paused,
            rules=RULES if self.random() < 0.4 else "",
            group=group,
        )


@st.composite
def block_logs(draw: st.DrawFn) -> list[Logged]:
    chance = BlockChance(draw(st.integers(0, 2**32 - 1)))
    made = [
        (kind, number, subject, chance.query(value) if kind == "register" else value)
        for kind, number, subject, value in draw(steps())
    ]
    return written([("rules", 0, "mine", RULES), *made])


def rows_of(message: Message) -> Rows:
    assert isinstance(message, InstantAnswer), message
    table = Result.from_bytes(message.payload).table
    return Counter(tuple(sorted(row.items())) for row in table.rows())


def meant(registered: Logged, log: list[Logged]) -> Iterator[tuple[int, Rows]]:
    """What a query has to say, instant by instant."""
    asked = registered.value
    before: Rows = Counter()
    for look in looks_of(registered, log):
        now: Rows = Counter()
        for row in solutions(asked.group, look.graphs):
            now[tuple(sorted((name[1:], term) for name, term in row.items() if name[1:] in SHOWN))] += 1
        yield look.instant, {"RSTREAM": now, "ISTREAM": now - before, "DSTREAM": before - now}[asked.output]
        before = now


def without_until(told: list[Message]) -> list[tuple]:
    """What is said, but for until when it holds: the snapshot evaluator does not know that."""
    return [
        (one.query, one.instant, Result.from_table(answer.table).to_bytes())
        for one in told
        for answer in [Result.from_bytes(one.payload)]
    ]


@given(block_logs())
@law(max_examples=examples(80))
def test_both_evaluators_say_what_the_algebra_defines(log: list[Logged]) -> None:
    told = everything(in_one_go(entries(log)))
    with matched_anew():
        anew = everything(in_one_go(entries(log)))
    assert without_until(told) == without_until(anew)
    for registered in log:
        if registered.kind == "register":
            mine = [(one.instant, rows_of(one)) for one in told if one.query == registered.seq]
            assert mine == list(meant(registered, log)), registered.value.text


@given(block_logs(), st.data())
@law(max_examples=examples(80))
def test_batches_and_workers_cannot_be_seen_in_the_answers(log: list[Logged], data: st.DataObject) -> None:
    cluster = Cluster(data)
    cluster.run(log)
    assert {key: told for key, told in cluster.told.items() if told} == {
        key: told for key, told in in_one_go(entries(log)).items() if told
    }


def test_most_of_the_random_queries_are_maintained() -> None:
    chance, maintained = BlockChance(1), 0
    for _ in range(100):
        asked = chance.query(Asked.over("urn:a", 5, 5, (), (), graphs=("urn:g",), named=GRAPHS[1:]))
        maintained += why_snapshot(parse(asked.text)) is None
    assert maintained > 60


# --- until when rows hold

STREAM = "".join(
    f"<urn:{s}> <urn:p> <urn:{o}> <urn:t:{t}> .\n" for s, o, t in (("a", "b", 1000), ("b", "c", 2000), ("a", "b", 2500))
)
QUERY = """REGISTER QUERY q AS SELECT {} {}
  FROM NAMED WINDOW <urn:v> ON <urn:s> [RANGE PT1S STEP PT1S] FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT4S STEP PT1S]
  WHERE {{ {} }}"""


def until(head: str, body: str, more: str = "", **options: object) -> dict[int, list[tuple] | None]:
    instants = replay(QUERY.format(head, more, body), streams={"urn:s": STREAM}, evaluator="incremental", **options)
    return {
        one.at: None if one.until is None else list(zip([tuple(row.values()) for row in one.rows], one.until))
        for one in instants
    }


def test_each_triple_holds_as_long_as_the_window_that_it_is_seen_in() -> None:
    v, w, a, b, c = (f"<urn:{name}>" for name in "vwabc")
    said = until("?w ?x", "WINDOW ?w { ?x <urn:p> ?y }")
    assert said[2000] == [((v, b), 3000), ((w, a), 5000), ((w, b), 6000)]
    assert said[3000] == [((v, a), 3500), ((w, a), 6500), ((w, b), 6000)]
    said = until("?x ?z", "WINDOW <urn:v> { ?x <urn:p> ?y } WINDOW <urn:w> { ?y <urn:p> ?z }")
    assert said[3000] == [((a, c), 3500)]
    assert until("?w ?n", "WINDOW ?w { SELECT (COUNT(*) AS ?n) { ?x <urn:p> ?y } }")[3000] is None


@pytest.mark.parametrize("maintenance", ["auto", "recompute", "delete-rederive"])
@pytest.mark.parametrize("stated", ["", "<urn:a> <urn:p> <urn:b> ."])
def test_a_window_has_what_follows_with_the_background_and_not_the_background(stated: str, maintenance: str) -> None:
    a, b, c, d = (f"<urn:{name}>" for name in "abcd")
    said = until(
        "?x ?y",
        "WINDOW <urn:w> { ?x <urn:p> ?y }",
        "FROM <urn:k>",
        background={"urn:k": f"<urn:c> <urn:p> <urn:d> . {stated}"},
        rules={"r": "[(?a <urn:p> ?b) (?b <urn:p> ?c) -> (?a <urn:p> ?c)]"},
        entailment="r",
        maintenance=maintenance,
    )
    # What the background says by itself is in the window as long as the window says it too.
    assert said[2000] == [
        ((a, b), 5000),
        ((a, c), 6000 if stated else 5000),
        ((a, d), 6000 if stated else 5000),
        ((b, c), 6000),
        ((b, d), 6000),
    ]


# --- who shares what

BLOCK = (("graph", "?g", (("triple", "?a", "<urn:p>", "?b"),)),)
COUNTED = (("graph", "?g", (("count", (), "?n1", (("triple", "?a", "<urn:p>", "?b"),)),)),)


@given(st.data())
@law(max_examples=examples(40))
def test_who_asks_the_same_through_windows_of_other_lengths(data: st.DataObject) -> None:
    """They share tables, and, where their windows differ by the same, the order of rows."""
    lengths = st.sampled_from([(4, 8), (8, 12), (8, 4), (12, 12), (4, 12)])
    lines: list[tuple] = []
    for name in "qrst":
        seen = [
            Seen("urn:a", size, 2, name=window)
            for window, size in zip(("urn:v", "urn:w"), data.draw(lengths), strict=True)
        ]
        group = data.draw(st.sampled_from([BLOCK, BLOCK, COUNTED]))
        output = data.draw(st.sampled_from(["RSTREAM", "RSTREAM", "ISTREAM", "DSTREAM"]))
        lines.append((0, "register", name, AskedOfBlocks(tuple(seen), SHOWN, ((),), output=output, group=group)))
    node = st.sampled_from(["<urn:a>", "<urn:b>", "<urn:c>"])
    for at in range(1, 24, 2):
        triples = data.draw(st.lists(st.tuples(node, st.just("<urn:p>"), node), max_size=3))
        lines.append((at, "chunk", "urn:a", [(triple, None) for triple in triples]))
        lines.append((at + 1, "tick", None, None))
    log = [Logged(seq, 0, "stream", stream, clock) for seq, (stream, clock) in enumerate(STREAMS.items(), 1)]
    log += [Logged(seq, *line) for seq, line in enumerate(lines, len(log) + 1)]
    told = everything(in_one_go(entries(log)))
    for registered in log:
        if registered.kind == "register":
            mine = [(one.instant, rows_of(one)) for one in told if one.query == registered.seq]
            assert mine == list(meant(registered, log)), registered.value.text
            check_until(registered, [one for one in told if one.query == registered.seq], log)


def check_until(registered: Logged, told: list[Message], log: list[Logged]) -> None:
    """A row of a block is told to hold as long as its triple is in the window of its name."""
    asked = registered.value
    if asked.output != "RSTREAM" or asked.group is not BLOCK:
        return
    lengths = {f"<{window.name}>": window.size for window in asked.windows}
    for one in told:
        answer = Result.from_bytes(one.payload)
        for row, until in zip(answer.table.rows(), answer.until.tolist(), strict=True):
            last = max(
                entry.at
                for entry in log
                if entry.kind == "chunk" and entry.at <= one.instant
                for (s, _, o), _ in entry.value
                if (s, o) == (row["a"], row["b"])
            )
            assert until == last + lengths[row["g"]]


def test_what_nobody_looks_at_is_forgotten() -> None:
    def asked(named: tuple[str, ...], *windows: Seen) -> AskedOfBlocks:
        return AskedOfBlocks(windows, SHOWN, ((),), named=named, group=BLOCK)

    triple = [(("<urn:a>", "<urn:p>", "<urn:b>"), None)]
    told = [
        (0, "background", "urn:h", [("<urn:b>", "<urn:p>", "<urn:c>")]),
        (0, "register", "q", asked(("urn:h",), Seen("urn:a", 4, 2, name="urn:v"), Seen("urn:a", 8, 2, name="urn:w"))),
        (0, "register", "r", asked(("urn:h",), Seen("urn:a", 8, 2))),
        (1, "chunk", "urn:a", triple),
        (2, "tick", None, None),
    ]
    gone = [(2, "unregister", "q", None), (3, "chunk", "urn:a", triple), (4, "tick", None, None)]
    for lines, slides, still in (
        (told, {(AlignedWindow("urn:a", 0), True), (AlignedWindow("urn:a", 0), False)}, {"urn:h", None}),
        (told + gone, {(AlignedWindow("urn:a", 0), False)}, {"urn:h"}),
    ):
        (group,) = fed(by_hand(*lines)).values()
        closures = group._views.closures
        assert {(*slide.windows, slide.alone) for slide in closures._sliding} == slides
        assert closures._still.keys() == still


def fed(log: list[Entry]) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for row in routed(log):
        list(groups.setdefault(row.group, Group(row.group)).feed([row]))
    return groups
