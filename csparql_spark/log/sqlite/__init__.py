"""The log in SQLite: one table of the data directory's database.

- `reader`        entries, and reading them
- `writer`        group commit: the only way into the log
- `relays`        how far the answers of queries are in the log
- `repeats`       pushes that were named by who sent them, so that none counts twice
- `incarnations`  which past the log has, since copies of it can be put back
"""
