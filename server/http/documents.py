"""Documents: JSON in the body of a request, read within bounds.

    json_of('{"url": "https://hooks.example.org/"}', "The body", '{"url": "https://…"}')        # a dict

Python's reader recurses over brackets and takes seconds for a number of a million digits: both are refused before it
sees them. Of a name that occurs twice the second value would win silently: that is refused, too.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np

from csparql_spark.server.http.problems import Problem

DEEPEST = 100
LONGEST_NUMBER = 100
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_LONG_NUMBER = re.compile(f"[0-9]{{{LONGEST_NUMBER}}}")


def json_of(text: str, what: str, example: str) -> object:
    """The value of a JSON text. `what` begins a sentence about it, `example` is what could have been sent. Raises
    `Problem`."""
    bare = _STRING.sub("", text)
    marks = np.frombuffer(bare.encode("utf-8", "replace"), np.uint8)
    depth = np.cumsum(np.isin(marks, (ord("["), ord("{"))).astype(np.int64) - np.isin(marks, (ord("]"), ord("}"))))
    if depth.max(initial=0) > DEEPEST:
        raise Problem(
            "bad-body", f"{what} is JSON with more than {DEEPEST} brackets in brackets: send one like {example}."
        )
    if _LONG_NUMBER.search(bare):
        raise Problem("bad-body", f"{what} has a number of more than {LONGEST_NUMBER} digits: send one like {example}.")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # half of a pair of surrogates is no character
        return value
    except json.JSONDecodeError as error:
        raise Problem(
            "bad-body",
            f"{what} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}. It may be like {example}.",
            errors=[{"line": error.lineno, "column": error.colno, "message": error.msg}],
        ) from None
    except UnicodeEncodeError:
        raise Problem(
            "bad-body", f"{what} has half of a surrogate pair, which is no character: send one like {example}."
        ) from None
    except ValueError as error:
        raise Problem("bad-body", f"{what} is not JSON that can be read: {error}. It may be like {example}.") from None


def _once(members: list[tuple[str, object]]) -> dict[str, object]:  # JSON: any object
    document = dict(members)
    if len(document) < len(members):
        counts = Counter(name for name, _ in members)
        raise ValueError(f"the name {next(name for name in counts if counts[name] > 1)[:100]!r} occurs twice")
    return document


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")
