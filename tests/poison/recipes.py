"""What is too big to be written down in a list of poisons, made by name: parts of queries, rule files, and documents to be
pushed or put.

    made("WHERE { ?s ?p ?o }")                  # a text is itself
    made(["doubled", 30])                       # { BIND("0123…" AS ?v0) BIND(CONCAT(?v0, ?v0) AS ?v1) … }
    made(["deep-json", 10_000]).media_type      # application/ld+json

A name stands for a function of a few numbers and texts, and gives the same each time. Most documents are made by
`repeated`: `["repeated", "text/turtle", 1000000, "[ <urn:p> ", " ]", "<urn:s> <urn:p> ", " ."]` are brackets in brackets.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

N_TRIPLES, N_QUADS, TURTLE = "application/n-triples", "application/n-quads", "text/turtle"
JSON_LD, RDF_XML, ARROW = "application/ld+json", "application/rdf+xml", "application/vnd.apache.arrow.stream"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:p="urn:p:">'
OWL, RDFS = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
Recipe = str | list


@dataclass(frozen=True)
class Document:
    media_type: str
    content: bytes
    encoding: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Type": self.media_type, **({"Content-Encoding": self.encoding} if self.encoding else {})}


def made(recipe: Recipe) -> str | Document:
    if isinstance(recipe, str):
        return recipe
    name, *arguments = recipe
    return RECIPES[name](*arguments)


def document(recipe: Recipe) -> Document:
    """Of a text: N-Triples."""
    body = made(recipe)
    return body if isinstance(body, Document) else Document(N_TRIPLES, body.encode())


# Parts of queries.


def doubled(times: int, first: str = "0123456789abcdef", factor: int = 1) -> str:
    binds = "".join(f" BIND(CONCAT(?v{n}, ?v{n}) AS ?v{n + 1})" for n in range(times))
    return f'{{ ?s <urn:p> ?o BIND("{first * factor}" AS ?v0){binds} FILTER(STRLEN(?v{times}) > 0) }}'


def rewritten(times: int, call: str) -> str:
    """A call of each value before: `REPLACE(?v, ".", "$0$0")`."""
    binds = "".join(f" BIND({call.replace('?v', f'?v{n}')} AS ?v{n + 1})" for n in range(times))
    return f'{{ ?s <urn:p> ?o BIND("é/ é/ é/ é/" AS ?v0){binds} FILTER(STRLEN(?v{times}) > 0) }}'


def free(patterns: int) -> str:
    """Patterns that share nothing."""
    return " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(patterns))


def star(patterns: int) -> str:
    return "{ " + " ".join(f"?s <urn:p> ?o{n} ." for n in range(patterns)) + " }"


def sequence(patterns: int) -> str:
    return "{ " + " ".join(f"?n{n} <urn:p> ?n{n + 1} ." for n in range(patterns)) + " }"


def nested(before: str, after: str, times: int, middle: str = "?s <urn:p> ?o", first: str = "", last: str = "") -> str:
    return f"{{ ?s <urn:p> ?o . {first}{before * times}{middle}{after * times}{last} }}"


def values(variables: int, each: int) -> str:
    blocks = (f"VALUES ?v{n} {{ {' '.join(str(value) for value in range(each))} }}" for n in range(variables))
    return "{ ?s <urn:p> ?o " + " ".join(blocks) + " }"


def among(count: int) -> str:
    return "{ ?s <urn:p> ?o FILTER(?o IN (" + ", ".join(map(str, range(count))) + ")) }"


def union(branches: int) -> str:
    return "{ ?s <urn:p> ?o . " + " UNION ".join(f"{{ ?x <urn:p> ?y{n} }}" for n in range(branches)) + " }"


def chain_of_binds(count: int) -> str:
    return "{ ?s <urn:p> ?v0 " + " ".join(f"BIND(?v{n} + 1 AS ?v{n + 1})" for n in range(count)) + " }"


def wordy(size: int) -> str:
    return '{ ?s <urn:p> ?o FILTER(?o != "' + "x" * size + '") }'


def huge_iri(size: int) -> str:
    return "{ ?s <urn:" + "x" * size + "> ?o }"


def windows(count: int) -> str:
    return " ".join(f"FROM NAMED WINDOW <urn:w{n}> ON <streams/numbers> [RANGE {n + 1}s STEP 1s]" for n in range(count))


# Rules.


def chained_rules(count: int) -> str:
    return "\n".join(f"[(?a <urn:p{n}> ?b) -> (?a <urn:p{n + 1}> ?b)]" for n in range(count))


def many_heads(count: int) -> str:
    """Twenty to a rule, which is the most."""
    heads = [f"(?b <urn:q{n}> ?a)" for n in range(count)]
    return "\n".join(f"[(?a <urn:p> ?b) -> {' '.join(heads[n : n + 20])}]" for n in range(0, count, 20))


# What is pushed, and what is put.


def numbers(count: int) -> str:
    return "".join(f'<urn:s{n}> <urn:p> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n' for n in range(count))


def dense(count: int) -> str:
    return "".join(f"<urn:n{a}> <urn:p> <urn:n{b}> .\n" for a in range(count) for b in range(count))


def chain(count: int, predicate: str = "urn:p") -> str:
    return "".join(f"<urn:n{n}> <{predicate}> <urn:n{n + 1}> .\n" for n in range(count))


def hub(count: int) -> str:
    return "".join(f"<urn:n{n}> <urn:p> <urn:hub> .\n" for n in range(count))


def fans(subjects: int, each: int) -> str:
    return "".join(f"<urn:s{s}> <urn:p> <urn:o{o}> .\n" for s in range(subjects) for o in range(each))


def literals(count: int, size: int, letter: str = "a") -> str:
    return "".join(f'<urn:s{n}> <urn:p> "{n}{letter * size}" .\n' for n in range(count))


def same(count: int) -> str:
    return chain(count, f"{OWL}sameAs")


def transitive(count: int) -> str:
    return f"<urn:p> <{RDF}type> <{OWL}TransitiveProperty> .\n" + chain(count)


def classes(count: int) -> str:
    return chain(count, f"{RDFS}subClassOf") + f"<urn:s> <{RDF}type> <urn:n0> .\n"


def stamped(*milliseconds: int) -> Document:
    lines = (f"<urn:s{at}> <urn:p> <urn:o> <urn:t:{at}> .\n" for at in milliseconds)
    return Document(N_QUADS, "".join(lines).encode())


def repeated(
    media_type: str, times: int, opening: str, closing: str = "", before: str = "", after: str = "", middle: str = ""
) -> Document:
    """A part of a document many times over; with `closing`, each in the one before."""
    return Document(media_type, f"{before}{opening * times}{middle}{closing * times}{after}".encode())


def deep_turtle(levels: int) -> Document:
    return repeated(TURTLE, levels, "[ <urn:p> ", " ]", "<urn:s> <urn:p> ", " .", "1")


def deep_lists(levels: int) -> Document:
    return repeated(TURTLE, levels, "( ", " )", "<urn:s> <urn:p> ", " .", "1")


def deep_json(levels: int) -> Document:
    return repeated(JSON_LD, levels, '{"urn:p": ', "}", middle="1")


def deep_xml(levels: int) -> Document:
    opening, closing = "<rdf:Description><p:p>", "</p:p></rdf:Description>"
    return repeated(RDF_XML, levels, opening, closing, XML, "</rdf:RDF>", "<rdf:Description/>")


def contexts(count: int) -> Document:
    """Terms that are defined by terms, each by the one before."""
    terms = ", ".join(f'"t{n + 1}": "t{n}:x"' for n in range(count))
    return Document(JSON_LD, f'{{"@context": {{"t0": "urn:", {terms}}}, "t{count}:a": 1}}'.encode())


def scoped(count: int) -> Document:
    """A context that comes with a type, and many of that type."""
    terms = {f"t{n}": f"urn:{n}" for n in range(count)}
    context = {"A": {"@id": "urn:A", "@context": terms}}
    return Document(JSON_LD, json.dumps({"@context": context, "@graph": [{"@type": "A", "t1": 1}] * count}).encode())


def long_prefix(size: int, times: int) -> Document:
    return repeated(TURTLE, times, "a:b a:c a:d . ", before=f"@prefix a: <urn:{'x' * size}> . ")


def laughs(rounds: int) -> Document:
    """Entities that stand for ten of the one before."""
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(rounds))
    return Document(
        RDF_XML,
        f'<!DOCTYPE rdf:RDF [<!ENTITY e0 "laugh">{entities}]>{XML}'
        f"<rdf:Description><p:p>&e{rounds};</p:p></rdf:Description></rdf:RDF>".encode(),
    )


def entities(count: int) -> Document:
    defined = "".join(f'<!ENTITY e{n} "x">' for n in range(count))
    return Document(RDF_XML, f"<!DOCTYPE rdf:RDF [{defined}]>{XML}</rdf:RDF>".encode())


def attributes(count: int) -> Document:
    given = " ".join(f'p:a{n}="1"' for n in range(count))
    return Document(RDF_XML, f"{XML}<rdf:Description {given}/></rdf:RDF>".encode())


def arrow(rows: int, size: int, shared: bool = True, compression: str | None = None) -> Document:
    """Rows of the same literal, as long as that; `shared`: once in the document, and once for each row in N-Triples."""
    literal = pa.array([f'"{"a" * size}"'])
    row = pa.array([0] * rows, pa.int32())
    objects = pa.DictionaryArray.from_arrays(row, literal) if shared else literal.take(row)
    subjects = pa.array([f"<urn:s{n}>" for n in range(rows)])
    return _arrow({"s": subjects, "p": pa.array(["<urn:p>"] * rows), "o": objects}, compression)


def arrow_dictionaries(rows: int) -> Document:
    """The same triple over and over, in a few bytes for each."""
    term = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["<urn:a>"]))
    return _arrow(dict.fromkeys("spo", term))


def arrow_that_lies(rows: int) -> Document:
    """The length of a buffer says something else."""
    terms = pa.array(["<urn:a>"] * rows)
    honest = _arrow(dict.fromkeys("spo", terms)).content
    size = (rows * len("<urn:a>")).to_bytes(8, "little")
    assert size in honest
    return Document(ARROW, honest.replace(size, (1 << 60).to_bytes(8, "little")))


def _arrow(columns: dict[str, pa.Array], compression: str | None = None) -> Document:
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return Document(ARROW, sink.getvalue().to_pybytes())


def zipped(recipe: Recipe) -> Document:
    inner = document(recipe)
    return Document(inner.media_type, gzip.compress(inner.content, 1), "gzip")


RECIPES: dict[str, Callable[..., str | Document]] = {
    "doubled": doubled,
    "rewritten": rewritten,
    "free": free,
    "star": star,
    "sequence": sequence,
    "nested": nested,
    "values": values,
    "among": among,
    "union": union,
    "binds": chain_of_binds,
    "wordy": wordy,
    "huge-iri": huge_iri,
    "windows": windows,
    "chained-rules": chained_rules,
    "many-heads": many_heads,
    "numbers": numbers,
    "dense": dense,
    "chain": chain,
    "hub": hub,
    "fans": fans,
    "literals": literals,
    "same": same,
    "transitive": transitive,
    "classes": classes,
    "stamped": stamped,
    "repeated": repeated,
    "deep-turtle": deep_turtle,
    "deep-lists": deep_lists,
    "deep-json": deep_json,
    "deep-xml": deep_xml,
    "contexts": contexts,
    "scoped": scoped,
    "long-prefix": long_prefix,
    "laughs": laughs,
    "entities": entities,
    "attributes": attributes,
    "arrow": arrow,
    "arrow-dictionaries": arrow_dictionaries,
    "arrow-that-lies": arrow_that_lies,
    "zipped": zipped,
}
