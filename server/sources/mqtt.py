"""MQTT: the messages of a broker's topics, pushed into streams.

    csparql-spark serve --mqtt mqtt://broker.example.org        the broker: a setting of the server, and of nobody else
    PUT /streams/temp  {"mqtt": "city/+/temp"}                  the topics: a setting of the stream

A message is a push: its format is the Content Type of its properties (MQTT 5), or else `mqtt_format` of the stream. It
is acknowledged to the broker when it is in the log; the session outlives the connection and this process, so what was
published with QoS 1 meanwhile comes later. Messages that wait together become one entry of the log for each stream.

A message that may take long to read (see `rdf.hazards`) is read apart, and what follows it on its topic waits behind it
(see `backlogs`), so that messages of a topic are written in their order. Other topics go on, and are acknowledged
meanwhile. What the broker has sent and is not written yet is bounded (see `inbox`): beyond that the broker waits.

A message that the broker delivers again is not counted again: with the triples, and in one transaction with them, the
log keeps which message of the session they were. Messages that were published with QoS 0 are taken as they come, and
may be lost on the way. A payload that cannot be read is counted, told in /health, and acknowledged: it would not get
better. Keys of JSON that were left out are told there, too.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from typing import NotRequired, TypedDict, cast

import paho.mqtt.client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from csparql_spark.answers.limits import Overloaded
from csparql_spark.asking.guarded import Crowded
from csparql_spark.disk import StoreError
from csparql_spark.log.contract import Reused
from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.errors import RdfError, UnsupportedFormat
from csparql_spark.rdf.hazards import hazardous
from csparql_spark.rdf.pushes import AnyFormat, push_format
from csparql_spark.rdf.unmapped import told
from csparql_spark.server.http.problems import Problem
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.backlogs import Backlogs
from csparql_spark.server.sources.inbox import PREFIX, Inbox, MqttMessage
from csparql_spark.server.sources.pushing import Idempotency, Pusher
from csparql_spark.server.stores import Stores
from csparql_spark.settings import Broker
from csparql_spark.store import StreamRecord

USUAL_FORMAT = "text/turtle"
UNACKNOWLEDGED = 500  # messages that the broker sends ahead, as MQTT 5 lets us ask
SESSION_SECONDS = 24 * 60 * 60  # how long the broker keeps what comes while we are away
SLOW_READERS = 2  # threads for messages that may take long
LONGEST_PACKET = 268_435_455
LOOK_SECONDS = 1.0
FIRST_CROWD_PAUSE, LONGEST_CROWD_PAUSE = 0.1, 5.0  # seconds, while too many bodies wait to be read
FIRST_PAUSE, LONGEST_PAUSE = 1, 30


class MqttProblemBody(TypedDict):
    """The last thing that went wrong, and with what."""

    at: int
    message: str
    topic: NotRequired[str]
    stream: NotRequired[str]


class MqttCounts(TypedDict):
    """Of messages, and of the triples in them."""

    messages: int
    triples: int
    repeated: int
    bad: int
    unrouted: int
    dropped: int


class MqttBody(MqttCounts):
    """How the connection to the broker does: where it stands, and what has come over it."""

    broker: str
    state: str
    since: int
    topics: dict[str, list[str]]
    waiting: int
    problem: MqttProblemBody | None


class Mqtt:
    def __init__(self, settings: Settings, stores: Stores, pusher: Pusher) -> None:
        self.broker = Broker.of(settings.mqtt, settings.mqtt_user, settings.mqtt_password)
        self._settings, self._stores, self._pusher = settings, stores, pusher
        self._slow = Backlogs(self._push_slow, threads=SLOW_READERS, name="mqtt-slow")
        self._changed, self._stopping = threading.Event(), threading.Event()
        self._inbox = Inbox(self._stopping)
        self._lock = threading.Lock()
        self._connection, self._connected = 0, False
        self._state, self._since = "connecting", time.time()
        self._counts = dict.fromkeys(MqttCounts.__annotations__, 0)
        self._problem: MqttProblemBody | None = None
        # Filters that the broker has from us, each with its number, and the streams of each.
        self._filters: dict[str, int] = {}
        self._streams: dict[str, list[StreamRecord]] = {}
        self._worker = threading.Thread(target=self._work, name="mqtt", daemon=True)

    def start(self) -> Mqtt:
        session = self._stores.status.of("mqtt") or {}
        if session.get("broker") != self.broker.url:
            session = {"client": f"csparql-{os.urandom(8).hex()}", "session": os.urandom(4).hex(), "filters": {}}
        self._client_id, self._session, self._filters = session["client"], session["session"], dict(session["filters"])
        self._keep()
        client = self._client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, self._client_id, protocol=paho.MQTTv5, manual_ack=True
        )
        client.on_connect, client.on_disconnect = self._on_connect, self._on_disconnect
        client.on_connect_fail, client.on_message = self._on_connect_fail, self._on_message
        client.on_subscribe = self._on_subscribe
        if self.broker.user:
            client.username_pw_set(self.broker.user, self.broker.password)
        if self.broker.tls:
            client.tls_set()
        client.reconnect_delay_set(FIRST_PAUSE, LONGEST_PAUSE)
        asked = Properties(PacketTypes.CONNECT)
        asked.SessionExpiryInterval, asked.ReceiveMaximum = SESSION_SECONDS, UNACKNOWLEDGED
        asked.MaximumPacketSize = min(self._settings.body_limit + (1 << 17), LONGEST_PACKET)
        client.connect_async(self.broker.host, self.broker.port, keepalive=30, clean_start=False, properties=asked)
        self._slow.start()
        self._worker.start()
        client.loop_start()
        return self

    def stop(self) -> None:
        """Acknowledge what is in the log; the rest comes again."""
        self._stopping.set()
        self._worker.join()
        self._slow.stop()
        self._client.disconnect()
        self._client.loop_stop()

    def changed(self) -> None:
        """There is another stream, or one less."""
        self._changed.set()

    def described(self) -> MqttBody:
        """For /health."""
        with self._lock:
            return {
                "broker": self.broker.url,
                "state": self._state,
                "since": int(self._since * 1000),
                "topics": {topics: [stream.iri for stream in streams] for topics, streams in self._streams.items()},
                "waiting": len(self._inbox) + len(self._slow),
                **cast(MqttCounts, dict(self._counts)),
                "problem": self._problem,
            }

    # In the thread of the connection

    def _on_connect(
        self, client: paho.Client, userdata: object, flags: paho.ConnectFlags, reason: ReasonCode, properties: object
    ) -> None:
        if reason.is_failure:
            self._enter_state("refused", f"the broker refuses the connection: {reason}")
            return
        if not flags.session_present:
            self._session, self._filters = os.urandom(4).hex(), {}
        self._connection += 1
        self._connected = True
        self._enter_state("connected")
        self._changed.set()

    def _on_disconnect(
        self, client: paho.Client, userdata: object, flags: object, reason: object, properties: object
    ) -> None:
        self._connected = False
        if self._state != "refused":
            self._enter_state("disconnected", f"the connection has ended: {reason}")

    def _on_connect_fail(self, client: paho.Client, userdata: object) -> None:
        self._enter_state("unreachable", f"{self.broker.url} cannot be reached")

    def _on_subscribe(
        self, client: paho.Client, userdata: object, mid: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        for reason in reasons:
            if reason.is_failure:
                self._note_problem(f"the broker refuses a subscription: {reason}")

    def _on_message(self, client: paho.Client, userdata: object, message: paho.MQTTMessage) -> None:
        properties = message.properties
        try:
            self._inbox.put(
                MqttMessage(
                    self._connection,
                    self._session,
                    message.mid,
                    message.qos,
                    bool(message.dup),
                    message.topic,
                    bytes(message.payload),
                    getattr(properties, "ContentType", None),
                    tuple(getattr(properties, "SubscriptionIdentifier", ())),
                )
            )
        except (queue.Full, UnicodeDecodeError) as error:
            # With QoS 1 it is not acknowledged, and comes again.
            self._count("dropped", 1)
            full = isinstance(error, queue.Full)
            self._note_problem("messages come faster than they are written" if full else str(error))

    # In our own threads

    def _work(self) -> None:
        looked = 0.0
        while not self._stopping.is_set():
            try:
                if self._changed.is_set() or time.monotonic() - looked > LOOK_SECONDS:
                    self._changed.clear()
                    looked = time.monotonic()
                    self._subscribe()
                prompt = group = self._inbox.group()
                try:
                    prompt, slow = self._parted(group)
                    try:
                        if prompt:
                            self._push(prompt)
                    finally:
                        for message in slow:  # after those of their topics that came before
                            self._slow.add(message.topic, message)
                finally:
                    self._inbox.done(prompt)
            # Whatever it was, the next messages shall be looked at; these were not acknowledged, and come again.
            except Exception as error:
                self._note_problem(f"{type(error).__name__}: {error}")
                print(f"csparql-spark: messages were not taken: {error!r}", file=sys.stderr, flush=True)
                self._stopping.wait(LOOK_SECONDS)

    def _subscribe(self) -> None:
        """Have the broker know the filters of the streams that there are."""
        wanted: dict[str, list[StreamRecord]] = {}
        for stream in self._stores.registry.streams():
            if stream.mqtt:
                wanted.setdefault(stream.mqtt, []).append(stream)
        with self._lock:
            self._streams = wanted
        if not self._connected:
            return
        numbers = {topics: streams[0].id for topics, streams in wanted.items()}
        if numbers == self._filters:
            return
        for topics in self._filters.keys() - numbers.keys():
            self._client.unsubscribe(topics)
        for topics, number in numbers.items():
            if self._filters.get(topics) != number:
                named = Properties(PacketTypes.SUBSCRIBE)
                named.SubscriptionIdentifier = number
                options = SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
                self._client.subscribe(topics, options=options, properties=named)
        self._filters = numbers
        self._keep()

    def _parted(self, group: list[MqttMessage]) -> tuple[list[MqttMessage], list[MqttMessage]]:
        """Those that are read at once, and those that may take long or follow one of those on its topic."""
        topics: set[str] = set()
        prompt, slow = [], []
        for message in group:
            if message.topic in topics or self._slow.has(message.topic) or self._may_take_long(message):
                topics.add(message.topic)
                slow.append(message)
            else:
                prompt.append(message)
        return prompt, slow

    def _may_take_long(self, message: MqttMessage) -> bool:
        for stream in self._streams_of(message):
            with contextlib.suppress(UnsupportedFormat):
                if hazardous(message.payload, self._format(message, stream)):
                    return True
        return False

    @staticmethod
    def _format(message: MqttMessage, stream: StreamRecord) -> AnyFormat:
        """Raises `UnsupportedFormat`."""
        return push_format(message.content_type or stream.mqtt_format or USUAL_FORMAT)

    def _push_slow(self, message: MqttMessage) -> None:
        try:
            self._push([message])
        # As in `_work`: it was not acknowledged, and comes again.
        except Exception as error:
            self._note_problem(f"{type(error).__name__}: {error}")
            print(f"csparql-spark: a message was not taken: {error!r}", file=sys.stderr, flush=True)
        finally:
            self._inbox.done([message])

    def _push(self, group: list[MqttMessage]) -> None:
        chunks: dict[str, list[Chunk]] = {}
        again: list[MqttMessage] = []  # not acknowledged, so that the broker brings them again
        keys: dict[str, dict[str, bytes]] = {}
        for message in group:
            streams = self._streams_of(message)
            self._count("messages", 1)
            self._count("unrouted", 0 if streams else 1)
            for stream in streams:
                new = keys.setdefault(stream.iri, {})
                if message.again and self._counted(stream, message, new):
                    self._count("repeated", 1)
                    continue
                try:
                    chunk = self._read(message, stream)
                except Overloaded:
                    again.append(message)
                    continue
                if chunk is not None and len(chunk):
                    chunks.setdefault(stream.iri, []).append(chunk)
                    if message.qos:
                        new[message.key] = message.digest
        for iri, found in chunks.items():
            once = Idempotency(keys[iri], checked=True, prefix=PREFIX, newest=4 * UNACKNOWLEDGED) if keys[iri] else None
            if not self._write(iri, Chunk.concat(found), once):
                return
        for message in group:
            # Numbers of messages mean something on their own connection only.
            if message.qos and message.connection == self._connection and message not in again:
                self._client.ack(message.mid, message.qos)

    def _streams_of(self, message: MqttMessage) -> list[StreamRecord]:
        with self._lock:
            streams, numbers = self._streams, {number: topics for topics, number in self._filters.items()}
        if message.subscriptions:
            matching = [numbers[number] for number in message.subscriptions if number in numbers]
        else:
            matching = [topics for topics in streams if paho.topic_matches_sub(topics, message.topic)]
        return list({stream.id: stream for topics in matching for stream in streams.get(topics, ())}.values())

    def _counted(self, stream: StreamRecord, message: MqttMessage, new: dict[str, bytes]) -> bool:
        if message.key in new:
            return new[message.key] == message.digest
        try:
            return self._stores.writer.reply_to(stream.id, message.key, message.digest) is not None
        except Reused:
            return False  # the number has been used again since

    def _read(self, message: MqttMessage, stream: StreamRecord) -> Chunk | None:
        """What a message says; nothing if it says nothing that can be read. Raises `Overloaded` if the machine had too
        little for it, for which it cannot do anything."""
        pause = FIRST_CROWD_PAUSE
        try:
            format = self._format(message, stream)
            while True:
                try:
                    chunk, unmapped = self._pusher.reader.push(message.payload, format, stream.iri)
                    if unmapped:
                        self._note_problem(told(unmapped), topic=message.topic, stream=stream.iri)
                    return chunk
                except Crowded:
                    if self._stopping.wait(pause):  # it is not acknowledged, and comes again
                        raise
                    pause = min(2 * pause, LONGEST_CROWD_PAUSE)
        except (RdfError, UnsupportedFormat, ValueError, RecursionError, Problem) as error:
            self._note_problem(str(error), topic=message.topic, stream=stream.iri)
            if isinstance(error.__cause__, Overloaded):
                raise error.__cause__ from None
            self._count("bad", 1)
            return None

    def _write(self, iri: str, chunk: Chunk, once: Idempotency | None) -> bool:
        """Until it is written, or it is time to stop; what cannot be written now is not lost by waiting."""
        pause = 0.1
        while True:
            try:
                self._pusher.push(iri, chunk, once)
                self._count("triples", len(chunk))
                return True
            except Problem as problem:  # the stream is gone
                self._count("unrouted", 1)
                self._note_problem(problem.detail, stream=iri)
                return True
            except StoreError as error:
                self._note_problem(str(error), stream=iri)
                if self._stopping.wait(pause):
                    return False
                pause = min(2 * pause, 5.0)

    # What is told of it

    def _enter_state(self, state: str, problem: str | None = None) -> None:
        with self._lock:
            if state != self._state:
                self._state, self._since = state, time.time()
        if problem is not None:
            self._note_problem(problem)

    def _note_problem(self, message: str, **about: str) -> None:
        with self._lock:
            # `about` names a topic or a stream, or both.
            self._problem = cast(MqttProblemBody, {"at": int(time.time() * 1000), "message": message, **about})

    def _count(self, what: str, number: int) -> None:
        with self._lock:
            self._counts[what] += number

    def _keep(self) -> None:
        self._stores.status.say(
            "mqtt",
            {"broker": self.broker.url, "client": self._client_id, "session": self._session, "filters": self._filters},
        )


def checked_filter(text: object) -> str:
    """A topic filter, as MQTT has them. Raises `Problem`."""
    if isinstance(text, str) and 0 < len(text.encode("utf-8", "replace")) <= 65535 and "\0" not in text:
        levels = text.split("/")
        whole = all(level in ("+", "#") or not ("+" in level or "#" in level) for level in levels)
        if whole and "#" not in levels[:-1]:
            return text
    raise Problem("bad-setting", f"{str(text)[:100]!r} is no topic filter of MQTT: write one as city/+/temp or city/#.")
