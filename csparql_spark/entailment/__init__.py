"""Entailment: rules, and what follows from a window and the background under them.

- `rules`     rules before there are any facts: sets, regimes, what a schema makes of them, which can matter
- `evaluate`  what follows from facts under rules: by columns, and for single facts and terms
- `maintain`  closures that are kept while facts come, go and expire

What all this is compared with is a twin in plain Python that shares no code with it, `tests/entailment/twin.py`.
"""
