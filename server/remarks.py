"""Remarks: what whoever runs a server is told after its start of the rule sets that it keeps.

for remark in remarks(stores, texts):
    print(remark)                       # the rule set mine cannot be read, and queries that use it fail: …

Each set is read in a guarded child, one after the other, which may take long: so nobody waits for it (`Remarks`).

    thread = Remarks(stores, texts)
    thread.start()                      # says them on stderr, as it finds them
    thread.stop()                       # and no more of them
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Final

from csparql_spark.answers.limits import TooMuch
from csparql_spark.asking.guarded import Crowded
from csparql_spark.asking.guarded.texts import Texts
from csparql_spark.language import LanguageError
from csparql_spark.server.stores import Stores

KIND: Final = "rules"
PAUSE = 1.0  # seconds, while others crowd the places for texts


class Remarks:
    def __init__(self, stores: Stores, texts: Texts) -> None:
        self._stores, self._texts = stores, texts
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._say, name="remarks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """To be called when no children are to be had any more, so that it waits for none."""
        self._stopping.set()
        self._thread.join()

    def _say(self) -> None:
        for remark in remarks(self._stores, self._texts, self._stopping):
            print(f"csparql-spark: {remark}", file=sys.stderr, flush=True)


def remarks(stores: Stores, texts: Texts, stopping: threading.Event | None = None) -> Iterator[str]:
    """What there is to say of rule sets that were let in once, and of whose patterns some match something else by
    now, or nothing."""
    stopping = stopping or threading.Event()
    for rules in stores.registry.settings(KIND):
        if stopping.is_set():
            return
        entry = stores.log.last_as_is(rules.name, KIND, stores.log.tail())
        if entry is not None and entry.damage is not None:
            yield f"{entry.damage}: bring it again with PUT {stores.names.rules_url(rules.name)}"
        if entry is None or entry.payload is None:
            continue
        mend = f"Mend it, and bring it again with PUT {stores.names.rules_url(rules.name)}"
        try:
            found = _patterns(texts, entry.payload.decode(), stopping)
        except (LanguageError, TooMuch) as error:
            yield f"the rule set {rules.name} cannot be read, and queries that use it fail: {error} {mend}"
        else:
            if found:
                yield (
                    f"the rule set {rules.name} has patterns that do not match what they may seem to: "
                    f"{' '.join(found)} {mend}"
                )


def _patterns(texts: Texts, text: str, stopping: threading.Event) -> list[str]:
    """What there is to say of the patterns of a rule file; nothing if it is time to stop. Raises `LanguageError` and
    `TooMuch`."""
    while not stopping.is_set():
        try:
            return texts.remarks(text)[1]
        except Crowded:
            stopping.wait(PAUSE)
    return []
