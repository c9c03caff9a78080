"""The demo: rooms with thermometers, and a query that tells which are hot. An ordinary client of the server, over HTTP.

    python -m csparql_spark.cli.demo --url http://127.0.0.1:8000
"""

from __future__ import annotations

import http.client
import itertools
import json
import math
import sys
import time
import urllib.error
import urllib.request

import click

from csparql_spark import lifeline

ROOMS = ("kitchen", "library", "lab", "hall", "office")
PERIOD_SECONDS = 60.0        # a room warms and cools once in this time
PUSH_SECONDS = 0.5
HOT = 28

QUERY = """
PREFIX s: <http://example.org/sensors#>
REGISTER QUERY HotRooms AS
SELECT ?room ?celsius
FROM STREAM <{stream}> [RANGE 5s STEP 1s]
WHERE {{ ?sensor s:madeIn ?room ; s:celsius ?celsius ; a s:HotReading }}
"""


@click.command()
@click.option("--url", required=True)
@click.option("--lifeline", "line", type=int, default=None)
def main(url: str, line: int | None) -> None:
    """Feed a server with synthetic sensors."""
    if line is not None:
        lifeline.hold(line)
    while True:
        try:
            feed(url)
        except (OSError, http.client.HTTPException) as error:        # the web process may be down for a moment
            print(f"csparql-spark demo: {error}; trying again", file=sys.stderr, flush=True)
            time.sleep(2)


def feed(url: str) -> None:
    """Create the stream, register the query, and push readings until something fails."""
    stream = json.loads(_send("PUT", f"{url}/streams/sensors", b"", "application/json"))["iri"]
    try:
        _send("PUT", f"{url}/queries/HotRooms", QUERY.format(stream=stream).encode(), "application/sparql-query")
    except urllib.error.HTTPError as error:
        if error.code != 409:        # somebody has registered another query under this name: theirs stays
            raise
    for count in itertools.count():
        _send("POST", f"{url}/streams/sensors", readings(time.time(), count).encode(), "text/turtle")
        time.sleep(PUSH_SECONDS)


def readings(now: float, count: int) -> str:
    """One reading of each room, as Turtle."""
    lines = ["@prefix s: <http://example.org/sensors#> .", "@prefix room: <http://example.org/rooms/> ."]
    for number, room in enumerate(ROOMS):
        celsius = 24 + 7 * math.sin(2 * math.pi * (now / PERIOD_SECONDS + number / len(ROOMS)))
        kind = "HotReading" if celsius >= HOT else "Reading"
        lines.append(f"[] a s:{kind} ; s:madeIn room:{room} ; s:celsius {celsius:.1f} .")
    return "\n".join(lines)


def _send(method: str, url: str, body: bytes, media_type: str) -> bytes:
    request = urllib.request.Request(url, data=body, method=method, headers={"Content-Type": media_type})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.read()


if __name__ == "__main__":
    main()
