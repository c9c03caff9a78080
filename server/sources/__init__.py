"""Sources: how triples come into streams.

- `pushing`  from triples to an entry of the log, whoever brought them
- `reading`  from bodies to triples, here or in a child that may be killed
- `mqtt`     the messages of a broker's topics
- `inbox`    the messages that a broker has sent and that are not done yet
- `backlogs` what takes long, done apart for each topic
- `derived`  the streams that queries make
"""
