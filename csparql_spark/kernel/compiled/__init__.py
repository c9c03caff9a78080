"""The kernel's functions in C, called with columns for their results to be written into."""
