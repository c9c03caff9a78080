"""Maintenance: ways to keep the explicit facts and all that follows from them, while both change.

- `strategy`     what all ways have in common
- `strategies`   the table of them: what each can do, and which is chosen
- `expiration`, `deletion`, `counting`, `recompute`   the four
- `explicit`, `closed_facts`, `seminaive`, `rederive`   what they are made of
- `maintenance`  maintenance programs as the papers write them, generated from any rules, to be read
"""
