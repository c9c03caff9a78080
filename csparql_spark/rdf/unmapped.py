"""Members of JSON-LD that nothing maps to an IRI: a parser leaves them out, with all that is in them, and says nothing.

    unmapped_in(b'{"@id": "urn:a", "celsius": 21.5, "urn:p": {"x": 1}}')         # 2: celsius, and x
    unmapped_in(b'{"@context": {"@vocab": "urn:"}, "celsius": 21.5}')            # 0: there is a context
    unmapped_of({"@id": "urn:a", "celsius": 21.5})                                # 1: of one that is read
    told(2)                                                                       # 2 of the keys …
    mended(b'{"celsius": 21.5}')          # '{"@context": {"@vocab": "http://example.org/"}, "celsius": 21.5}'

That is told of documents that have no @context at all: who writes one decides what it leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

_CONTEXT = b'"@context"'
CONTEXT = '"@context": {"@vocab": "http://example.org/"}'
LONGEST_SHOWN = 300  # bytes of a document that is shown
_WITH_NODES = ("@graph", "@included", "@list", "@set", "@reverse")


def told(keys: int) -> str:
    """What to say of a body in which so many keys were left out."""
    return (
        f"{keys} of the keys could not be read as IRIs, and what they say was left out: where they stand there is no "
        f"@context, which says what JSON's names mean. Write one into it, as {CONTEXT}, or use IRIs as keys."
    )


def mended(document: bytes) -> str | None:
    """The document with a context, to be copied; None if it is not one object, or long."""
    text = document.strip()
    if not text.startswith(b"{") or len(text) > LONGEST_SHOWN or b"\n" in text:
        return None
    rest = text[1:].lstrip().decode("utf-8", "replace")
    return None if rest == "}" else f"{{{CONTEXT}, {rest}"


def unmapped_in(document: bytes) -> int:
    """How many members of a document without a @context are left out, but for those within them."""
    if _CONTEXT in document:
        return 0
    try:
        return unmapped_of(json.loads(document))
    except (ValueError, RecursionError):  # who reads it says what is wrong, or reads on where Python does not
        return 0


def unmapped_of(document: object) -> int:
    """The same of a document that has been read as JSON."""
    found = 0
    for name in _names(document):
        if name == "@context":
            return 0
        found += name[:1] != "@" and ":" not in name
    return found


def _names(document: object) -> Iterator[str]:
    """The members that a parser comes to, and that say something: null says nothing, with a context or without."""
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            yield from (name for name, inner in value.items() if inner is not None or name == "@context")
            left += [inner for name, inner in value.items() if ":" in name or name in _WITH_NODES]
