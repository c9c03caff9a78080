"""Terms in N-Triples syntax, as SPARQL's results spell them in JSON and in CSV: quickly where they are plain.

    json(pa.array(['<urn:a>', '"1"@en', '"\\\\u0041"']))
    # ['{"type":"uri","value":"urn:a"}', '{"type":"literal","value":"1","xml:lang":"en"}', ''], and the places [2]
    csv(pa.array(['"a, b"', "_:b"]))            # ['"a, b"' with its quotes, '_:b'], and no places

What comes back are the spellings, and the places of the terms that have an empty one since there is a doubt: they have
to be spelled by somebody who knows all that a term may be. That is the twin's answer to every term. What is spelled
here is canonical: no escapes but the short ones, no bare control characters, no base direction, labels in ASCII.
"""

from __future__ import annotations

from csparql_spark.kernel import native

if native.library is not None:
    from csparql_spark.kernel.compiled.spellings import csv, json
else:
    from csparql_spark.kernel.twin.spellings import csv, json

__all__ = ["csv", "json"]
