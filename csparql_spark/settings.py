"""Settings: what whoever runs a server decides, each declared once.

A field of `Settings` is a setting: its name, default, kind, meaning and bounds. From this table come the flags of
`serve`, the names in the environment (`CSPARQL_KEEP_LOG`), the keys of the file (`keep-log`), and the table in
docs/settings.md. The value is frozen, made once by the supervisor, and handed down to the server's processes in a file
that only they can read: a secret is never on a command line, and has no flag. `base` is the start of every IRI and URL
that the server makes up; it is a setting, and not taken from requests, so that a stream's IRI is the same for every
client.

    Settings(data=Path("data")).base                                              # 'http://127.0.0.1:8000'
    Settings(data=Path("data"), base_url="https://streams.example.org/").base     # 'https://streams.example.org'
    declared()["keep-log"].kind.read("10m")                                       # 600000
"""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import unquote, urlsplit

from csparql_spark.store.tokens import write_secretly

WEB = Path(__file__).resolve().parent.parent / "web"
HANDED_DOWN = "settings.json"  # in the data directory
MASK = "********"
MAINTENANCE = "CSPARQL_SPARK_MAINTENANCE"  # in the environment of the engine: the strategy that is asked for
WORKER_MEMORY = "CSPARQL_SPARK_WORKER_MEMORY"  # and what a worker may have for all queries together
A_CENTURY = 100 * 366 * 86_400_000  # the longest time, in ms, as in queries

_UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"([0-9][0-9_]*)\s*([A-Za-z]*)")
_LENGTH = re.compile(r"([0-9]+)\s*([A-Za-z]*)")


Value = TypeVar("Value")
Amount = TypeVar("Amount", int, float)


class BadValue(ValueError):
    """A value cannot be that of a setting; the text says why, and what could be."""


class Kind(ABC, Generic[Value]):
    """How the values of a setting are read, from text or from a file's own types, and shown."""

    word: str

    @abstractmethod
    def read(self, given: object) -> Value:
        """Raises `BadValue`."""

    def show(self, value: Value) -> str:
        """As it could be written in the environment or on the command line."""
        return str(value)

    def plain(self, value: Value) -> object:
        """As JSON and TOML have it."""
        return value


class Text(Kind[str]):
    word = "text"

    def read(self, given: object) -> str:
        if not isinstance(given, str):
            raise BadValue(f"{given!r} is not text: write it in quotes")
        return given.strip()


class Directory(Kind[Path]):
    word = "path"

    def read(self, given: object) -> Path:
        if not isinstance(given, str | Path) or not str(given).strip():
            raise BadValue(f"{given!r} is not a path")
        return Path(given).expanduser()

    def plain(self, value: Path) -> str:
        return str(value)


class Switch(Kind[bool]):
    word = "yes or no"

    def read(self, given: object) -> bool:
        if isinstance(given, bool):
            return given
        chosen = str(given).strip().lower()
        if chosen in ("true", "yes", "on", "1"):
            return True
        if chosen in ("false", "no", "off", "0"):
            return False
        raise BadValue(f"{given!r} is neither true nor false")

    def show(self, value: bool) -> str:
        return "true" if value else "false"


class Several(Kind[tuple[str, ...]]):
    """Texts; in the environment and on the command line with commas between them."""

    word = "list"

    def read(self, given: object) -> tuple[str, ...]:
        parts = given.split(",") if isinstance(given, str) else given
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise BadValue(f"{given!r} is not a list of texts")
        return tuple(part.strip() for part in parts if part.strip())

    def show(self, value: tuple[str, ...]) -> str:
        return ",".join(value)

    def plain(self, value: tuple[str, ...]) -> list[str]:
        return list(value)


class Networks(Several):
    """Addresses, and networks of addresses."""

    def read(self, given: object) -> tuple[str, ...]:
        parts = super().read(given)
        for part in parts:
            try:
                ipaddress.ip_network(part, strict=False)
            except ValueError:
                raise BadValue(f"{part!r} is neither an address nor a network: write 192.0.2.7 or 10.0.0.0/8") from None
        return parts


