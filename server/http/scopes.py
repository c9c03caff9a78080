"""Scopes: what a request must be allowed to do, by its route and method. What is not in this table needs `admin`.

`OPEN` is for everybody: who is about to log in has no token yet. GET and questions are `read`; filling streams is
`push`; making, changing and deleting streams, queries, graphs, rules and observers is `register`.

    needed("/streams/<name:name>", "POST")      # 'push'
"""

from __future__ import annotations

OPEN = ""
_READ = {"GET": "read"}
_WRITE = {"GET": "read", "PUT": "register", "POST": "register", "PATCH": "register", "DELETE": "register"}

# Rules of the URL map; those that end with * stand for all that begin so.
TABLE: dict[str, dict[str, str]] = {
    "/": {"GET": OPEN},
    "/console/*": {"GET": OPEN},
    "/problems/<code>": {"GET": OPEN},
    "/openapi.json": {"GET": OPEN},
    "/health": {"GET": OPEN},  # what it says depends on who asks
    "/session": {"GET": OPEN},
    "/login": {"POST": OPEN},
    "/logout": {"POST": OPEN},
    "/metrics": _READ,
    "/sparql": {"GET": "read", "POST": "read"},
    "/check": {"POST": "read"},
    "/vocabulary": _READ,
    "/events": _READ,
    "/streams": _WRITE,
    "/streams/<name:name>": {**_WRITE, "POST": "push"},
    "/streams/<name:name>/*": _READ,
    "/queries": _WRITE,
    "/queries/<name:name>": _WRITE,
    "/queries/<name:name>/*": _WRITE,
    "/graphs": _WRITE,
    "/kb": _WRITE,
    "/rules": _WRITE,
    "/rules/*": _WRITE,
}


def needed(rule: str, method: str) -> str | None:
    """The scope that a request needs; `OPEN` if none; None if nobody has decided."""
    methods = TABLE.get(rule)
    if methods is None:
        fitting = [begin for begin in TABLE if begin.endswith("*") and rule.startswith(begin[:-1])]
        methods = TABLE[max(fitting, key=len)] if fitting else {}
    return methods.get("GET" if method == "HEAD" else method)
