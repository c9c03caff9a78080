"""Graphs as answers: what a template makes of rows, and what is said of the things that rows name.

A template's triple is left out of a row where one of its variables is unbound, or where it would have a literal as its
subject, or something other than an IRI as its predicate. A blank node of the template is a new one for each row; rows are in
the order of their terms, and its label is the row's number, so the same answer has the same labels.

A description holds the triples with the thing as subject, and, for each blank node among the objects, its description.

    instantiated(plan, table)                    # ['<urn:a> <urn:p> "1" .\\n', …], sorted, without repetitions
"""

from __future__ import annotations

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
    numbers = pa.array(range(table.length)).cast(pa.string())
    labels = {node: f"_:r{place}x" for place, node in enumerate(dict.fromkeys(
        node for triple in plan.template for node in triple if node.startswith("_:")))}

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


def described(plan: Plan, rows: np.ndarray, graph: Triples, dictionary: TermDictionary) -> list[str]:
    """The descriptions of what the rows and the plan name, as sorted lines of N-Triples."""
    constants = [dictionary.find(node) for node in plan.described if node[0] != "?"]
    wanted = np.array(sorted({*rows[rows >= 0].tolist(), *(id for id in constants if id is not None)}), dtype=np.int64)
    terms = dictionary.decode(np.arange(len(dictionary)))
    blank = np.fromiter((term.startswith("_:") for term in terms), dtype=bool, count=len(terms))
    seen = np.zeros(len(dictionary), dtype=bool)
    chosen = np.zeros(len(graph), dtype=bool)
    wanted = wanted[wanted < len(dictionary)]
    while len(wanted):
        seen[wanted] = True
        chosen |= seen[graph.s]
        objects = graph.o[chosen]
        wanted = objects[blank[objects] & ~seen[objects]]
    return sorted(f"{terms[s]} {terms[p]} {terms[o]} .\n" for s, p, o in zip(
        graph.s[chosen].tolist(), graph.p[chosen].tolist(), graph.o[chosen].tolist()))
