"""The pipeline, without Spark: how entries of the log become answers.

    log entry ─▶ routing ─▶ rows for groups ─▶ group (window, evaluation) ─▶ answers

- `admission`  which queries are let in, and the sentences for those that are not
- `ticker`     writes ticks into the log when an instant of some query has passed
- `due`        when a batch is worth a trigger, and how much of the log it takes
- `routing`    which groups an entry goes to
- `group`      the stateful processor: windows and queries of one group, walked instant by instant
- `member`     one registered query in its group
- `keeping`    what of a group is kept between batches, and how it comes back
- `replay`     recorded streams, through the same processor, to their end
"""
