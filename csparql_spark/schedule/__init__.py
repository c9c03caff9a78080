"""The schedule: when instants are due, and whom an entry of the log concerns. Evaluates nothing.

- `ticker`         writes ticks into the log when an instant of some query has passed
- `routing`        which groups an entry goes to
- `due`            when a batch is worth a trigger, and how much of the log it takes
- `early_batches`  batches that are begun before their instant has passed
- `relay`          what stream queries say goes back into the log
- `failures`       that a query has failed goes there, too
"""
