"""Sinks: whom the server calls with what queries say.

- `webhooks`        calls observers, one POST for each answer, in order, until it is taken
- `outgoing_calls`  one call, and whom the server may call
"""
