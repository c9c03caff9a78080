"""The schedule: which instants there are, when they are due, and whom an entry of the log concerns. Evaluates nothing.

- `instants`       which instants a query has, and what a window sees at one
- `ticker`         writes ticks into the log when an instant of some query has passed
- `routing`        which groups an entry goes to
- `due`            when a batch is worth a trigger, and how much of the log it takes
- `early_batches`  batches that are begun before their instant has passed
- `relay`          what stream queries say goes back into the log
"""
