"""RDF: what is pushed, written and told, between bytes and columns of ids.

- `terms`       terms are strings in N-Triples syntax
- `dictionary`  terms become integers once, and the integers terms again; who holds these ids
- `chunk`       the triples of one push, as columns
- `stamps`      the instants that a push gives to its own triples
- `formats`     the syntaxes of RDF
- `quads`       canonical N-Quads lines, taken apart by columns
- `pushes`      everything that a push may be written in: these syntaxes, and two besides
- `ndjson`      one JSON object a line
- `arrow`       triples that are columns already
- `columns`     columns of strings, made a chunk
- `jsonterms`   terms as JSON writes them
- `unmapped`    what JSON-LD leaves out because no context says what it means
- `bounds`      what a small body could make a parser do, refused
- `hazards`     which bodies are read where they came in, and which by a child that may be killed
- `errors`      what can be wrong, as sentences
"""
