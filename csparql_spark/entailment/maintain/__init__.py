"""Maintenance: ways to keep the explicit facts and all that follows from them, while both change.

- `strategy`     what all ways have in common
- `expiration`   what no longer holds is known by its tag; this is the one that the engine uses
- `deletion`, `counting`, `recompute`   three others, for comparison
- `explicit`, `held`, `incremental`, `rederive`   what they are made of
- `maintenance`  maintenance programs as the papers write them, generated from any rules, to be read
"""
