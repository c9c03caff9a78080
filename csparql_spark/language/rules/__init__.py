"""Rules: from a rule file in Jena's syntax to a `RuleFile`.

- `rule`      rules as objects
- `tokens`    a rule file as words
- `reading`   its shape: directives and rules, of which nothing is known yet but their parts
- `terms`     from words to variables and terms
- `builtins`  what may be called in a body, and what is refused, with the reason
- `patterns`, `classes`   the patterns of `regex`, written for RE2
- `checks`    whether a rule makes sense
- `traps`     what people get wrong in the shape of a rule
- `bounds`    how large a rule file may be
- `parser`    all of this, in order
- `printing`  a rule file as a text
"""
