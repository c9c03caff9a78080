"""The engine, without Spark: groups of queries, which take rows of the log and answer instant by instant.

    rows ─▶ group ─▶ due answers: for each instant of a member ─▶ views ─▶ closures ─▶ `answers` ─▶ view answer

- `group`             the stateful processor: what each row changes for the windows and queries of one group
- `background_wait`   whether it answers nothing for now, and which rows wait meanwhile
- `held_entries`      the entries that it holds until then
- `due_answers`       what its queries say at the instants that have passed
- `messages`          what a group says: answers, failures, costs
- `member`            one registered query in its group
- `evaluator_choice`  which evaluator answers a query, and why
- `dataset`           what a query sees at a moment: which windows and background make each of its graphs
- `views`             what members see, and what is said of it, shared by those who ask the same
- `closures`          graphs with all that follows from them under the group's rules
- `window_graphs`     what windows hold, closed, as graphs that move on
- `withdrawals`       what leaves windows that count beside others
- `closure_strategy`  which strategy maintains the closures of a query, and why
- `closings`          where the background of a group is closed, so that no other group waits for it
- `view_answer`       what is said of a view: whole, as what has changed, or as ISTREAM and DSTREAM
- `view_rows`         what has come and gone in the rows of a view
- `r2s`               from that, or from whole answers, to ISTREAM and DSTREAM
- `moment`            an instant of a query, where the log stands, and since when it looks
- `costs`             what queries take while they answer
- `guard`             what each evaluation is held to by the kernel, and what becomes of the one a worker dies of
- `kernel_limits`     the memory and the time that the kernel allows this process meanwhile
- `trials`            evaluations that are made in a child first, since the worker might die of them
- `trial_budget`      what those that need too much may take of all others' time in a batch
- `crowding`          who fails where all that is held for queries is too much
- `notes`             whom a worker evaluates, where the next one finds it
- `group_state`       what of a group is kept between batches, and how it comes back
- `departures`        which stored slides no window will see again
- `state_keys`        under which keys that is
"""
