"""Sources: how triples come into streams.

- `pushing`  from triples to an entry of the log, whoever brought them
- `mqtt`     the messages of a broker's topics
- `derived`  the streams that queries make
"""
