"""Random RDF, made to be nasty where N-Quads is taken apart: literals that look like the rest of their line."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import strategies as st

FRAGMENTS = [
    " ",
    "  ",
    '"',
    '\\"',
    "\\",
    "<urn:x>",
    " <urn:x>",
    "<urn:x> .",
    " .\n",
    "\n",
    "\r\n",
    "\t",
    "_:b",
    " _:b",
    " _:b .",
    "@en",
    "^^<urn:d>",
    "é",
    "日本",
    "\U0001f600",
    "\u0085",
    "\u2028",
    "\x0b",
    "\x7f",
    "\ufffe",
    "\x00",
    "a",
    "0",
    ".",
    "<<(",
    "#",
    "'",
]
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=5).map("".join)
# XML 1.0 has no way to write these.
xml_texts = texts.map(lambda text: text.translate({0: None, 0x0B: None, 0xFFFE: None}))
iris = st.sampled_from(
    ["urn:a", "urn:b", "http://example.org/c#d", "http://é.example/ü?x=1&y='2'", "urn:a.", "urn:tt:1"]
)
nodes = st.builds(ox.NamedNode, iris)
blanks = st.builds(ox.BlankNode, st.sampled_from(["a", "b0", "c.d-e", "é"]))
datatypes = st.builds(
    ox.NamedNode,
    st.sampled_from(["urn:d", "http://www.w3.org/2001/XMLSchema#integer", "http://www.w3.org/2001/XMLSchema#string"]),
)
languages = st.sampled_from(["en", "de-at", "x-a1"])
predicates = st.builds(ox.NamedNode, st.sampled_from(["urn:p:p", "http://example.org/q#q", "urn:p:é"]))


def literals(text: st.SearchStrategy[str] = texts) -> st.SearchStrategy[ox.Literal]:
    return st.one_of(
        st.builds(ox.Literal, text),
        st.builds(lambda value, datatype: ox.Literal(value, datatype=datatype), text, datatypes),
        st.builds(lambda value, language: ox.Literal(value, language=language), text, languages),
    )


def quads(text: st.SearchStrategy[str] = texts, graphs: bool = True) -> st.SearchStrategy[list[ox.Quad]]:
    names = st.one_of(st.just(ox.DefaultGraph()), nodes, blanks) if graphs else st.just(ox.DefaultGraph())
    subjects = st.one_of(nodes, blanks)
    return st.lists(st.builds(ox.Quad, subjects, predicates, st.one_of(subjects, literals(text)), names), max_size=12)


terms = st.one_of(nodes, blanks, literals())
