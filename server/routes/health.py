"""Health: whether answers will come, and if not, what is in the way.

    GET /health     {"status": "ok", "engine": {"state": "running", "position": 812, "behind": 0, "lag_ms": 0, …}, …}

`starting`: the engine is not there yet, or is at its first batch, which takes some seconds; what is pushed is kept for
it. `behind`: it runs, and something has waited for it for longer than `lag-limit`. `degraded`: it has failed or is
gone, or something that is stored is damaged: `damaged` names the entries of the log and the answers that were found to
be, the newest first, and `skipped` the entries that were decided to be passed over. The web process itself serves in
all of them, so the response is 200; it is 503 when the store cannot be read.

What waits is an entry of the log that no batch has gone through, or an instant that has passed and that nobody has
written down yet: answers are told before their batch ends, so a server that is `ok` has told all that is due, but for
the last `lag-limit`. Nothing waits on an idle server. `preparing` names the queries that wait for something else: their
background is large, and is being closed under their rules. Others do not wait for it, and the server is not `behind`.
`kernel` says whether the compiled kernel runs here, or numpy, which takes longer for the same: no state of the server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple, Required, TypedDict, cast

from flask import Blueprint

from csparql_spark.disk.damage import ANSWER, Damage
from csparql_spark.kernel import native
from csparql_spark.schedule.ticker import Ticker
from csparql_spark.server.http.access import may
from csparql_spark.server.settings import Settings
from csparql_spark.server.sources.mqtt import MqttBody
from csparql_spark.server.stores import Stores
from csparql_spark.server.threads import Threads
from csparql_spark.store.waiting_groups import WaitingGroup

HEALTH = ("starting", "ok", "behind", "degraded")
MOST_DAMAGES = 100
FIRST_BATCH_MS = 180_000  # the longest that an engine is still said to start, from the beginning of its process
# What the subject of an entry is.
SUBJECTS = {"chunk": "stream", "stream": "stream", "background": "graph", "rules": "rules", "register": "query"}


class EngineBody(TypedDict, total=False):
    """What the engine says of itself: it may say more, and not all of this."""

    state: Required[str]
    pid: int
    since: int
    began: int
    error: str
    position: int
    behind: int
    lag_ms: int


class DamageBody(TypedDict, total=False):
    """What is damaged: an entry of the log, by its `seq`, or an answer, by its `position`."""

    position: int
    query: str | None
    seq: int
    kind: str | None
    stream: str
    graph: str
    rules: str
    at: Required[int]
    reason: Required[str]
    noticed: Required[int]
    skipped: int


class PreparationBody(TypedDict):
    """A background that is being closed: how large it is, which queries wait for it, and since when."""

    queries: list[str]
    triples: int
    since: int


class LogBody(TypedDict):
    tail: int


class KernelBody(TypedDict, total=False):
    """Whether the compiled kernel runs, or numpy in its place, and then why."""

    runs: Required[str]
    reason: str


class HealthBody(TypedDict, total=False):
    """Whether answers will come; all but the status is for those who may read."""

    status: Required[str]
    engine: EngineBody
    log: LogBody
    queries: int
    streams: int
    subscribers: int
    kernel: KernelBody
    preparing: list[PreparationBody]
    mqtt: MqttBody
    damaged: list[DamageBody]
    damages: int
    skipped: list[DamageBody]


class Backlog(NamedTuple):
    """Up to where the log is answered, how many entries it has after that, and for how long the oldest thing waits."""

    position: int
    entries: int
    lag_ms: int


def routes(settings: Settings, stores: Stores, threads: Threads) -> Blueprint:
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/health")
    def health() -> HealthBody:
        tail, engine = stores.log.tail(), engine_now(stores, threads.ticker)
        damages = stores.damages.all()
        damaged = [one for one in damages if one.skipped is None]
        status = status_of(engine, settings.lag_limit, bool(damaged), stores.now())
        if not may("read"):  # whether it lives is no secret; what it does is
            return {"status": status}
        skipped = [one for one in damages if one.skipped is not None]
        waiting_groups = stores.waiting.groups()
        names = {query.id: query.name for query in stores.registry.queries()} if damaged or waiting_groups else {}
        body: HealthBody = {
            "status": status,
            "engine": engine,
            "log": {"tail": tail},
            "queries": len(stores.registry.queries()),
            "streams": len(stores.registry.streams()),
            "subscribers": threads.fanout.subscribers,
            "kernel": {"runs": native.runs()},
        }
        if native.missing:
            body["kernel"]["reason"] = native.missing
        if threads.mqtt is not None:
            body["mqtt"] = threads.mqtt.described()
        if preparing := preparations(waiting_groups, names):
            body["preparing"] = preparing
        if damaged:
            body |= {"damaged": newest(damaged, names), "damages": len(damaged)}
        if skipped:
            body["skipped"] = newest(skipped, names)
        return body

    return blueprint


def backlog(stores: Stores, ticker: Ticker) -> Backlog:
    position, now = stores.retention.batch_end(), stores.now()
    tail, since = stores.log.tail(), stores.log.waiting_since(position)
    unread = 0 if since is None else now - since
    return Backlog(position, max(0, tail - position), max(0, unread, ticker.overdue(now)))


def preparations(groups: Mapping[str, WaitingGroup], names: Mapping[int, str]) -> list[PreparationBody]:
    """The backgrounds that somebody waits for who is still there."""
    found = [
        PreparationBody(
            queries=sorted(names[id] for id in one.queries if id in names), triples=one.triples, since=one.since
        )
        for one in groups.values()
    ]
    return sorted((one for one in found if one["queries"]), key=lambda one: one["since"])


def engine_of(words: Mapping[str, object]) -> EngineBody:
    """What the engine said of itself, and whether it is still there to say so."""
    # The engine wrote it, and may be of another version.
    body = cast(EngineBody, {**words, "state": words.get("state", "starting")})
    if "pid" in body and body["state"] in ("starting", "running") and not alive(body["pid"]):
        body["state"] = "gone"
    return body


def engine_now(stores: Stores, ticker: Ticker) -> EngineBody:
    """What the engine says of itself, and what waits for it."""
    waiting = backlog(stores, ticker)
    engine = engine_of(stores.status.of("engine") or {})
    return engine | {"position": waiting.position, "behind": waiting.entries, "lag_ms": waiting.lag_ms}


def starts(engine: EngineBody, now: int) -> bool:
    """Whether the engine is not there yet, or has something to do and is not through with its first batch, which is the
    longest: a JVM that has compiled nothing, workers that have to begin. For some time: it may be stuck in it, too."""
    if engine["state"] == "running" and "began" in engine:
        first = engine["position"] <= engine["began"] and (engine["behind"] > 0 or engine["lag_ms"] > 0)
        return first and now - engine.get("since", now) < FIRST_BATCH_MS
    return engine["state"] == "starting"


def status_of(engine: EngineBody, lag_limit: int, damaged: bool, now: int) -> str:
    if damaged:
        return "degraded"
    if starts(engine, now):
        return "starting"
    if engine["state"] != "running":
        return "degraded"
    return "ok" if engine["lag_ms"] <= lag_limit else "behind"


def newest(damages: list[Damage], names: Mapping[int, str]) -> list[DamageBody]:
    """What was found, the newest first, and not all of it if that is much."""
    found = sorted(damages, key=lambda one: one.skipped or one.noticed, reverse=True)
    return [described(one, names) for one in found[:MOST_DAMAGES]]


def described(damage: Damage, names: Mapping[int, str]) -> DamageBody:
    """What is damaged, by name, as far as the name can be believed. `names` of queries."""
    body: DamageBody
    if damage.what == ANSWER:
        body = {
            "position": damage.place,
            "query": names.get(int(damage.subject or 0)),
            "at": damage.at,
            "reason": damage.reason,
            "noticed": damage.noticed,
        }
    else:
        # The key is the word for what the subject is, one of SUBJECTS, which mypy cannot know.
        whose = cast(DamageBody, {SUBJECTS[damage.kind]: damage.subject} if damage.kind in SUBJECTS else {})
        body = {
            "seq": damage.place,
            "kind": damage.kind,
            **whose,
            "at": damage.at,
            "reason": damage.reason,
            "noticed": damage.noticed,
        }
    if damage.skipped is not None:
        body["skipped"] = damage.skipped
    return body


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is there, and is not ours
    return True
