"""The kernel's functions in C, called with columns for their results to be written into.

- `merge`, `probe`, `join`, `sort`, `lines`, `terms`    each as the module of that name in the room says
"""
