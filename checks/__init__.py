"""Checks of the house that are no tests of what it does.

- `types`  mypy over the product, held to a baseline for each room that may only fall
"""
