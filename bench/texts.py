"""What it costs to let a text in: of requests to the application in this process, one after the other, and beside each
other.

    python -m bench.texts            registering new texts, the same under other names, /check and explain: milliseconds
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from csparql_spark.server.app import create_app
from csparql_spark.server.backend import Backend
from csparql_spark.server.settings import Settings

COUNT, CLIENTS = 200, 8
STREAM = "http://csparql.test/streams/s"
GRAPH = "".join(f"<urn:s{number}> <urn:room> <urn:r{number % 20}> .\n" for number in range(300))


def text(name: str, shape: int) -> str:
    return (
        f"PREFIX : <urn:> REGISTER QUERY {name} AS SELECT ?s ?room (AVG(?v) AS ?mean) FROM <urn:kb> "
        f"FROM STREAM <{STREAM}> [RANGE 10m STEP 10m] "
        f"WHERE {{ ?s :value ?v ; :room ?room FILTER(?v > {shape}) OPTIONAL {{ ?s :name ?n }} }} GROUP BY ?s ?room"
    )


def measure() -> dict[str, float]:
    settings = Settings(data=Path(tempfile.mkdtemp(prefix="csparql-bench-")), base_url="http://csparql.test")
    with Backend(settings) as backend:
        app = create_app(backend)
        client = app.test_client()
        client.put("/streams/s")
        client.put("/graphs?graph=urn:kb", data=GRAPH, headers={"Content-Type": "text/turtle"})

        def put(name: str, shape: int) -> None:
            response = app.test_client().put(
                f"/queries/{name}", data=text(name, shape), content_type="application/sparql-query"
            )
            assert response.status_code == 201, response.text

        def check(number: int) -> None:
            response = client.post("/check", data=text(f"c{number}", number), content_type="text/plain")
            assert response.json["ok"], response.text

        put("first", 10_000)
        explain = "/queries/first/explain"
        assert client.get(explain).status_code == 200
        found = {
            "register new texts": median(lambda number: put(f"n{number}", 20_000 + number)),
            "register one under other names": median(lambda number: put(f"s{number}", 1)),
            "check new texts": median(check),
            "explain": median(lambda number: client.get(explain)),
        }
        found["registrations a second, 8 clients"] = rate(lambda number: put(f"r{number}", 40_000 + number))
        return found


def median(work: Callable[[int], object]) -> float:
    """Milliseconds of a request."""
    taken = []
    for number in range(COUNT):
        begun = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - begun)
    return 1000 * statistics.median(taken)


def rate(work: Callable[[int], object]) -> float:
    def some(client: int) -> None:
        for number in range(client, CLIENTS * 50, CLIENTS):
            work(number)

    threads = [threading.Thread(target=some, args=(client,)) for client in range(CLIENTS)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return CLIENTS * 50 / (time.perf_counter() - begun)


def main() -> None:
    for what, number in measure().items():
        print(f"{what:40} {number:10.2f}")


if __name__ == "__main__":
    main()
