"""The client that replays a city into a server, over its HTTP, as any other client would.

The replay goes on where the streams end, so that it may be stopped and come back. It begins with some minutes that
have passed already: the first windows are full when the engine is ready.

    python -m csparql_spark.cli.feeding --data demo-data --settings demo-data/settings.json
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path

import click

from csparql_spark import lifeline
from csparql_spark.cli import city
from csparql_spark.cli.city import City
from csparql_spark.settings import Settings
from csparql_spark.store.tokens import is_loopback

SEED = 1
PASSED = 5 * 60_000  # of the replay, when it begins, in ms
PUSH_SECONDS = 0.5


@click.command()
@click.option("--data", type=click.Path(path_type=Path), required=True)
@click.option("--settings", "handed", type=click.Path(path_type=Path), required=True)
@click.option("--browser", is_flag=True)
@click.option("--lifeline", "line", type=int, default=None)
def main(data: Path, handed: Path, browser: bool, line: int | None) -> None:
    """Feed a server with the city."""
    if line is not None:
        lifeline.hold(line)
    settings = Settings.handed_down(handed)
    client = DemoClient(settings, os.environ.get("CSPARQL_TOKEN"))
    shown = False
    while True:
        try:
            begun = prepare(client)
            if not shown:
                show(settings.base, browser=browser)
                shown = True
            feed(client, City(SEED), begun, settings.speed)
        except (OSError, http.client.HTTPException) as error:  # the web process may be down for a moment
            print(f"csparql-spark demo: {_sentence(error)}; trying again", file=sys.stderr, flush=True)
            time.sleep(2)


class DemoClient:
    """Sends requests to a server on this machine."""

    def __init__(self, settings: Settings, token: str | None) -> None:
        host = (
            settings.host
            if is_loopback(settings.host)
            else {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
        )
        self._url = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
        self._token = token

    def last_instant(self, stream: str) -> int | None:
        """The newest instant of a stream; None while nothing is in it."""
        newest = json.loads(self.send("GET", f"/streams/{stream}"))["newest"]
        return newest["last"] if newest else None

    def send(self, method: str, path: str, body: str = "", media_type: str = "application/json") -> bytes:
        """What the server answers."""
        headers = {"Content-Type": media_type}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        asked = urllib.request.Request(self._url + path, data=body.encode() or None, method=method, headers=headers)
        with urllib.request.urlopen(asked, timeout=10) as response:
            return bytes(response.read())


def prepare(client: DemoClient) -> int:
    """Make the streams, the graph and the queries; the last instant that the streams have, or that before the first."""
    for stream in city.STREAMS:
        client.send("PUT", f"/streams/{stream}?clock=event&delay={city.DELAY}ms")
    client.send("PUT", f"/graphs?graph={city.GRAPH}", City(SEED).background(), "text/turtle")
    for name in city.QUERIES:
        try:
            client.send("PUT", f"/queries/{name}", city.query(name), "application/sparql-query")
        except urllib.error.HTTPError as error:
            if error.code != 409:  # somebody has registered another query under this name: theirs stays
                raise
    known = [last for stream in city.STREAMS if (last := client.last_instant(stream)) is not None]
    return max(known) if known else city.BEGIN - city.STEP


def show(base: str, *, browser: bool) -> None:
    """Say where the demo can be seen: not before it is there, since whoever is quick would be told that it is not."""
    page = f"{base}/#/queries/Speeds?tab=chart"
    click.echo(
        f"  the demo, in a browser:  {page}\n"
        f"  its answers, as they come:  curl -N '{base}/queries/Speeds/answers' -H 'Accept: text/event-stream'"
    )
    sys.stdout.flush()
    if browser:
        webbrowser.open(page)


def feed(client: DemoClient, replayed: City, begun: int, speed: float) -> None:
    """Push what the sensors say after an instant, as fast as it passes, until something fails."""
    due, started = begun + city.STEP, time.monotonic()
    passed = PASSED if due == city.BEGIN else 0
    while True:
        now = begun + passed + int((time.monotonic() - started) * 1000 * speed)
        while due <= now:
            for stream in city.STREAMS:
                client.send("POST", f"/streams/{stream}", replayed.readings(stream, due), "application/trig")
            due += city.STEP
        time.sleep(PUSH_SECONDS)


def _sentence(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        try:
            return str(json.loads(error.read())["detail"])
        except (ValueError, KeyError, TypeError, OSError):
            return str(error)
    return str(error)


if __name__ == "__main__":
    main()
