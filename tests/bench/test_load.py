"""The load that bench.load makes is what it says, and its checks find what is broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.load.breaking import broken, recovered
from bench.load.checking import as_told, check
from bench.load.lines import rounded
from bench.load.listening import Follower, Seat, digest, told
from bench.load.pushing import Push, push_of
from bench.load.queries import SHAPES, asked, crowd
from bench.load.ramp import Step, _climb
from bench.load.roles import roles_of
from bench.load.stage import seated
from bench.load.traffic import KB, MOVES, READINGS, STREAMS, TRIPLES, background, body, shares
from bench.load.watching import Watch
from csparql_spark.answers.plan import plan
from csparql_spark.asking.replay import answer
from csparql_spark.disk import Database, DataDirectory
from csparql_spark.language.queries.query_cache import read
from csparql_spark.log import Draft, Log, LogWriter
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.server.subscribers.instants import event, windows_of
from csparql_spark.store import AnswerStore, QueryRecord, StoredAnswer, StreamRecord

BASE = "http://load.test/"


def parse(content: bytes) -> Chunk:
    return parse_push(content, RdfFormat.N_TRIPLES, base=None, blank_prefix="b")


# --- what is pushed and asked


def test_every_query_is_another_one_and_is_maintained() -> None:
    texts = [one.text.partition(" AS ")[2] for one in crowd(1000)]
    assert len(set(texts)) == 1000
    for shape in range(2 * SHAPES):
        one = asked(shape)
        query = read(one.text, BASE)
        assert plan(query).reads, one.text
        assert {window.step for window in query.windows} == {one.step}


def test_the_queries_are_of_many_kinds() -> None:
    queries = [read(one.text, BASE) for one in crowd(40)]
    assert {query.output for query in queries} == {"RSTREAM", "ISTREAM"}
    assert {window.stream for query in queries for window in query.windows} == {f"{BASE}streams/{s}" for s in STREAMS}
    assert {window.range for query in queries for window in query.windows} == {2000, 3000, 5000, 10_000}
    assert {query.entailment for query in queries} == {(), ("rho-df",)}
    assert sum(query.graphs == (KB,) for query in queries) == 28


@pytest.mark.parametrize("stream", STREAMS)
def test_a_body_is_a_function_of_its_number(stream: str) -> None:
    whole = body(stream, 700, 30)
    assert whole == body(stream, 700, 10) + body(stream, 710, 20)
    chunk = parse(whole)
    assert len(chunk) == 30 * TRIPLES == len(set(chunk.triples()))


def test_a_rate_is_shared_out() -> None:
    assert sum(shares(10_000).values()) * TRIPLES == pytest.approx(10_000)
    assert shares(10_000)[READINGS] > shares(10_000)[MOVES] > 0


def test_subscribers_are_spread_over_the_queries() -> None:
    assert [one.name for one in seated(crowd(100), 4)] == ["q0", "q25", "q50", "q75"]
    assert [one.name for one in seated(crowd(3), 5)] == ["q0", "q1", "q2", "q0", "q1"]


# --- what is heard


def heard(follower: Follower, *events: bytes) -> list[list[str]]:
    return [line.rstrip("\n").split("\t")[3:] for line in follower.take(b"".join(events), 10_500.0)]


def answer_event(instant: int, id: int) -> bytes:
    return b'id: %d\nevent: answer\ndata: {"query":"q","at":%d,"results":{}}\n\n' % (id, instant)


def test_a_follower_sees_order_repetition_and_gaps() -> None:
    follower = Follower(3, Seat("q", 1000))
    data = b'{"query":"q","at":9000,"results":{}}'
    assert heard(follower, b"retry: 1000\n\n: alive\n\n", answer_event(9000, 5)) == [
        ["9000", "5", "1500.0", digest(data)]
    ]
    assert [line[0] for line in heard(follower, answer_event(10_000, 6))] == ["10000"]
    assert [line[0] for line in heard(follower, answer_event(10_000, 6))] == ["10000 is told again", "10000"]
    assert [line[0] for line in heard(follower, answer_event(13_000, 8))] == ["13000 is told after 10000", "13000"]
    assert heard(follower, b'event: gap\ndata: {"after":1}\n\n') == [['gap {"after":1}']]
    assert follower.id == b"8"


def test_an_event_may_come_in_pieces() -> None:
    whole, in_pieces = Follower(0, Seat("q", 1000)), Follower(0, Seat("q", 1000))
    events = answer_event(9000, 5) + answer_event(10_000, 6)
    lines = [line for start in range(0, len(events), 7) for line in in_pieces.take(events[start : start + 7], 1.0)]
    assert lines == list(whole.take(events, 1.0)) and len(lines) == 2


def test_what_is_written_down_is_read_to_where_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "told.tsv"
    path.write_text("told\t0\tq0\t1000\t7\t250.0\tab\nwrong\t1\tq1\t2000 is told again\ntold\t0\tq0\t20")
    events, wrong, end = told(path)
    assert [(one.instant, one.id, one.ms, one.digest) for one in events] == [(1000, 7, 250.0, "ab")]
    assert wrong == ["subscriber 1 of q1: 2000 is told again"]
    assert path.read_text()[end:] == "told\t0\tq0\t20" and told(path, end)[:2] == ([], [])


def test_a_watch_counts_what_was_pushed(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "pushes", tmp_path / "told")
    (tmp_path / "pushes").write_text(
        "readings\t0\t100\t200\t17\t9e9\t5.0\t\nmoves\t0\t50\t503\t0\t9e9\t9.0\tbusy: later\nmoves\t50\t50\t20"
    )
    watch.look()
    assert (watch.triples, watch.statuses[200], watch.sentences) == (300, 1, {503: "busy: later"})
    assert [push.rows for push in watch.pushed(1)] == [300, 150]


# --- when it breaks


def pushed(count: int, status: int = 200, said: str = "") -> list[Push]:
    return [Push(READINGS, 0, 1000, status, 1, 0.0, 1.0, said)] * count


@pytest.mark.parametrize(
    "latencies, lag, pushes, sentence",
    [
        ([400.0] * 50, 900, pushed(10), None),
        (
            [6000.0] * 25 + [9000.0] * 25,
            9000,
            pushed(10),
            "answers come 9.0 s after their instants, and ever later (6.0 s before)",
        ),
        ([9000.0] * 25 + [6000.0] * 25, 6000, pushed(10), None),  # it is catching up
        ([6000.0] * 25 + [6100.0] * 25, 6000, pushed(10), None),  # late, and no later
        ([400.0] * 25 + [600.0] * 25, 600, pushed(10), None),
        ([], 31_000, pushed(10), "no answer has come for 10 s; the newest is 31.0 s old"),
        ([400.0] * 50, 900, pushed(8), "the server takes 2,400 of 3,000 triples a second: producers wait"),
        (
            [400.0] * 50,
            900,
            pushed(9) + pushed(1, 503, "busy: try later"),
            "1 pushes of 10 were told 503: busy: try later",
        ),
        ([400.0] * 50, 900, pushed(9) + pushed(1, 0, "timed out"), "1 pushes of 10 were told nothing: timed out"),
    ],
)
def test_breaking(latencies: list[float], lag: float, pushes: list[Push], sentence: str | None) -> None:
    assert broken(latencies, lag, pushes, offered=3000, seconds=10) == sentence


def test_recovering() -> None:
    assert recovered([300.0, 450.0, 500.0], normal=250.0)
    assert not recovered([300.0, 520.0, 900.0], normal=250.0) and not recovered([], normal=250.0)


# --- what is checked afterwards

SEATS = [Seat("q0", 1000), Seat("q3", 1000)]
Left = tuple[Path, Path, Path, int]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """What a server leaves behind that was given two queries and two pushes of each stream; and the last instant."""
    tmp_path = tmp_path_factory.mktemp("left")
    directory = DataDirectory(tmp_path / "data").create()
    database = Database(directory.database).create()
    writer = LogWriter(database, directory.bell("log")).start()
    for stream in STREAMS:
        writer.append(StreamRecord.draft(f"{BASE}streams/{stream}", name=stream, clock="arrival", delay=0))
    writer.append(Draft("background", KB, parse(background()).to_ipc()))
    for number in (0, 3):
        one = asked(number)
        writer.append(QueryRecord.draft(one.name, text=one.text, base=BASE))
    lines = []
    for number in range(2):
        for stream in STREAMS:
            chunk = parse(body(stream, 400 * number, 400))
            entry = writer.append(
                Draft("chunk", f"{BASE}streams/{stream}", chunk.to_ipc(), rows=len(chunk), unstamped=len(chunk))
            )
            lines.append(f"{stream}\t{400 * number}\t400\t200\t{entry.seq}\t1.0\t1.0\t\n")
        writer.append(Draft("tick", at=(entry.at // 1000 + 1 + number) * 1000))
    until = (entry.at // 1000 + 2) * 1000
    writer.stop()
    log = Log(database)
    ids = dict(database.connection.execute("SELECT id, name FROM queries").fetchall())
    made = list(answer(log.read(0, log.tail())))
    AnswerStore(database, directory.bell("answers")).write(
        StoredAnswer(one.query, one.instant, one.part, one.rows, one.payload) for one in made
    )
    (tmp_path / "pushes.tsv").write_text("".join(lines))
    follower = {seat.query: Follower(number, seat) for number, seat in enumerate(SEATS)}
    with (tmp_path / "told.tsv").open("w") as file:
        for one in made:
            record = QueryRecord(one.query, ids[one.query], 0, asked(int(ids[one.query][1:])).text, BASE)
            part = StoredAnswer(one.query, one.instant, one.part, one.rows, one.payload, position=9)
            said = event(str(part.position), record.name, [part], windows_of(record, one.instant))
            file.writelines(follower[record.name].take(said, 0.0))
    assert len(made) >= 4 and sum(one.rows for one in made) > 20
    database.close()
    return tmp_path, until


@pytest.fixture
def left(made: tuple[Path, int], tmp_path: Path) -> Left:
    shutil.copytree(made[0], tmp_path / "left", ignore=shutil.ignore_patterns("*.bell"))
    return *(tmp_path / "left" / name for name in ("data", "pushes.tsv", "told.tsv")), made[1]


def found(left: Left) -> list[str]:
    data, pushes, heard, until = left
    return check(data, pushes, heard, SEATS, until, processes=0)["broken"]


@pytest.mark.parametrize(
    "late, told", [(400.0, None), (6000.0, "answers come 6.0 s after their instants when the step ends")]
)
def test_a_step_that_ends_seconds_behind_is_not_kept_up_with(late: float, told: str | None) -> None:
    """Registering thousands takes minutes: at the end of the step a server may be behind, and catching up."""
    watch = SimpleNamespace(latencies=lambda seconds: [late + 1, late, late - 1], told=lambda seconds: {})
    stage = SimpleNamespace(
        delete=lambda count: None, register=lambda count: None, pushing=SimpleNamespace(rate=0), watch=watch
    )
    said: list[dict[str, object]] = []
    lines = SimpleNamespace(say=lambda bench, **numbers: said.append(numbers))
    assert _climb(stage, Step(3000, 1000), lines, 0.0) == (told, late)
    assert [one["broke"] for one in said] == [told]


def test_nothing_is_broken(left: Left) -> None:
    data, pushes, heard, until = left
    told = check(data, pushes, heard, SEATS, until, processes=0)
    assert told["broken"] == [] and told["checked_answers"] == told["checked_events"] >= 4


def executed(statement: str) -> Callable[[Left], None]:
    def change(left: Left) -> None:
        with Database(DataDirectory(left[0]).database).transaction() as connection:
            connection.execute(statement)

    return change


def rewritten(which: int, old: str, new: str) -> Callable[[Left], None]:
    def change(left: Left) -> None:
        text = left[which].read_text()
        assert old in text
        left[which].write_text(text.replace(old, new, 1))

    return change


def unheard(left: Left) -> None:
    left[2].write_text("".join(left[2].read_text().splitlines(keepends=True)[2:]))


@pytest.mark.parametrize(
    "change, sentence",
    [
        (executed("DELETE FROM answers WHERE position = 1"), "q0 at {first}: the answer is missing"),
        (
            executed(
                "UPDATE answers SET payload = (SELECT payload FROM answers WHERE position = 1) WHERE position = 2"
            ),
            "q3 at {first}: the answer is another one in a replay",
        ),
        (
            executed(
                "INSERT INTO answers (query, instant, part, rows, payload) SELECT query, instant - 1000, part, rows, "
                "payload FROM answers WHERE position = 1"
            ),
            "q0: 1 answers are in no replay",
        ),
        (
            executed("DELETE FROM log WHERE seq = 6"),
            "the push of 1200 triples to readings from 0 is acknowledged as entry 6",
        ),
        (
            executed(
                "UPDATE log SET (payload, payload_sum) = (SELECT payload, payload_sum FROM log WHERE seq = 9) "
                "WHERE seq = 6"
            ),
            "entry 6 does not hold what was pushed to readings from 0",
        ),
        (
            rewritten(1, "readings\t400\t400\t200\t9", "readings\t400\t400\t503\t0"),
            "1 chunks are in the log without an acknowledgement, and 0 pushes were not answered, such as entry 9",
        ),
        (unheard, "q0 at {first}: subscriber 0 was not told"),
        (
            rewritten(2, "told\t1\tq3\t", "wrong\t1\tq3\t7 is told again\ntold\t1\tq3\t"),
            "subscriber 1 of q3: 7 is told again",
        ),
    ],
)
def test_what_is_broken_is_found(left: Left, change: Callable[[Left], None], sentence: str) -> None:
    first = told(left[2])[0][0].instant
    change(left)
    assert any(one.startswith(sentence.format(first=first)) for one in found(left)), found(left)


def test_a_query_that_failed_owes_no_more_answers(left: Left) -> None:
    last = told(left[2])[0][-1].instant
    executed(f"INSERT INTO failures SELECT id, {last}, 'it was too much' FROM queries WHERE name = 'q0'")(left)
    executed(f"DELETE FROM answers WHERE instant = {last} AND query = (SELECT query FROM failures)")(left)
    left[2].write_text(
        "".join(line for line in left[2].read_text().splitlines(keepends=True) if f"q0\t{last}" not in line)
        + 'wrong\t0\tq0\tproblem {"query":"q0"}\n'
    )
    checked = check(*left[:3], SEATS, left[3], processes=0)
    assert checked["broken"] == [] and checked["failed"] == [f"q0 at {last}: it was too much"]


def test_a_push_that_was_not_answered_may_be_in_the_log(left: Left) -> None:
    rewritten(1, "readings\t400\t400\t200\t9", "readings\t400\t400\t0\t0")(left)
    assert found(left) == []


def test_a_subscriber_who_was_told_something_else(left: Left) -> None:
    events, _, _ = told(left[2])
    spelled = {(one.query, one.instant): one.digest for one in events}
    assert as_told(SEATS, events, spelled, left[3]) == []
    other = [events[0]._replace(digest="00"), *events[1:]]
    assert as_told(SEATS, other, spelled, left[3]) == [
        f"q0 at {events[0].instant}: subscriber 0 was told something else than a replay says"
    ]


# --- small things


def test_the_roles_of_processes() -> None:
    commands = {
        1: (b"python\0-m\0csparql_spark\0serve\0", 0),
        2: (b"python\0-m\0csparql_spark.server.process\0", 1),
        3: (b"python\0-m\0csparql_spark.spark.engine\0", 1),
        4: (b"java\0org.apache.spark.deploy.SparkSubmit", 3),
        5: (b"python\0-m\0pyspark.daemon\0pyspark.worker\0", 4),
        6: (b"python\0-m\0pyspark.daemon\0pyspark.worker\0", 5),
        7: (b"python\0-m\0pyspark.sql.streaming.python_streaming_source_runner\0", 4),
        8: (b"sh\0", 1),
        9: (b"", 1),
    }
    assert roles_of(commands) == {
        1: "supervisor",
        2: "web",
        3: "engine",
        4: "jvm",
        5: "daemon",
        6: "worker",
        7: "source",
        8: "other",
    }


def test_a_line_of_a_push_is_read_as_it_was_written() -> None:
    assert push_of("moves\t7\t20\t200\t812\t1.500\t3.5\t\n") == Push("moves", 7, 20, 200, 812, 1.5, 3.5, "")


def test_numbers_are_rounded() -> None:
    assert rounded({"a": [1.23456, {"b": (2.0004, 3)}], "c": "x"}) == {"a": [1.235, {"b": [2.0, 3]}], "c": "x"}
