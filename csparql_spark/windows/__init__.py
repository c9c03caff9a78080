"""Windows: which instants there are, when they have passed, and what a window holds at one of them. Evaluates nothing.

- `rule`          which elements a window holds at an instant, until when, and by which tags
- `grid`          instants: the multiples of STEP since the epoch
- `progress`      clocks: which instants have passed for a query, and where it begins
- `slides`        what came on a stream, in runs that are known by their summaries
- `slide_graphs`  how many graphs begin in each of these runs
- `content`       the elements that windows can still see, by their streams, with their terms
- `counting`      windows that hold the last n elements
"""
