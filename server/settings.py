"""Settings of the web process: one frozen value, made once, handed down.

Sizes are bytes, times are milliseconds unless the name says seconds. `base` is the start of every IRI and URL that
the server makes up; it is a setting, and not taken from requests, so that a stream's IRI is the same for every client.

    Settings(data=Path("data")).base                                              # 'http://127.0.0.1:8000'
    Settings(data=Path("data"), base_url="https://streams.example.org/").base     # 'https://streams.example.org'
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "web"


@dataclass(frozen=True)
class Settings:
    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    base_url: str = ""                      # what clients see when it is not host and port
    body_limit: int = 100_000_000           # of a push, also after decompression
    query_limit: int = 256 << 10            # of the text of a query, or of a rule file
    graph_limit: int = 200_000_000          # of a background graph, as it is kept
    subscribers: int = 200                  # SSE connections at a time
    reserve: int = 32                       # threads that subscribers cannot take from the other requests
    heartbeat_seconds: float = 15.0         # between signs of life on a silent SSE connection
    idle_seconds: float = 30.0              # until a connection that says nothing is closed
    keep_log: int = 600_000                 # arrival time that the log keeps behind the engine
    keep_answers: int = 1000                # instants of each query
    forget_seconds: float = 30.0            # between two rounds of forgetting
    lag_limit: int = 30_000                 # an engine that is further behind is called degraded
    web: Path = WEB                         # the console; `index.html` in it is served at /

    @property
    def base(self) -> str:
        """Without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.base_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def threads(self) -> int:
        """A subscriber holds a thread for as long as it listens."""
        return self.subscribers + self.reserve
