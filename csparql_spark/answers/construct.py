"""Graphs as answers: what a template makes of rows, and what is said of the things that rows name.

A template's triple is left out of a row where one of its variables is unbound, or where it would have a literal as its
subject, or something other than an IRI as its predicate. A blank node of the template is a new one for each row. Its
label says what the row says, and how many rows before it say the same: a row has the same labels in every answer,
wherever it stands there, so one that was there before is not taken for a new one (ISTREAM) or for one that has ceased.

    ?s ?o           _:b in the template
    a  1            r0x7152…            of "a 1, the first"
    a  1            r0x0937…            of "a 1, the second"
    b  2            r0x4400…

A description holds the triples with the thing as subject, and, for each blank node among the objects, its description.

    instantiated(plan, table)                    # ['<urn:a> <urn:p> "1" .\\n', …], sorted, without repetitions
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.answers.bindings import Bindings
from csparql_spark.answers.over_ids import Plan
from csparql_spark.rdf.dictionary import TermDictionary
from csparql_spark.relations.rows import Triples


def instantiated(plan: Plan, table: Bindings) -> list[str]:
    """The triples that the template makes, as sorted lines of N-Triples."""
    columns = dict(zip(table.variables, table.columns, strict=True))
    labels = {
        node: f"_:r{place}x"
        for place, node in enumerate(
            dict.fromkeys(node for triple in plan.template for node in triple if node.startswith("_:"))
        )
    }
    numbers = _numbers(table) if labels else None

    def filled(node: str) -> pa.Array:
        if node[0] == "?":
            return columns[node[1:]]
        if node in labels:
            return pc.binary_join_element_wise(labels[node], numbers, "")
        return pa.array([node] * table.length, pa.string())

    lines: set[str] = set()
    for triple in plan.template:
        s, p, o = map(filled, triple)
        fits = pc.and_(pc.invert(pc.starts_with(s, '"')), pc.starts_with(p, "<"))
        made = pc.binary_join_element_wise(s, p, o, " ").filter(pc.fill_null(fits, False)).drop_null()
        lines.update(pc.binary_join_element_wise(made, " .\n", "").to_pylist())
    return sorted(lines)


def _numbers(table: Bindings) -> pa.Array:
    """A number of some forty digits for each row: of what it says, and of how many have said so before it."""
    terms, columns = table.encoded()
    of_terms = np.frombuffer(
        b"".join(blake2b(term.encode(), digest_size=16).digest() for term in terms.to_pylist()) + bytes(16), dtype="<u8"
    ).reshape(-1, 2)  # the last is of what is unbound
    lanes = np.zeros((table.length, 2), dtype=np.uint64)
    for column in columns:
        lanes = _mixed(lanes, of_terms[column])
    order = np.lexsort(lanes.T)
    new = np.ones(table.length, dtype=bool)
    new[1:] = (lanes[order][1:] != lanes[order][:-1]).any(axis=1)
    starts = np.flatnonzero(new)
    before = np.empty(table.length, dtype=np.uint64)
    before[order] = np.arange(table.length) - np.repeat(starts, np.diff(np.append(starts, table.length)))
    lanes = _mixed(lanes, np.stack([before, before], axis=1))
    first, second = (pa.array(lane).cast(pa.string()) for lane in lanes.T)
    return pc.binary_join_element_wise(first, pc.utf8_lpad(second, 20, "0"), "")


def _mixed(lanes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Numbers that hang on every bit of both, and on which comes first (the mixing of SplitMix64)."""
    mixed = lanes * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x632BE59BD9B4E019) + others
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def described(plan: Plan, rows: np.ndarray, graph: Triples, dictionary: TermDictionary) -> list[str]:
    """The descriptions of what the rows and the plan name, as sorted lines of N-Triples."""
    constants = [dictionary.find(node) for node in plan.described if node[0] != "?"]
    wanted = np.array(sorted({*rows[rows >= 0].tolist(), *(id for id in constants if id is not None)}), dtype=np.int64)
    terms = dictionary.decode(np.arange(len(dictionary)))
    blank = np.fromiter((term.startswith("_:") for term in terms), dtype=bool, count=len(terms))
    reached = np.zeros(len(dictionary), dtype=bool)
    chosen = np.zeros(len(graph), dtype=bool)
    wanted = wanted[wanted < len(dictionary)]
    while len(wanted):
        reached[wanted] = True
        chosen |= reached[graph.s]
        objects = graph.o[chosen]
        wanted = objects[blank[objects] & ~reached[objects]]
    return sorted(
        f"{terms[s]} {terms[p]} {terms[o]} .\n"
        for s, p, o in zip(graph.s[chosen].tolist(), graph.p[chosen].tolist(), graph.o[chosen].tolist())
    )
