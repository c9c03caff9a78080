"""Forms: the fields of a body of the type application/x-www-form-urlencoded, read within bounds.

    fields_of(b"action=put&iri=urn%3Ag")            # MultiDict: {"action": "put", "iri": "urn:g"}

A form may be as large as a push, and be percent-encoded from end to end: it is decoded by columns, not piece by piece.
"""

from __future__ import annotations

import numpy as np
from werkzeug.datastructures import MultiDict

from csparql_spark.server.http.problems import Problem

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 100
PIECE = 1 << 20  # bytes that are decoded at once
_NO_DIGIT = 16
_DIGITS = np.full(256, _NO_DIGIT, np.uint8)
for _value, _digit in enumerate("0123456789abcdef"):
    _DIGITS[[ord(_digit), ord(_digit.upper())]] = _value


def fields_of(form: bytes) -> MultiDict[str, str]:
    """Raises `Problem`."""
    if form.count(b"&") >= MOST_FIELDS:
        raise Problem("bad-body", f"The body is not a form: it has more than {MOST_FIELDS} fields.")
    fields: list[tuple[str, str]] = []
    for field in filter(None, form.split(b"&")):
        name, _, value = field.partition(b"=")
        known = _text(name, f"the name of field {len(fields) + 1}")
        fields.append((known, _text(value, f"the value of {known[:40]!r}")))
    return MultiDict(fields)


def _text(encoded: bytes, what: str) -> str:
    try:
        return decoded(encoded.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1} of {what} is not UTF-8 ({error.reason})"
        raise Problem("bad-body", f"The body is not a form: {place}.") from None


def decoded(encoded: bytes) -> bytes:
    """Percent-encoded bytes as they are meant; a sign that no two hexadecimal digits follow stands for itself."""
    if b"%" not in encoded:
        return encoded
    parts, begin = [], 0
    while begin < len(encoded):
        end = begin + PIECE
        if end < len(encoded) and (sign := encoded.find(b"%", end - 2, end)) >= 0:
            end = sign  # with what follows it
        parts.append(_decoded(encoded[begin:end]))
        begin = end
    return b"".join(parts)


def _decoded(encoded: bytes) -> bytes:
    there = np.frombuffer(encoded, np.uint8)
    signs = np.flatnonzero(there[:-2] == ord("%"))
    high, low = _DIGITS[there[signs + 1]], _DIGITS[there[signs + 2]]
    meant = (high != _NO_DIGIT) & (low != _NO_DIGIT)
    signs = signs[meant]
    found, kept = there.copy(), np.ones(len(there), bool)
    found[signs] = high[meant] * 16 + low[meant]
    kept[signs + 1] = kept[signs + 2] = False
    return found[kept].tobytes()
