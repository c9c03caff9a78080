"""A child: does one piece of work after the other, each under limits that the kernel holds it to.

Work is a function and its arguments, pickled by the process that serves, which is trusted; what comes back is bytes and
JSON, and is never unpickled there: the child has met what users send.

- Processor time: a timer whose signal, SIGPROF, nothing handles; the kernel ends the child.
- The clock: ten times that, by a timer, too; where a child is stopped, whoever waits for it has it killed.
- Memory: RLIMIT_DATA, so much more than a child has when it is forked. That counts what is private and writable, which
  is what work can make more of. RLIMIT_AS counts address space, also of libraries and of what malloc reserves for each
  thread and never touches: 190 of the 305 MB of a process that has done nothing but load Arrow, more or less of them
  on each machine, and no sign of what is used.

What was sent counts, too: work gets the memory that a question may have for its data and its evaluation together.
After work that has left it large a child ends, and the next piece of work finds a new one.
"""

from __future__ import annotations

import json
import pickle
import resource
import socket

from csparql_spark.answers import confinement, forked
from csparql_spark.asking.guarded import failures, wire
from csparql_spark.asking.guarded.presence import Presence

DONE, FAILED, FULL = b"+", b"-", b"!"
MOST_KEPT = 32 << 20  # bytes that a child may have grown by when its work is done: half of what a text may have
MOST_WORK = 1000  # pieces of work; then what libraries have lost is given back, too
_DATA = 5  # of the sizes of a process: what is private and writable


def live(talk: socket.socket, presence: Presence) -> None:
    """Work until nobody asks any more."""
    presence.come()
    confinement.begin()
    forked.confined = True
    begun = _size()
    for _ in range(MOST_WORK):
        try:
            # What comes is bounded by what is sent: it is the server's, and no user's.
            parts = wire.receive(talk)
        except MemoryError:
            wire.send(talk, [FULL, b"", b""])
            return
        if parts is None:
            return
        presence.begin()
        terms = json.loads(parts[0])
        confinement.let_grow(resource.RLIMIT_DATA, begun + terms["memory"])
        confinement.start_timers(terms["seconds"])
        how, reply = _worked(parts[1:])
        del parts
        confinement.stop_timers()
        lasts = how != FULL and _size() - begun - len(reply) <= MOST_KEPT
        wire.send(talk, [how, b"+" if lasts else b"", reply])
        if not lasts:
            return


def _worked(parts: list[bytearray]) -> tuple[bytes, bytes]:
    """How the work ended, and what it says."""
    try:
        function, arguments = pickle.loads(parts[0], buffers=parts[1:])
        return DONE, function(*arguments)
    except MemoryError:
        return FULL, b""
    except BaseException as error:  # libraries of Rust have errors of their own, which are no `Exception`
        return FAILED, failures.written(error)


def _size() -> int:
    """Bytes of what is private and writable; 0 where there is no telling."""
    return confinement.pages(_DATA) or 0