@dataclass(frozen=True)
class Broker:
    """Where MQTT messages come from."""

    host: str
    port: int
    tls: bool
    user: str
    password: str = field(repr=False)

    @classmethod
    def of(cls, url: str, user: str = "", password: str = "") -> Broker:
        """Raises `BadValue`, which does not show the URL: there may be a password in it."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or parts.path not in ("", "/"):
            raise BadValue(
                "this is not the URL of a broker: write it as mqtt://broker.example.org:1883, or mqtts:// for TLS"
            )
        if parts.password:
            raise BadValue(
                "the URL holds a password, which everybody could read there: put it into the setting "
                "mqtt-password, by its file or the environment"
            )
        tls = parts.scheme == "mqtts"
        return cls(
            parts.hostname, port or (8883 if tls else 1883), tls, user or unquote(parts.username or ""), password
        )

    @property
    def url(self) -> str:
        """Without what is secret in it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"mqtt{'s' if self.tls else ''}://{host}:{self.port}"


class BrokerUrl(Text):
    """The URL of a broker, or nothing."""

    def read(self, given: object) -> str:
        url = super().read(given)
        if url:
            Broker.of(url)
        return url


@dataclass(frozen=True)
class Bounded(Kind[Amount]):
    """Numbers from the least one to the most one."""

    least: Amount
    most: Amount

    def read(self, given: object) -> Amount:
        number = self._number(given)
        if not number >= self.least:  # not a number is neither
            raise BadValue(f"{given} is too little: the least is {self.show(self.least)}")
        if not number <= self.most:
            raise BadValue(f"{given} is too much: the most is {self.show(self.most)}")
        return number

    @abstractmethod
    def _number(self, given: object) -> Amount:
        """Whatever the bounds are."""


@dataclass(frozen=True)
class Count(Bounded[int]):
    least: int = 0
    most: int = 1 << 53
    word = "number"

    def _number(self, given: object) -> int:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        text = str(given).strip().replace("_", "")
        if not (text.isascii() and text.isdigit() and len(text) < 18):
            raise BadValue(f"{given!r} is not a whole number")
        return int(text)


@dataclass(frozen=True)
class Size(Count):
    """Bytes: 100000000, 100MB, 64KiB."""

    word = "size"

    def _number(self, given: object) -> int:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        match = _SIZE.fullmatch(str(given).strip())
        if match is None or match[2].upper() not in _UNITS:
            raise BadValue(f"{given!r} is not a number of bytes: write 100000000, 100MB or 64KiB")
        return int(match[1].replace("_", "")) * _UNITS[match[2].upper()]

    def show(self, value: int) -> str:
        for unit in ("GB", "MB", "GiB", "MiB", "KiB"):
            if value and value % _UNITS[unit.upper()] == 0:
                return f"{value // _UNITS[unit.upper()]}{unit}"
        return str(value)


@dataclass(frozen=True)
class Length(Bounded[int]):
    """A length of time, kept in milliseconds: 600000, 10m, PT10M; 0 where the least is 0."""

    least: int = 0
    most: int = A_CENTURY
    word = "time"

    def _number(self, given: object) -> int:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        return milliseconds_of(str(given).strip())

    def show(self, value: int) -> str:
        return shown_milliseconds(value)


@dataclass(frozen=True)
class Seconds(Bounded[float]):
    """A length of time, kept in seconds: 15, 0.5, 15s, 2m."""

    least: float = 0
    most: float = A_CENTURY / 1000
    word = "time"

    def _number(self, given: object) -> float:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return float(given)
        text = str(given).strip()
        try:
            return float(text)
        except ValueError:
            return milliseconds_of(text) / 1000

    def show(self, value: float) -> str:
        return shown_milliseconds(round(value * 1000))


@dataclass(frozen=True)
class SecondsOrNever(Seconds):
    """A length of time, or 0 for never; nothing between 0 and the least."""

    def read(self, given: object) -> float:
        return super().read(given) if self._number(given) else 0.0


def milliseconds_of(text: str) -> int:
    """A length of time, as people write it."""
    # The language takes a while to import, and the processes of a server are handed numbers.
    from csparql_spark.language import durations

    match = _LENGTH.fullmatch(text)
    try:
        if match is None:
            return durations.iso_milliseconds(text)
        if not int(match[1][:18]):
            return 0
        return durations.milliseconds(match[1], match[2] or "ms")
    except durations.DurationProblem as problem:
        raise BadValue(" ".join(filter(None, (problem.message, problem.hint)))) from None


def shown_milliseconds(value: int) -> str:
    """In the largest unit in which it is whole."""
    for unit, length in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if value and value % length == 0:
            return f"{value // length}{unit}"
    return f"{value}ms" if value else "0"


