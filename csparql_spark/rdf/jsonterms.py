"""Terms as JSON writes them: strings in N-Triples syntax, or objects as in SPARQL JSON results.

    of_json("<urn:a>", False)                                       # '<urn:a>'
    of_json({"type": "literal", "value": "ciao", "xml:lang": "it"}, True)   # '"ciao"@it'
    of_json(JsonNumber("21.5"), True)                               # '"21.5"^^<…XMLSchema#double>'
    as_terms(pa.array([{"type": "uri", "value": "urn:a"}]))         # ['<urn:a>'], a column at a time

Terms are composed here and not looked at: whoever makes a chunk of them does that. `of_json` and `as_terms` say the
same.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.rdf.terms import XSD

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_OBJECT = pa.struct(
    [("type", pa.string()), ("value", pa.string()), ("datatype", pa.string()), ("xml:lang", pa.string())]
)
# The column that holds values of such a Python type.
SHAPES: dict[type, pa.DataType] = {str: pa.string(), dict: _OBJECT}
_MEMBERS = {field.name for field in _OBJECT}
_LITERALS = ("literal", "typed-literal")
_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))
HINT = (
    'write a string in N-Triples syntax ("<urn:a>", "_:b", "\\"text\\"@en") or an object as '
    '{"type": "uri", "value": "urn:a"}'
)


class JsonNumber(str):
    """A JSON number as it was spelled."""


def of_json(value: Json, is_object: bool) -> str:
    """The term that a JSON value means. Raises `ValueError` with a sentence."""
    if isinstance(value, JsonNumber):
        if is_object:
            integer = value.lstrip("-").isdigit()
            return f'"{value}"^^<{XSD}{"integer" if integer else "double"}>'
    elif isinstance(value, bool):
        if is_object:
            return f'"{str(value).lower()}"^^<{XSD}boolean>'
    elif isinstance(value, str):
        return _encodable(value)
    elif isinstance(value, dict):
        return _encodable(_of_object(value))
    raise ValueError(f"This is no term here: {HINT}")


def as_terms(column: pa.Array) -> pa.Array | None:
    """The terms that a column of strings, or of objects, means; None if one of them is none."""
    if pa.types.is_string(column.type):
        return column
    kind, value, datatype, language = (pc.struct_field(column, field.name) for field in _OBJECT)
    literal = pc.is_in(kind, pa.array(_LITERALS))
    iri, blank = pc.equal(kind, "uri"), pc.equal(kind, "bnode")
    typed, tagged = pc.is_valid(datatype), pc.is_valid(language)
    known = pc.and_(pc.or_(literal, pc.or_(iri, blank)), pc.is_valid(value))
    suffixed = pc.or_(typed, tagged)
    fine = pc.and_(known, pc.invert(pc.and_(suffixed, pc.invert(literal))))
    fine = pc.and_(fine, pc.invert(pc.and_(typed, tagged)))
    if not pc.all(pc.fill_null(fine, False), min_count=0).as_py():
        return None
    escaped = value
    for character, written in _ESCAPES:
        escaped = pc.replace_substring(escaped, character, written)
    suffix = pc.if_else(tagged, _joined("@", language, ""), pc.if_else(typed, _joined("^^<", datatype, ">"), ""))
    quoted = pc.binary_join_element_wise('"', escaped, '"', suffix, "")
    return pc.if_else(iri, _joined("<", value, ">"), pc.if_else(blank, _joined("_:", value, ""), quoted))


def _of_object(value: dict[str, Json]) -> str:
    members = {name: member for name, member in value.items() if type(member) is str}  # a JsonNumber is none
    kind, text = members.get("type"), members.get("value")
    datatype, language = members.get("datatype"), members.get("xml:lang")
    strings = all(name in members for name, member in value.items() if member is not None)
    if not strings or not value.keys() <= _MEMBERS or text is None or kind not in ("uri", "bnode", *_LITERALS):
        raise ValueError(f"This object is no term: {HINT}; a literal may have a datatype or an xml:lang")
    if kind in _LITERALS:
        if datatype is not None and language is not None:
            raise ValueError("A literal has a datatype or an xml:lang, and not both")
        for character, written in _ESCAPES:
            text = text.replace(character, written)
        return f'"{text}"' + (
            f"@{language}" if language is not None else f"^^<{datatype}>" if datatype is not None else ""
        )
    if datatype is not None or language is not None:
        raise ValueError("Only a literal has a datatype or an xml:lang")
    return f"<{text}>" if kind == "uri" else f"_:{text}"


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("The text has half of a surrogate pair, which is no character") from error
    return text


def _joined(before: str, column: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(before, pc.fill_null(column, ""), after, "")
