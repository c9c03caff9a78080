"""A producer of the plainest kind: one connection, one push after the other, and what the server says of each.

    producer = Producer(8000)
    producer.push("readings", b"<urn:a> <urn:p> <urn:b> .")       # (200, {"accepted": 1, "seq": 812, …})

It gives no idempotency key and sends nothing again: what is refused, or not answered in time, is told to its caller.
"""

from __future__ import annotations

import http.client
import json

N_TRIPLES, N_QUADS = "application/n-triples", "application/n-quads"


class Producer:
    def __init__(self, port: int, timeout: float = 60.0) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def push(self, stream: str, body: bytes, media_type: str = N_TRIPLES) -> tuple[int, dict[str, object]]:
        """Status and what was told. Raises `OSError` and `HTTPException` when there is no answer."""
        try:
            self._connection.request("POST", f"/streams/{stream}", body, {"Content-Type": media_type})
            response = self._connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next push makes another one
            raise

    def close(self) -> None:
        self._connection.close()
