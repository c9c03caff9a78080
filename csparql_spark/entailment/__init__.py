"""Entailment: rules, and what follows from a window and the background under them.

No regime is implemented: a query that asks for one with USING ENTAILMENT is refused at registration.
"""
