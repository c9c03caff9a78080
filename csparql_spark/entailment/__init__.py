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

To be read, and believed:

- `naive`        the closure in plain Python, and why a fact holds: what everything else is compared with
- `maintenance`  maintenance programs as the papers write them, generated from any rules
"""
