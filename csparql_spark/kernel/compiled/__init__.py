"""The kernel's functions in C, called with columns for their results to be written into.

- `columns`    what is done with columns that had room for more rows than there are
- `merge`, `probe`, `join`, `sort`, `group`, `rows`, `lines`, `terms`, `spellings`, `table`, `row_text`    each as its
  namesake in the room says
"""
