"""Rules, before there are any facts.

- `sets`                rule sets by name: those of the house (`sets/*.rules`), and those of users
- `regimes`             what a query may name, and the rules that it means
- `meetings`            which atoms of rules one triple may match, without comparing each with each
- `safety`              which rules have a meaning, and which depend on themselves
- `schema`              rules in which a schema is worked out: they are about data only
- `pruning`             of many rules, those that can have a part in what is asked
- `closed_backgrounds`  what a process remembers of the backgrounds that were closed
- `preparing`           from the rules of a regime to those that are run over a stream
"""
