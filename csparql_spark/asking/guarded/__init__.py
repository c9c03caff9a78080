"""Guarded: what users send is worked on in children that may be killed, and not in the process that serves others.

- `pool`      places for work of each kind, and what a child's end means
- `lanes`     who has places, and who waits for one
- `children`  the zygote as seen from outside: forks children, ends them, and tells how they ended
- `zygote`    a small process with one thread that has loaded all that children need, and forks them
- `child`     the life of a child: one piece of work after the other, under limits that the kernel holds it to
- `presence`  how a child shows that it is there, and what it has begun
- `failures`  what work may fail with, as JSON
- `wire`      messages between the two, on a socket
- `texts`     what texts say, each in a quick place, or in one for long ones
- `work`      what is done in children

    pool = Pool(memory=1 << 30)
    with pool.place("sparql") as place:
        body = place.run(Limits(), work.answered, question, media_type)      # bytes; raises TooMuch

The children are those of a zygote of our own, and live on from one piece of work to the next. To fork one for each
would be 5 ms for the fork and 15 ms for its end, where a message takes 0.2 ms; `multiprocessing`'s fork server would
import the program that serves into each child, and its children outlive an owner that is killed.
"""

from csparql_spark.asking.guarded.pool import Crowded, Pool

__all__ = ["Crowded", "Pool"]
