"""MQTT topics as streams, against a real broker: Debian's mosquitto."""

from __future__ import annotations

import dataclasses
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from csparql_spark.answers.limits import Overloaded
from csparql_spark.asking.guarded import Crowded
from csparql_spark.disk import StoreError
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.pushes import AnyFormat
from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.inbox import MqttMessage
from csparql_spark.server.sources.mqtt import Mqtt, checked_filter

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
needs_a_broker = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed: apt-get install mosquitto")
PATIENCE = 30


class Mosquitto:
    def __init__(self, path: Path) -> None:
        self.path = path
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (path / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {path}/\n"
            "user root\nmax_queued_messages 0\nlog_type none\n"
        )
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [MOSQUITTO, "-c", str(self.path / "mosquitto.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        until(listens)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    def publish(self, topic: str, *payloads: str, kind: str | None = None, qos: int = 1) -> None:
        client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        properties = Properties(PacketTypes.PUBLISH)
        if kind is not None:
            properties.ContentType = kind
        for sent in [client.publish(topic, payload, qos, properties=properties) for payload in payloads]:
            sent.wait_for_publish(PATIENCE)
        client.disconnect()
        client.loop_stop()


def until(true: Callable[[], object]) -> None:
    """Poll: what is waited for happens in another process."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    yield broker
    broker.stop()


@pytest.fixture
def connected(settings: Settings, broker: Mosquitto) -> Settings:
    return dataclasses.replace(settings, mqtt=broker.url)


def fed(backend: Backend, name: str = "s", topics: str = "city/+/temp", **more: str) -> str:
    """Make a stream that is fed, and wait until the broker knows."""
    response = create_app(backend).test_client().put(f"/streams/{name}", json={"mqtt": topics, **more})
    assert response.status_code in (200, 201), response.text
    until(lambda: backend.threads.mqtt._connected and topics in backend.threads.mqtt._filters)
    heard(backend)
    return response.json["iri"]


def heard(backend: Backend) -> None:
    """Wait until the broker has done all that it was asked for so far: it answers in the order of the asking."""
    answered: set[int] = set()
    client = backend.threads.mqtt._client
    client.on_unsubscribe = lambda client, userdata, mid, *told: answered.add(mid)
    _, asked = client.unsubscribe("nobody/asks/for/this")
    until(lambda: asked in answered)


def subjects(backend: Backend, stream: str) -> list[str]:
    log = backend.stores.log
    return [
        s
        for entry in log.read(0, log.tail())
        if (entry.kind, entry.subject) == ("chunk", stream)
        for s, _, _ in Chunk.from_ipc(entry.payload).triples()
    ]


def turtle(*numbers: int) -> list[str]:
    return [f"<urn:{number}> a <urn:C> ." for number in numbers]


@needs_a_broker
def test_messages_are_pushes(connected: Settings, broker: Mosquitto) -> None:
    with Backend(connected) as backend:
        stream = fed(backend)
        lines = fed(backend, "lines", "city/#", mqtt_format="application/x-ndjson")
        broker.publish("city/rome/temp", *turtle(1), kind="text/turtle")
        broker.publish("city/rome/rain", '{"s": "<urn:2>", "p": "<urn:p>", "o": 21.5}')
        broker.publish("elsewhere", *turtle(3))
        broker.publish("city/rome/temp", '{"@id": "urn:4", "urn:p": 1}', kind="application/ld+json")
        until(lambda: len(subjects(backend, lines)) == 3)
        until(lambda: backend.threads.mqtt.described()["triples"] == 5)
        assert subjects(backend, stream) == ["<urn:1>", "<urn:4>"]
        assert subjects(backend, lines) == ["<urn:1>", "<urn:2>", "<urn:4>"]
        told = create_app(backend).test_client().get("/health").json["mqtt"]
        del told["since"], told["messages"]  # a broker may send a message once, or once for each filter
        assert told == {
            "broker": broker.url,
            "state": "connected",
            "topics": {"city/+/temp": [stream], "city/#": [lines]},
            "waiting": 0,
            "triples": 5,
            "repeated": 0,
            "bad": 0,
            "unrouted": 0,
            "dropped": 0,
            "problem": None,
        }


@needs_a_broker
def test_a_bad_payload_is_told_and_stops_nothing(connected: Settings, broker: Mosquitto) -> None:
    with Backend(connected) as backend:
        stream = fed(backend)
        broker.publish("city/x/temp", "<urn:a> nonsense .", "\xff", "", *turtle(1))
        broker.publish("city/x/temp", "picture", kind="image/png")
        broker.publish("city/x/temp", *turtle(2))
        # What is logged is counted a moment later.
        mqtt = backend.threads.mqtt
        until(lambda: len(subjects(backend, stream)) == 2 and mqtt.described()["triples"] == 2)
        told = mqtt.described()
        assert (told["bad"], told["messages"], told["triples"]) == (3, 6, 2)
        assert told["problem"]["message"].startswith(
            "The media type 'image/png' is not an RDF format this server reads."
        )
        assert (told["problem"]["topic"], told["problem"]["stream"]) == ("city/x/temp", stream)


@needs_a_broker
def test_what_the_machine_had_too_little_for_is_brought_again(
    connected: Settings, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Backend(connected) as backend:
        stream, push, tried = fed(backend), backend.pusher.reader.push, []

        def read(body: bytes, format: AnyFormat, iri: str) -> Chunk:
            tried.append(body)
            if len(tried) == 1:
                raise Problem("too-much", "It takes too long.") from Overloaded("it takes too long on the clock")
            return push(body, format, iri)

        monkeypatch.setattr(backend.pusher.reader, "push", read)
        broker.publish("city/x/temp", *turtle(1, 2))
        until(lambda: len(subjects(backend, stream)) == 1)
        told = backend.threads.mqtt.described()
        assert (told["bad"], told["problem"]["message"]) == (0, "It takes too long.")
        broker.stop()
        broker.start()
        until(lambda: len(subjects(backend, stream)) == 2)
        assert tried == [text.encode() for text in (*turtle(1, 2), *turtle(1))]
        assert sorted(subjects(backend, stream)) == ["<urn:1>", "<urn:2>"]


@needs_a_broker
def test_a_slow_message_holds_up_its_topic_and_no_other(
    connected: Settings, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    city/a/temp    ─ 1 ─ [slow 2 ░░░░░░░░░░░░░░ until the gate opens] ─ 3 ─ 4
    city/b/temp    ─ 5 ─ 6 ─ [slow 7 ░░░░░░░░░░] ─ 8
    city/c/temp    ─ 9 ─ 10
    """
    slow = " " * (1 << 20)
    with Backend(connected) as backend:
        stream, push, gate, asked = fed(backend), backend.pusher.reader.push, threading.Event(), []

        def read(body: bytes, format: AnyFormat, iri: str) -> Chunk:
            if len(body) > len(slow):
                asked.append(body)
                assert gate.wait(PATIENCE)
            return push(body, format, iri)

        monkeypatch.setattr(backend.pusher.reader, "push", read)
        one, two, three, four = turtle(1, 2, 3, 4)
        broker.publish("city/a/temp", one, slow + two, three, four)
        five, six, seven, eight = turtle(5, 6, 7, 8)
        broker.publish("city/b/temp", five, six, slow + seven, eight)
        broker.publish("city/c/temp", *turtle(9, 10))
        early = sorted(f"<urn:{number}>" for number in (1, 5, 6, 9, 10))
        until(lambda: sorted(subjects(backend, stream)) == early and len(asked) == 2)
        mqtt = backend.threads.mqtt
        until(lambda: mqtt.described()["waiting"] == 5)
        gate.set()
        until(lambda: len(subjects(backend, stream)) == 10)
        told = [int(term.removeprefix("<urn:").removesuffix(">")) for term in subjects(backend, stream)]
        for topic in (range(1, 5), range(5, 9), range(9, 11)):
            assert [number for number in told if number in topic] == list(topic)
        until(lambda: mqtt.described()["waiting"] == 0 and mqtt._inbox.size == 0)
        heard(backend)  # what was acknowledged has arrived
    with Backend(connected) as backend:
        until(lambda: backend.threads.mqtt.described()["state"] == "connected")
        heard(backend)
        assert len(subjects(backend, stream)) == 10 and backend.threads.mqtt.described()["messages"] == 0


@needs_a_broker
def test_a_poison_is_read_apart_and_told_while_others_go_on(
    connected: Settings, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSPARQL_TIME_LIMIT", "500")
    poison = "@prefix a: <urn:" + "x" * 20_000 + "> . " + "a:b a:c a:d . " * 40_000
    with Backend(connected) as backend:
        stream = fed(backend)
        broker.publish("city/x/temp", poison)
        broker.publish("city/y/temp", *turtle(1, 2))
        broker.publish("city/x/temp", *turtle(3))
        until(lambda: len(subjects(backend, stream)) == 3)
        told = backend.threads.mqtt.described()
        assert (told["bad"], told["problem"]["topic"]) == (1, "city/x/temp")


def test_what_waits_is_bounded_in_bytes(settings: Settings, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it nothing is taken from the connection; one that is larger is taken when nothing else is there."""
    monkeypatch.setattr("csparql_spark.server.sources.inbox.WAITING_BYTES", 100)
    monkeypatch.setattr("csparql_spark.server.sources.inbox.PATIENCE_SECONDS", 0.0)
    mqtt = Mqtt(dataclasses.replace(settings, mqtt="mqtt://127.0.0.1:1"), backend.stores, backend.pusher)
    mqtt._session = "s"  # as of a connection
    for sizes, waits in (((60, 40), 0), ((60, 41), 1), ((500,), 0), ((500, 1), 1)):
        dropped = 0
        for size in sizes:
            message = paho.MQTTMessage(mid=1, topic=b"city")
            message.payload = bytes(size)
            before = mqtt.described()["dropped"]
            mqtt._on_message(mqtt, None, message)
            dropped += mqtt.described()["dropped"] - before
        assert dropped == waits
        group = mqtt._inbox.group()
        assert [len(message.payload) for message in group] == list(sizes[: len(sizes) - waits])
        mqtt._inbox.done(group)
        assert mqtt._inbox.size == 0 and len(mqtt._inbox) == 0


def test_what_cannot_be_looked_at_takes_no_room_for_ever(
    settings: Settings, backend: Backend, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mqtt = Mqtt(dataclasses.replace(settings, mqtt="mqtt://127.0.0.1:1"), backend.stores, backend.pusher)
    mqtt._session = "s"  # as of a connection

    def parted(group: object) -> None:
        mqtt._stopping.set()  # this is the last group
        raise OverflowError("a length that no number has")

    monkeypatch.setattr(mqtt, "_parted", parted)
    monkeypatch.setattr(mqtt, "_subscribe", lambda: None)
    message = paho.MQTTMessage(mid=1, topic=b"city")
    message.payload = bytes(60)
    mqtt._on_message(mqtt, None, message)
    mqtt._work()
    assert mqtt._inbox.size == 0 and mqtt.described()["problem"]["message"] == (
        "OverflowError: a length that no number has"
    )
    assert "messages were not taken" in capsys.readouterr().err


def test_a_message_waits_for_a_place_and_does_not_ask_all_the_time(
    settings: Settings, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_app(backend).test_client().put("/streams/s", json={})
    mqtt = Mqtt(dataclasses.replace(settings, mqtt="mqtt://127.0.0.1:1"), backend.stores, backend.pusher)
    pauses: list[float] = []

    def push(*_: object) -> Chunk:
        raise Crowded("4 bodies wait already")

    monkeypatch.setattr(backend.pusher.reader, "push", push)
    monkeypatch.setattr(mqtt._stopping, "wait", lambda pause: pauses.append(pause) or len(pauses) == 8)
    (stream,) = backend.stores.registry.streams()
    with pytest.raises(Crowded):
        mqtt._read(MqttMessage(0, "s", 1, 1, False, "city", b"", None, ()), stream)
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


@needs_a_broker
def test_what_is_published_while_the_server_is_away_comes_later(connected: Settings, broker: Mosquitto) -> None:
    with Backend(connected) as backend:
        stream = fed(backend)
        broker.publish("city/x/temp", *turtle(1))
        until(lambda: len(subjects(backend, stream)) == 1)
    broker.publish("city/x/temp", *turtle(2, 3))
    with Backend(connected) as backend:
        until(lambda: len(subjects(backend, stream)) == 3)
        assert subjects(backend, stream) == ["<urn:1>", "<urn:2>", "<urn:3>"]


@needs_a_broker
def test_it_comes_back_to_a_broker_that_was_restarted(connected: Settings, broker: Mosquitto) -> None:
    with Backend(connected) as backend:
        stream = fed(backend)
        broker.stop()
        until(lambda: backend.threads.mqtt.described()["state"] in ("disconnected", "unreachable"))
        broker.start()
        until(lambda: backend.threads.mqtt.described()["state"] == "connected")
        until(lambda: backend.threads.mqtt._filters)
        broker.publish("city/x/temp", *turtle(1))
        until(lambda: subjects(backend, stream) == ["<urn:1>"])


@needs_a_broker
def test_nothing_is_acknowledged_before_it_is_written_and_nothing_counted_twice(
    connected: Settings, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that dies after the commit and before the acknowledgement: the broker delivers all of it again."""
    with Backend(connected) as backend:
        stream = fed(backend)
        monkeypatch.setattr(backend.threads.mqtt._client, "ack", lambda mid, qos: None)
        broker.publish("city/x/temp", *turtle(*range(20)))
        until(lambda: len(subjects(backend, stream)) == 20)
    with Backend(connected) as backend:
        until(lambda: backend.threads.mqtt.described()["repeated"] == 20)
        broker.publish("city/x/temp", *turtle(0))
        until(lambda: len(subjects(backend, stream)) == 21)
        assert subjects(backend, stream) == [f"<urn:{number}>" for number in [*range(20), 0]]
        assert backend.threads.mqtt.described()["repeated"] == 20


@needs_a_broker
def test_a_store_that_fails_for_a_while_costs_no_message(
    connected: Settings, broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Backend(connected) as backend:
        stream = fed(backend)
        append, failures = backend.stores.writer.append, iter(range(3))

        def failing(*arguments: object) -> object:
            if next(failures, None) is not None:
                raise StoreError("the disk is full")
            return append(*arguments)

        monkeypatch.setattr(backend.stores.writer, "append", failing)
        broker.publish("city/x/temp", *turtle(1, 2))
        until(lambda: len(subjects(backend, stream)) == 2)
        assert backend.threads.mqtt.described()["problem"]["message"] == "the disk is full"


@needs_a_broker
def test_deleting_the_stream_ends_its_subscription(connected: Settings, broker: Mosquitto) -> None:
    with Backend(connected) as backend:
        fed(backend)
        kept = fed(backend, "kept", "kept/#")
        assert create_app(backend).test_client().delete("/streams/s").status_code == 204
        until(lambda: backend.threads.mqtt._filters.keys() == {"kept/#"})
        heard(backend)
        broker.publish("city/x/temp", *turtle(1))
        broker.publish("kept/x", *turtle(2))
        until(lambda: subjects(backend, kept) == ["<urn:2>"])
        assert (backend.threads.mqtt.described()["messages"], backend.threads.mqtt.described()["unrouted"]) == (1, 0)


def test_a_server_without_a_broker_has_no_topics(client) -> None:
    told = client.put("/streams/s", json={"mqtt": "city/#"})
    assert (told.status_code, told.json["code"]) == (400, "bad-setting")
    assert told.json["detail"].startswith("This server has no MQTT broker")
    assert "mqtt" not in client.get("/health").json


def test_a_broker_that_is_not_there_stops_nothing(settings: Settings) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"mqtt://127.0.0.1:{nobody.getsockname()[1]}"
        with Backend(dataclasses.replace(settings, mqtt=url, mqtt_user="me", mqtt_password="secret")) as backend:
            client = create_app(backend).test_client()
            made = client.put("/streams/s", json={"mqtt": "city/#"})
            assert (made.json["mqtt"], made.json["mqtt_format"]) == ("city/#", "text/turtle")
            assert client.put("/streams/s", json={"mqtt": "city/#"}).status_code == 200
            assert client.put("/streams/s", json={"mqtt": "town/#"}).status_code == 409
            mqtt = backend.threads.mqtt
            until(lambda: mqtt.described()["state"] == "unreachable" and mqtt.described()["topics"])
            told = client.get("/health")
            assert told.json["mqtt"]["topics"] == {"city/#": [made.json["iri"]]}
            assert "secret" not in told.text
            for wrong in (
                {"mqtt": "a/#/b"},
                {"mqtt": 5},
                {"mqtt": "a", "mqtt_format": "image/png"},
                {"mqtt_format": "text/turtle"},
            ):
                assert client.put("/streams/t", json=wrong).json["code"] == "bad-setting"


@pytest.mark.parametrize(
    "topics, fine",
    [
        ("a", True),
        ("a/+/b", True),
        ("#", True),
        ("$share/g/a/#", True),
        ("", False),
        ("a#", False),
        ("#/a", False),
        ("a/b+", False),
        ("\0", False),
        (None, False),
    ],
)
def test_filters(topics: object, fine: bool) -> None:
    if fine:
        assert checked_filter(topics) == topics
    else:
        with pytest.raises(Problem):
            checked_filter(topics)
