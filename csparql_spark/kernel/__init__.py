"""The loops that everything else stands on: over columns of numbers, and of bytes, compiled where that is possible.

Each function is there twice under one name: in C (`c`, called by `compiled`), and in Python and numpy (`twin`), which
shares no code with it, does the same to the last bit, and runs where the compiled one is not there. Nobody above asks
which. (Of `lines` the twin reads nothing at all, which the function may do with any body; of `spellings` it leaves all
terms to others.)

- `limits`     as many rows as there may be, how often they may come, bits of a key, what becomes of two tags
- `build`      compiles it, where a tree or a wheel is built
- `native`     the library that was compiled: whether it is there, and why not
- `merge`      two sorted maps from keys to tags become one
- `probe`      single keys, looked up in a map of several sorted runs
- `join`       rows, joined with those of a map that they find
- `sort`       sorting keys, and what goes with them
- `group`      values reduced group by group; exact sums that values can be taken back from
- `rows`       rows of several columns, told apart and counted
- `lines`      lines of N-Triples and N-Quads become columns of ids
- `terms`      terms have ids, and ids terms
- `spellings`  terms as JSON and CSV spell them
- `table`      the body of a table, as it is stored
- `row_text`   the rows of a table, as text
- `texts`      texts as bytes and offsets, as functions about text give them back, and what is around cells
- `compiled`, `twin`   both of them, module by module

    keys, tags = merge(keys, tags, more_keys, more_tags, now)

Invariants: columns are contiguous int64, flags bool, ids of lines int32; what a function returns is the caller's, who
may write into it; what is compiled keeps nothing from one call to the next: tables of terms, of sums and of rows are
columns, too.
"""
