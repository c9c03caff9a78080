"""Evaluation: what follows from facts under rules.

On columns:

- `program`       rules whose terms have become ids
- `tables`        many rules that differ in their constants only, evaluated as one
- `guards`        builtins over columns: each distinct combination of arguments once
- `patterns`      the builtin `regex`, by RE2
- `absorption`, `transitivity`   rules that need not see what they have derived themselves; each path taken once
- `bounds`        how much may be derived at once
- `fixpoint`      all that follows, step by step

One triple or term at a time:

- `builtins`, `literal_values`   what a builtin says of terms, and what literals stand for
- `lookup`        few triples, and the ways to match a rule in them
- `derivations`   why a fact holds
"""
