from __future__ import annotations

from .opened import Opened


def test_the_last_word_counts_and_each_has_its_own(store: Opened) -> None:
    assert store.status.of("engine") is None
    store.status.say("engine", {"state": "starting", "pid": 1})
    store.status.say("web", {"state": "running"})
    store.status.say("engine", {"state": "running", "reason": "é", "parts": [1, None]})
    assert store.status.of("engine") == {"state": "running", "reason": "é", "parts": [1, None]}
    assert store.status.of("web") == {"state": "running"}
