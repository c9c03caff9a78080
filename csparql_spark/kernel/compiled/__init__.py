"""The kernel's functions in C, called with columns for their results to be written into.

- `columns`    columns as these functions take them
- `merge`, `probe`, `join`, `sort`, `lines`, `terms`    each as the module of that name in the room says
"""
