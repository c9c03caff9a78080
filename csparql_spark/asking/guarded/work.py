"""Work: what is done in children. Each function takes what pickles, and gives bytes.

json.loads(compiled_form(text, base))            # what a text says, as it goes into the log
answered(question, limits, media_type)           # the body of a response
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from csparql_spark.answers import formats
from csparql_spark.answers.limits import Limits
from csparql_spark.asking.missing import looked
from csparql_spark.asking.one_shot import Question, Watched, ask
from csparql_spark.language.queries.compiled import compiled
from csparql_spark.language.queries.query_cache import read
from csparql_spark.rdf.chunk import Chunk


def compiled_form(text: str, base: str | None) -> bytes:
    """The compiled form of a query, as JSON. Raises `LanguageError`."""
    return json.dumps(compiled(read(text, base))).encode()


def answered(question: Question, limits: Limits, media_type: str) -> bytes:
    """The answer to a question, in a format. Raises what `ask` raises, and `Unwritable`."""
    return formats.write(ask(question, limits), media_type)


def missed(watched: Watched, rules: Mapping[str, str]) -> bytes:
    """What is missing from an answer, as JSON: the members of `Missing`, in their order. Raises `Refusal`."""
    return json.dumps(looked(watched, rules)).encode()


def warm_up() -> None:
    """Load what is loaded when it is first used."""
    chunk = Chunk.from_triples([("<urn:a>", "<urn:b>", "<urn:c>")])
    for text in ("SELECT (STR(?s) AS ?t) { ?s ?p ?o }", "CONSTRUCT WHERE { ?s ?p ?o }"):
        question = Question(text, {"urn:g": chunk}, entailment=("rdfs",))
        answer = ask(question, Limits())
        for media_type in formats.OFFERED[answer.kind]:
            formats.write(answer, media_type)
