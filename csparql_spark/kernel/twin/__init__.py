"""The kernel's functions in numpy: what the compiled ones are compared with, and what runs where there are none."""
