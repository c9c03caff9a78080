"""Remarks: what whoever runs a server is told at its start of the rule sets that it keeps.

for remark in remarks(stores):
    print(remark)                       # the rule set mine cannot be read, and queries that use it fail: …
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from csparql_spark.entailment.rules.regimes import stored
from csparql_spark.language import LanguageError
from csparql_spark.server.stores import Stores

KIND: Final = "rules"


def remarks(stores: Stores) -> Iterator[str]:
    """What there is to say of rule sets that were let in once, and of whose patterns some match something else by
    now, or nothing."""
    for rules in stores.registry.settings(KIND):
        entry = stores.log.last_as_is(rules.name, KIND, stores.log.tail())
        if entry is not None and entry.damage is not None:
            yield f"{entry.damage}: bring it again with PUT {stores.names.rules_url(rules.name)}"
        if entry is None or entry.payload is None:
            continue
        mend = f"Mend it, and bring it again with PUT {stores.names.rules_url(rules.name)}"
        try:
            found = stored(entry.payload.decode()).patterns
        except LanguageError as error:
            yield f"the rule set {rules.name} cannot be read, and queries that use it fail: {error} {mend}"
        else:
            if found:
                yield (
                    f"the rule set {rules.name} has patterns that do not match what they may seem to: "
                    f"{' '.join(found)} {mend}"
                )
