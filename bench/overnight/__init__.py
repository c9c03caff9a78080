"""Overnight: a whole server with Spark for an hour in which all turns over that can, and whether it stays as it was.

For example:

    python -m bench.overnight --minutes 60 --out soak.jsonl
"""
