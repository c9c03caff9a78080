"""The log in SQLite: one table of the data directory's database.

- `reader`        reading entries, and finding what of them is damaged
- `writer`        group commit: the only way into the log
- `decisions`     whether a guard holds
- `repeats`       pushes that were named by who sent them, so that none counts twice
- `relays`        how far the answers of each query are in the log
- `forgotten`     up to where chunks of each stream are gone
- `incarnations`  which past the log has, since copies of it can be put back
"""
