"""The kernel's functions in numpy: what the compiled ones are compared with, and what runs where there are none.

- `merge`, `probe`, `join`, `sort`, `group`, `rows`, `lines`, `terms`, `spellings`, `table`, `row_text`    each as its
  namesake in the room says
"""