class Maintenance(Text):
    """A strategy that maintains closures, by its name."""

    word = "name"

    def read(self, given: object) -> str:
        name = super().read(given)
        if name == "auto":
            return name
        # Strategies take a while to import, and hardly anybody names one.
        from csparql_spark.entailment.maintain import strategies

        try:
            return strategies.check_name(name)
        except ValueError as error:
            raise BadValue(str(error)) from None


@dataclass(frozen=True)
class Setting:
    """One setting, as the people who set it know it."""

    key: str
    kind: Kind[object]  # of what `default` is
    default: object
    meaning: str
    secret: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.key}"

    @property
    def variable(self) -> str:
        return f"CSPARQL_{self.key.replace('-', '_').upper()}"

    @property
    def attribute(self) -> str:
        return self.key.replace("-", "_")

    def shown(self, value: object) -> str:
        return MASK if self.secret and value else self.kind.show(value)


def setting(default: Value, meaning: str, kind: Kind[Value] | None = None, *, secret: bool = False) -> Value:
    """A field of `Settings`; text, if no kind is named."""
    return field(
        default=default, metadata={"kind": kind or Text(), "meaning": meaning, "secret": secret}, repr=not secret
    )


@dataclass(frozen=True)
class Settings:
    data: Path = setting(
        Path("data"), "Directory for everything that must not be lost; made if it is not there.", Directory()
    )
    host: str = setting("127.0.0.1", "Address to listen on. One that others can reach needs tokens.")
    port: int = setting(8000, "Port to listen on; 0 chooses a free one.", Count(0, 65535))
    base_url: str = setting("", "What IRIs of streams and links start with; empty: http://HOST:PORT.")
    master: str = setting("local[2]", "Where Spark runs.")
    demo: bool = setting(False, "Replay a city into the server, with four queries that watch it.", Switch())
    speed: float = setting(10, "How many times faster than life the demo's city is.", Count(1, 100))
    body_limit: int = setting(100_000_000, "Largest push, also when unpacked.", Size(1))
    query_limit: int = setting(256 << 10, "Largest text of a query or a rule file.", Size(1))
    graph_limit: int = setting(200_000_000, "Largest background graph, as it is kept.", Size(1))
    row_limit: int = setting(1_000_000, "Rows of an answer at one instant; a query that has more fails.", Count(1))
    time_limit: int = setting(
        10_000,
        "Processor time for an answer at one instant; a query that needs more fails, "
        "and so it does after ten times that on the clock.",
        Length(1),
    )
    state_limit: int = setting(1 << 30, "What is held for a query; one that needs more fails.", Size(1))
    worker_memory: int = setting(
        0,
        "Memory of a worker for all queries together; where it is more, the query fails that most is held for. "
        "0: half of what the machine, or the container, has.",
        Size(0),
    )
    question_memory: int = setting(
        768 << 20,
        "Memory for a question that is asked once, with the data that it asks, and for the reading of a large body; "
        "what needs more is refused. Two such questions are answered and one such body is read at a time; first tries "
        "of small questions, texts and bodies, and long texts, have 896 MiB besides, together.",
        Size(64 << 20),
    )
    maintenance: str = setting(
        "auto",
        "How what follows under rules is maintained: `auto`, `expiration`, `delete-rederive`, `counting` or "
        "`recompute`. Answers are the same; `explain` tells which and why.",
        Maintenance(),
    )
    subscribers: int = setting(
        1000, "Connections for events at a time; more are told to come back later.", Count(1, 20_000)
    )
    reserve: int = setting(64, "Threads for requests; connections for events take none.", Count(1, 1000))
    heartbeat_seconds: float = setting(15.0, "Between signs of life on a silent connection for events.", Seconds(1))
    stall_seconds: float = setting(30.0, "Until a subscriber who takes nothing is sent home.", Seconds(1))
    slow_instants: int = setting(
        100, "Instants of a query that a slow subscriber may be behind, until the gap is told.", Count(1)
    )
    idle_seconds: float = setting(30.0, "Until a connection that says nothing is closed.", Seconds(1))
    head_seconds: float = setting(10.0, "Until the whole head of a request must be there.", Seconds(0.1))
    slowest_rate: int = setting(
        1000,
        "Bytes a second, below which a body or the reading of a response is given up, once idle-seconds have passed.",
        Size(0),
    )
    connections: int = setting(
        10_000, "Connections at a time; fewer where the system gives fewer descriptors.", Count(1, 1_000_000)
    )
    connections_per_address: int = setting(
        0,
        "Connections that one address may hold, other than this machine's own; 0: a quarter of all.",
        Count(0, 1_000_000),
    )
    trusted_proxies: tuple[str, ...] = setting(
        (),
        "Addresses or networks of proxies whose X-Forwarded-For or Forwarded names the client. Empty: none.",
        Networks(),
    )
    keep_log: int = setting(
        600_000, "How long entries are kept that the engine has read and no window reaches.", Length(0)
    )
    keep_answers: int = setting(
        1000, "Instants kept of each query; up to 100 more where answers are put together of them.", Count(1)
    )
    forget_seconds: float = setting(30.0, "Between two rounds of forgetting.", Seconds(1))
    life_seconds: float = setting(
        30.0,
        "Until a process that gives no sign of life, and does not work, is killed and started again; 0: never.",
        SecondsOrNever(5),
    )
    lag_limit: int = setting(5_000, "An engine for which something has waited longer is called behind.", Length(1))
    tokens: tuple[str, ...] = setting(
        (),
        "Tokens besides those of `csparql-spark token`, as `token add --as-setting` prints them.",
        Several(),
        secret=True,
    )
    login_seconds: float = setting(43_200.0, "How long a login to the console lasts.", Seconds(60))
    cors: tuple[str, ...] = setting(
        (), "Origins whose pages may use the server, like https://app.example.org.", Several()
    )
    webhooks: tuple[str, ...] = setting(
        (),
        "Where answers may be sent: https://hooks.example.org/, hosts, *.example.org, or * for any public address. "
        "Empty: nowhere.",
        Several(),
    )
    most_streams: int = setting(10_000, "Streams at a time, with those that queries make.", Count(0))
    most_queries: int = setting(10_000, "Registered queries at a time.", Count(0))
    most_graphs: int = setting(10_000, "Background graphs at a time.", Count(0))
    most_rules: int = setting(1000, "Rule sets of users at a time.", Count(0))
    most_observers: int = setting(1000, "Observers of all queries together.", Count(0))
    mqtt: str = setting(
        "", "Broker whose topics streams may be fed with: mqtt://HOST:1883, or mqtts:// for TLS.", BrokerUrl()
    )
    mqtt_user: str = setting("", "User at the MQTT broker.")
    mqtt_password: str = setting("", "Password at the MQTT broker.", secret=True)
    web: Path = setting(WEB, "Directory of the console's pages.", Directory())

    @property
    def base(self) -> str:
        """Without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.base_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def threads(self) -> int:
        """Subscribers hold none."""
        return self.reserve

    def hand_down(self, directory: Path) -> Path:
        """Write them where the server's processes, and nobody else, read them; where that is."""
        path = directory / HANDED_DOWN
        chosen = {one.key: one.kind.plain(getattr(self, one.attribute)) for one in declared().values()}
        write_secretly(path, json.dumps(chosen, indent=1) + "\n")
        return path

    @classmethod
    def handed_down(cls, path: Path) -> Settings:
        """What `hand_down` wrote."""
        return cls.of(json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Settings:
        """Of values by keys, read as their kinds want it. Raises `BadValue` and `KeyError`."""
        known = declared()
        return cls.of_read({key: known[key].kind.read(value) for key, value in values.items()})

    @classmethod
    def of_read(cls, values: Mapping[str, object]) -> Settings:
        """Of values by keys that their kinds have read."""
        known = declared()
        fields = {known[key].attribute: value for key, value in values.items()}
        return cls(**fields)  # type: ignore[arg-type]    # each value is of its field's type: its kind has read it


@functools.cache
def declared() -> dict[str, Setting]:
    """All settings by key, in the order in which people look for them."""
    return {
        key: Setting(key, one.metadata["kind"], one.default, one.metadata["meaning"], one.metadata["secret"])
        for one in dataclasses.fields(Settings)
        for key in [one.name.replace("_", "-")]
    }


def table() -> str:
    """All settings, as docs/settings.md has them."""
    lines = ["| setting | flag | environment | default | meaning |", "| --- | --- | --- | --- | --- |"]
    for one in declared().values():
        default = "" if one.key == "web" else one.kind.show(one.default)
        flag = "none: it is secret" if one.secret else f"`{one.flag}`"
        lines.append(
            f"| `{one.key}` ({one.kind.word}) | {flag} | `{one.variable}` | "
            f"{f'`{default}`' if default else ''} | {one.meaning} |"
        )
    return "\n".join(lines)
