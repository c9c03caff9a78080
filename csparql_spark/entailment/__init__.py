"""Entailment: rules, and what follows from a window and the background under them.

Rules, before there are any facts:

- `sets`         rule sets by name: those of the house (`sets/*.rules`), and those of users
- `schema`       rules in which a schema is worked out: they are about data only
- `pruning`      of many rules, those that can have a part in what is asked
- `regimes`      what a query may name, and the rules that it means
- `preparing`    from the rules of a regime to those that are run over a stream

Facts under rules, on columns:

- `strategy`     what all ways to maintain a closure have in common; `expiration`, `deletion`, `counting` and
                 `recompute` are four
- `program`, `joins`, `guards`, `fixpoint`, `transitivity`, `explicit`, `incremental`, `rederive`
                 what they are made of

One triple or term at a time:

- `builtins`, `literal_values`, `patterns`
                 what a builtin says of terms, what literals stand for, and texts against patterns
- `lookup`       few triples, and the ways to match a rule in them
- `derivations`  why a fact holds

To be read, and believed:

- `maintenance`  maintenance programs as the papers write them, generated from any rules

What all this is compared with is a twin in plain Python that shares no code with it, `tests/entailment/twin.py`.
"""
