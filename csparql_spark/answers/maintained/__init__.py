"""Maintained rows: what a body says, told as what has come and what has gone since it was asked last.

- `row_changes`                   what an operator tells of its rows, as bags
- `scans`                         matches, as their tables note what becomes of them
- `row_calendar`                  when they end
- `row_by_row`                    operators of which each row is made of one
- `numbered_rows`                 rows that come and go, by numbers, and columns by these
- `keyed_bag`                     such rows, found by their keys
- `distinct_rows`                 DISTINCT
- `groups`                        GROUP BY
- `group_values`                  what an expression says in each group
- `group_sums`, `group_extremes`  its sums, and its least and greatest values
- `two_sides`                     joins, OPTIONAL, MINUS, EXISTS
- `join_side`                     and the rows of each of their sides
- `comparison`                    an operator whose whole is compared with its last whole
- `body`                          the operators of one body, and when they begin anew
"""
