"""The naive reader of plain lines: one expression for a line, and a dictionary of terms."""

from __future__ import annotations

import re

HOST = r"[A-Za-z0-9._~-]"
PATH = r"(?:[A-Za-z0-9._~:@!$&'()*+,;=/-]|%[0-9A-Fa-f]{2}|[\u00a0-\ud7ff])"
IRI = (
    rf"<[A-Za-z][A-Za-z0-9+.-]*:(?://{HOST}+(?::[0-9]{{1,5}})?(?=[/?#>])|(?![/?#>])){PATH}*"
    rf"(?:\?(?:{PATH}|\?)*)?(?:#(?:{PATH}|\?)*)?>"
)
BLANK = r"_:[A-Za-z0-9_][A-Za-z0-9_-]*"
TEXT = r'"(?:[ !#-\[\]-~\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\\[tbnrf"\\])*"'
OTHERS = r"http://www\.w3\.org/(?:2001/XMLSchema#string|1999/02/22-rdf-syntax-ns#(?:lang|dirLang)String)"
LITERAL = rf"{TEXT}(?:@[a-z]{{2,3}}(?:-[a-z]{{2}})?|\^\^(?!<{OTHERS}>){IRI})?"
LINE = re.compile(rf"({IRI}|{BLANK}) ({IRI}) ({IRI}|{BLANK}|{LITERAL}) (?:({IRI}|{BLANK}) )?\.\n")


def rows(body: bytes, named: bool) -> list[tuple[str, str, str, str | None]] | None:
    """The terms of each line; None where one is in doubt."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    lines = re.findall("[^\n]*\n", text if text.endswith("\n") else f"{text}\n")
    found = [LINE.fullmatch(line) for line in lines]
    if any(match is None or (match[4] is not None and not named) for match in found):
        return None
    return [(match[1], match[2], match[3], match[4]) for match in found if match is not None]
