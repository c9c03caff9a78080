"""Failures: what work in a child may fail with, as JSON, so that whoever asked can tell the user.

    read(written(TooMuch("it takes too long")))       # the same

An error that nobody expects comes back as `UnexpectedFailure`, with the child's trace for the log of the server.
"""

from __future__ import annotations

import dataclasses
import json
import traceback

from csparql_spark.answers.formats import Unwritable
from csparql_spark.answers.limits import Overloaded, TooManyRows, TooMuch
from csparql_spark.asking.admission import Refusal
from csparql_spark.entailment.evaluate.bounds import TooMuchDerived
from csparql_spark.language import LanguageError
from csparql_spark.language.errors import Fix
from csparql_spark.rdf.errors import NamesGraphs, RdfError

_PLAIN = {kind.__name__: kind for kind in (Overloaded, TooManyRows, TooMuch, Unwritable)}
_OF_RDF = {kind.__name__: kind for kind in (RdfError, NamesGraphs)}
_OF_LANGUAGE = ("line", "column", "end_column", "offending", "expected", "hint")


class UnexpectedFailure(Exception):
    """A fault of ours, in a child; the text is its trace."""


def written(error: BaseException) -> bytes:
    return json.dumps(_document(error)).encode()


def _document(error: BaseException) -> dict[str, object]:
    if isinstance(error, LanguageError):
        fix = None if error.fix is None else dataclasses.asdict(error.fix)
        members = {name: getattr(error, name) for name in _OF_LANGUAGE}
        return {"kind": "LanguageError", "code": error.code, "text": error.message, "members": members, "fix": fix}
    if isinstance(error, RdfError):
        return {
            "kind": type(error).__name__,
            "text": error.message,
            "place": [error.line, error.column, error.offending],
        }
    if isinstance(error, Refusal):
        return {"kind": "Refusal", "code": error.code, "text": str(error)}
    if isinstance(error, RecursionError):
        return {"kind": "TooMuch", "text": "it is nested too deeply: write it with fewer parts in each other"}
    if isinstance(error, TooMuchDerived):
        return {"kind": "TooMuch", "text": str(error)}
    if type(error).__name__ in _PLAIN:
        return {"kind": type(error).__name__, "text": str(error)}
    return {"kind": "UnexpectedFailure", "text": "".join(traceback.format_exception(error))}


def read(document: bytes | bytearray) -> Exception:
    told = json.loads(document)
    kind, text = told["kind"], told["text"]
    if kind == "LanguageError":
        fix = told["fix"]
        return LanguageError(told["code"], text, **told["members"], fix=None if fix is None else Fix(**fix))
    if kind in _OF_RDF:
        return _OF_RDF[kind](text, *told["place"])
    if kind == "Refusal":
        return Refusal(told["code"], text)
    return _PLAIN.get(kind, UnexpectedFailure)(text)
