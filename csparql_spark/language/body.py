"""The body of a query as standard SPARQL 1.1, and its algebra.

The grammar has already read the text; here the two SPARQL engines of the house read the body that was made from it.
rdflib gives the algebra, pyoxigraph must be able to evaluate. What one of them refuses is refused as the text's error.

    algebra_of("SELECT ?s { ?s ?p ?o }").algebra.name          ->  'SelectQuery'

rdflib's parser recurses: once per bracket and once per triple pattern. It runs with room for `DEEPEST` frames, one
text at a time, and what needs more is refused.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import rdflib
from pyoxigraph import Store
from pyparsing import ParseException
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import Query as QueryRule
from rdflib.plugins.sparql.sparql import Query as Algebra

DEEPEST = 12_000

_LONGEST_REASON = 160

# A term is what the text says: "01" is not "1". rdflib decides this for the whole process.
rdflib.NORMALIZE_LITERALS = False

_LOCK = threading.Lock()
_NOTHING = Store()


class BodyProblem(Exception):
    """What an engine says against a body: a code, a message, and an offset in the body if it gave one."""

    def __init__(self, code: str, message: str, offset: int | None = None) -> None:
        super().__init__(code, message, offset)
        self.code = code
        self.message = message
        self.offset = offset


@contextmanager
def _room() -> Iterator[None]:
    with _LOCK:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEEPEST))
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


def algebra_of(body: str) -> Algebra:
    """The algebra of a body; raises `BodyProblem`."""
    with _room():
        try:
            # Not parseQuery: it expands \\u sequences, also where a string has an escaped backslash before a "u".
            return translateQuery(QueryRule.parse_string(body, parse_all=True))
        except ParseException as reason:
            raise BodyProblem("not-sparql", "The SPARQL parser cannot read this.", reason.loc) from reason
        except RecursionError as reason:
            raise BodyProblem("too-large", "The query has too many triple patterns or brackets in a row.") from reason
        except Exception as reason:  # rdflib's algebra raises bare Exceptions
            raise BodyProblem("not-sparql", f"The SPARQL parser refuses this: {reason}") from reason


def check_evaluable(body: str) -> None:
    """Whether pyoxigraph reads a body; raises `BodyProblem`. The body must not be able to evaluate to anything."""
    try:
        _NOTHING.query(body)
    except SyntaxError as reason:
        said = str(reason).splitlines()[0][:_LONGEST_REASON]
        raise BodyProblem("not-sparql", f"The SPARQL engine refuses this query ({said}).") from reason
