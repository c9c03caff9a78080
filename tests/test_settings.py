"""The table of settings: kinds, bounds, names, what is handed down, and that the documents tell the same."""

from __future__ import annotations

import dataclasses
import stat
from pathlib import Path

import pytest

from csparql_spark.language import durations
from csparql_spark.settings import (
    BadValue,
    Broker,
    BrokerUrl,
    Count,
    Directory,
    Kind,
    Length,
    Networks,
    Seconds,
    Settings,
    Several,
    Size,
    Switch,
    Text,
    declared,
    table,
)

DOCUMENT = Path(__file__).parent.parent / "docs" / "settings.md"


@pytest.mark.parametrize(
    "kind, given, value",
    [
        (Text(), " a ", "a"),
        (Directory(), "a/b", Path("a/b")),
        (Switch(), True, True),
        (Switch(), "On", True),
        (Switch(), "0", False),
        (Switch(), "no", False),
        (Several(), "a, b,", ("a", "b")),
        (Several(), ["a,b"], ("a,b",)),
        (Several(), "", ()),
        (Networks(), "10.0.0.0/8, ::1", ("10.0.0.0/8", "::1")),
        (Count(0, 9), 9, 9),
        (Count(0, 9000), "1_000", 1000),
        (Size(), "100MB", 100_000_000),
        (Size(), "64 KiB", 65536),
        (Size(), "7", 7),
        (Size(), 7, 7),
        (Size(), "1gib", 1 << 30),
        (Length(), "10m", 600_000),
        (Length(), "250", 250),
        (Length(), 250, 250),
        (Length(), "PT1M", 60_000),
        (Length(), "0s", 0),
        (Seconds(), "2m", 120.0),
        (Seconds(), 1, 1.0),
        (Seconds(), "0.5", 0.5),
        (Seconds(), "500ms", 0.5),
        (BrokerUrl(), " mqtt://b ", "mqtt://b"),
        (BrokerUrl(), "", ""),
    ],
)
def test_values_are_read(kind: Kind, given: object, value: object) -> None:
    assert kind.read(given) == value
    assert type(kind.read(given)) is type(value)


@pytest.mark.parametrize(
    "kind, given, said",
    [
        (Text(), 5, "5 is not text: write it in quotes"),
        (Directory(), " ", "' ' is not a path"),
        (Switch(), "maybe", "'maybe' is neither true nor false"),
        (Several(), 5, "5 is not a list of texts"),
        (Networks(), "10.0.0.0/8, proxy", "'proxy' is neither an address nor a network: write 192.0.2.7 or 10.0.0.0/8"),
        (Several(), [5], "[5] is not a list of texts"),
        (Count(), "ten", "'ten' is not a whole number"),
        (Count(), True, "True is not a whole number"),
        (Count(), 1.5, "1.5 is not a whole number"),
        (Count(), -1, "-1 is too little: the least is 0"),
        (Count(0, 65535), "65536", "65536 is too much: the most is 65535"),
        (Size(1), "0", "0 is too little: the least is 1"),
        (Size(), "5 bits", "'5 bits' is not a number of bytes: write 100000000, 100MB or 64KiB"),
        (Length(), "5M", '"M" is not a unit of time. Minutes are lower case: write 5m. Months have no fixed length.'),
        (Seconds(60), "1s", "1s is too little: the least is 1m"),
        (Seconds(), "nan", "nan is too little: the least is 0"),
        (Seconds(), float("inf"), "inf is too much: the most is 36600d"),
    ],
)
def test_values_that_cannot_be(kind: Kind, given: object, said: str) -> None:
    with pytest.raises(BadValue) as problem:
        kind.read(given)
    assert str(problem.value) == said


@pytest.mark.parametrize(
    "url, expected",
    [
        ("mqtt://b", Broker("b", 1883, False, "", "")),
        ("mqtts://b/", Broker("b", 8883, True, "", "")),
        ("mqtt://u%40@[::1]:5", Broker("::1", 5, False, "u@", "")),
    ],
)
def test_urls_of_brokers(url: str, expected: Broker) -> None:
    assert Broker.of(url) == expected
    assert "secret" not in repr(Broker.of(url, "me", "secret")) and "@" not in Broker.of(url).url


def test_a_password_does_not_belong_into_a_url() -> None:
    with pytest.raises(BadValue, match="put it into the setting mqtt-password"):
        BrokerUrl().read("mqtt://me:secret@b")


@pytest.mark.parametrize("url", ["broker", "http://b", "mqtt://", "mqtt://b:x", "mqtt://[b", "mqtt://b/topic"])
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(BadValue, match="is not the URL of a broker"):
        BrokerUrl().read(url)


def test_every_default_is_a_value_of_its_kind_and_can_be_written_down() -> None:
    for one in declared().values():
        assert one.kind.read(one.kind.plain(one.default)) == one.default, one.key
        shown = one.kind.show(one.default)
        assert not shown or one.kind.read(shown) == one.default, one.key
        assert one.meaning.endswith("."), one.key


def test_names() -> None:
    one = declared()["keep-log"]
    assert (one.flag, one.variable, one.attribute) == ("--keep-log", "CSPARQL_KEEP_LOG", "keep_log")
    assert len({one.variable for one in declared().values()}) == len(dataclasses.fields(Settings))


def test_secrets_are_not_shown() -> None:
    one = declared()["tokens"]
    assert one.shown(("lab:read:00ff",)) == "********"
    assert one.shown(()) == ""
    assert "00ff" not in repr(Settings(tokens=("lab:read:00ff",)))


def test_what_is_handed_down_comes_down_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    given = Settings(
        data=tmp_path, port=9, cors=("https://a.example",), tokens=("lab:read:00ff",), demo=True, idle_seconds=2.5
    )
    path = given.hand_down(tmp_path)
    assert Settings.handed_down(path) == given
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_longest_time_is_that_of_queries() -> None:
    assert Length().read(durations.LONGEST) == durations.LONGEST
    with pytest.raises(BadValue):
        Length().read(durations.LONGEST + 1)


@pytest.mark.parametrize("length", [1, 999, 1000, 90_000, 60_000, 7_200_000, 86_400_000, 86_400_001])
def test_times_are_shown_as_queries_show_them(length: int) -> None:
    assert Length().show(length) == durations.shortest(length)


def test_the_base_of_all_iris() -> None:
    assert Settings(port=1).base == "http://127.0.0.1:1"
    assert Settings(host="::1", port=1).base == "http://[::1]:1"
    assert Settings(base_url="https://a.example/").base == "https://a.example"


def test_the_documents_tell_the_same() -> None:
    told = table() in DOCUMENT.read_text(encoding="utf-8")
    assert told, (
        "put into docs/settings.md what this prints: "
        "python -c 'from csparql_spark.settings import table; print(table())'"
    )
