"""Poisons: what would stop a server that trusts its users, in four lists, each with a test that says what is expected.

    questions.json      asked once, at /sparql
    texts.json          texts of queries and rules, registered and checked
    bodies.json         documents, pushed and put
    streams.json        queries over streams, beside healthy ones, on a whole server

The quick ones of each are always tried, and all where POISON=all is in the environment, as in `make faults`.
"""

from __future__ import annotations

import os

ALL = os.environ.get("POISON") == "all"
