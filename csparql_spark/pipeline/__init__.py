"""The pipeline, without Spark: how entries of the log become answers.

    log entry ─▶ routing ─▶ rows for groups ─▶ group (window, evaluation) ─▶ answers

- `readings`   the queries of texts, each parsed once
- `admission`  which queries are let in, and the sentences for those that are not
- `ticker`     writes ticks into the log when an instant of some query has passed
- `due`        when a batch is worth a trigger, and how much of the log it takes
- `instants`   which instants a query has, and what a window sees at one
- `dataset`    which windows and background make each graph of a query
- `routing`    which groups an entry goes to
- `group`      the stateful processor: windows and queries of one group, walked instant by instant
- `member`     one registered query in its group
- `views`      what members see, and what is said of it, shared by those who ask the same
- `closing`    graphs with all that follows from them under the group's rules
- `costs`      what queries take while they answer
- `keeping`    what of a group is kept between batches, and how it comes back
- `relay`      what stream queries say goes back into the log
- `choosing`   which evaluator answers a query, and why
- `current`    what streams and graphs hold now, as the log tells it
- `once`       questions that are asked once
- `why`        the derivation of a triple
- `missing`    what is missing from an answer that has no rows
- `timeline`   when elements are stamped, which came late, and what a query waits for
- `explaining` how a query is read, and answered
- `replay`     recorded streams, through the same processor, to their end
"""
