"""The client of the demo: what it makes, where it begins and goes on, and that its token is nowhere to be seen."""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path
from types import SimpleNamespace

import pytest

from csparql_spark.cli import city, feeding
from csparql_spark.cli.city import BEGIN, GRAPH, QUERIES, STEP, STREAMS, City
from csparql_spark.settings import Settings


class Recorded(feeding.DemoClient):
    """Requests as they would be sent, and what a server would say."""

    def __init__(self, newest: dict[str, int] | None = None, taken: tuple[str, ...] = ()) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.newest, self.taken = newest or {}, taken

    def send(self, method: str, path: str, body: str = "", media_type: str = "application/json") -> bytes:
        self.sent.append((method, path, body))
        if path.removeprefix("/queries/") in self.taken:
            raise urllib.error.HTTPError(path, 409, "Conflict", None, None)
        last = self.newest.get(path.removeprefix("/streams/"))
        return json.dumps({"newest": None if last is None else {"last": last}}).encode()


def test_it_makes_what_the_queries_read_before_them() -> None:
    client = Recorded()
    assert feeding.prepare(client) == BEGIN - STEP
    made = [path for method, path, _ in client.sent if method == "PUT"]
    assert made == [
        *(f"/streams/{stream}?clock=event&delay=5000ms" for stream in STREAMS),
        f"/graphs?graph={GRAPH}",
        *(f"/queries/{name}" for name in QUERIES),
    ]
    assert list(QUERIES).index("Jams") < list(QUERIES).index("ParkInstead")


def test_it_goes_on_where_the_streams_end_and_leaves_the_queries_of_others() -> None:
    client = Recorded({"traffic": BEGIN + 9 * STEP, "weather": BEGIN + 8 * STEP}, taken=("Speeds",))
    assert feeding.prepare(client) == BEGIN + 9 * STEP
    assert ("PUT", "/queries/ParkInstead", city.query("ParkInstead")) in client.sent


class Enough(Exception):
    pass


def test_where_it_can_be_seen_is_told_once_and_when_it_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    happened: list[str] = []
    clients = iter([OSError("refused"), 0, 0])

    def prepare(client: feeding.DemoClient) -> int:
        happened.append("prepared" + capsys.readouterr().out)
        if isinstance(failure := next(clients), OSError):
            raise failure
        return failure

    def feed(*given: object) -> None:
        happened.append(capsys.readouterr().out)
        raise OSError("broken") if len(happened) < 5 else Enough

    monkeypatch.setattr(feeding, "prepare", prepare)
    monkeypatch.setattr(feeding, "feed", feed)
    monkeypatch.setattr(feeding, "time", SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setattr(feeding.webbrowser, "open", lambda page: happened.append(page))
    settings = Settings(port=8001)
    handed = settings.hand_down(tmp_path)
    with pytest.raises(Enough):
        feeding.main.main(["--data", str(tmp_path), "--settings", str(handed), "--browser"])
    page = f"{settings.base}/#/queries/Speeds?tab=chart"
    assert happened == [
        "prepared",
        "prepared",
        page,
        f"  the demo, in a browser:  {page}\n  its answers, as they come:  "
        f"curl -N '{settings.base}/queries/Speeds/answers' -H 'Accept: text/event-stream'\n",
        "prepared",
        "",
    ]


def fed(begun: int, speed: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The instants of which it tells the streams within so many seconds, by a clock that is moved by hand."""
    clock = SimpleNamespace(now=100.0)

    def sleep(time: float) -> None:
        clock.now += time
        if clock.now > 100.0 + seconds:
            raise Enough

    monkeypatch.setattr(feeding, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    client, replayed = Recorded(), City()
    with pytest.raises(Enough):
        feeding.feed(client, replayed, begun, speed)
    told = {replayed.readings("parking", at): at for at in range(begun, begun + 1000 * STEP, STEP)}
    rounds = len(client.sent) // len(STREAMS)
    assert [path for _, path, _ in client.sent] == [f"/streams/{stream}" for stream in STREAMS] * rounds
    return [told[body] for _, path, body in client.sent if path == "/streams/parking"]


def test_at_first_some_minutes_have_passed_already(monkeypatch: pytest.MonkeyPatch) -> None:
    told = fed(BEGIN - STEP, 10, 0, monkeypatch)
    assert told == list(range(BEGIN, BEGIN + feeding.PASSED, STEP))


@pytest.mark.parametrize("speed", [1, 10, 60])
def test_later_it_keeps_its_speed_and_leaves_nothing_out(speed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = BEGIN + 100 * STEP
    told = fed(begun, speed, 20, monkeypatch)
    assert told == list(range(begun + STEP, begun + 20_000 * speed + 1, STEP))


def test_it_asks_on_this_machine_and_its_token_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Response:
        def __enter__(self) -> Response:
            return self

        def __exit__(self, *error: object) -> None:
            return None

        def read(self) -> bytes:
            return b"{}"

    monkeypatch.setattr(feeding.urllib.request, "urlopen", lambda request, timeout: asked.append(request) or Response())
    for host in ("0.0.0.0", "::", "::1", "192.0.2.1"):
        feeding.DemoClient(Settings(host=host, port=1, base_url="https://a.example"), "csp_x").send("GET", "/streams")
    assert [request.full_url for request in asked] == [
        "http://127.0.0.1:1/streams",
        "http://[::1]:1/streams",
        "http://[::1]:1/streams",
        "http://192.0.2.1:1/streams",
    ]
    assert {request.get_header("Authorization") for request in asked} == {"Bearer csp_x"}
