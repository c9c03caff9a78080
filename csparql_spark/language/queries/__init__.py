"""Queries: from a C-SPARQL or RSP-QL text to a `ContinuousQuery`.

- `grammar`        C-SPARQL, RSP-QL and SPARQL 1.1 as one table
- `syntax`         a text as a tree, the grammar walked over its tokens
- `scene`, `expectations`   a syntax error: where, what was found, what could have stood there
- `traps`, `clause_traps`, `pattern_traps`   what people get wrong, and the sentence that helps
- `prologue`       BASE and PREFIX
- `clauses`        what is not SPARQL: REGISTER, COMPUTE EVERY, FROM, windows, entailment
- `graphs`         what the dataset clauses declare, and what GRAPH and WINDOW may name
- `scope`          which variables are visible where
- `bounds`         how large a query may be
- `rewriting`      from tokens to another text
- `aggregate`, `timestamps`, `standard`   the house's clauses written as SPARQL 1.1 that means the same to every engine
- `body`           whether the evaluator reads it
- `query`          what a text asks for: the one object that leaves the room
- `parser`         all of this, in order
- `compiled`       the query as JSON that travels in the log beside its text
- `query_cache`    the queries of texts, each parsed once
- `printing`, `describe`, `mentions`   a query as a text, in words, and where it names its streams
"""
