"""Faults, injected on purpose into servers of their own, and the laws checked afterwards.

    python -m bench.faults                     all of them, some fifty minutes; writes the table of docs/reliability.md
    python -m bench.faults kill-engine lock    these, and their rows of the table

Each is a function that returns a `Row`: what was injected, what was observed, and which laws were found broken. It
runs a scene: a server with queries, pushers of numbered triples, and a subscriber who follows the answers.
"""
