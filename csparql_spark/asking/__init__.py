"""Asking: what there is to say of queries besides their answers, from the log alone.

- `admission`  which queries and rule sets are let in, and the sentences for those that are not
- `moments`    where the log stood when an instant was answered, and windows that count
- `passage`    where in the log the clocks of a query had passed an instant
- `log_view`   what streams and graphs hold now, and windows held then, as the log tells it
- `allowance`  how much of that may be read for one question
- `one_shot`   questions that are asked once
- `update`     what an update makes of background graphs
- `guarded`    children for what users send, where it can be ended
- `why`        the derivation of a triple
- `missing`    what is missing from an answer that has no rows
- `timeline`   when elements are stamped, which came late, and what a query waits for
- `explain`    how a query is read, and answered
- `replay`     recorded streams, through the engine, to their end
"""
