"""Benchmarks: `python -m bench` prints the numbers of docs/performance.md. Nothing here is a test, and tests time
nothing."""
