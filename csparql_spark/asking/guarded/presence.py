"""Presence: how a child shows that it is there, and that it has begun what it was asked, to whoever waits for it.

It is a page of memory that both have. To write there wakes nobody and costs nothing, and whoever has waited for long
looks there: a child that is stopped, or that a hung zygote has never forked, is told from one that works.

    ours, descriptor = Presence.made()         # the descriptor goes to the child, and is closed here
    theirs = Presence(descriptor)              # in the child
    theirs.come()
    theirs.begin()
    ours.there, ours.begun                     # True, 1: pieces of work
"""

from __future__ import annotations

import mmap
import os
import struct

_THERE, _BEGUN = 0, 8  # where numbers lie
_NUMBER = struct.Struct("@Q")  # as the processor has it: it is written and read at once


class Presence:
    def __init__(self, descriptor: int) -> None:
        self._page = mmap.mmap(descriptor, mmap.PAGESIZE)

    @classmethod
    def made(cls) -> tuple[Presence, int]:
        """Of somebody who is to come, and what makes it in another process."""
        descriptor = os.memfd_create("presence")
        try:
            os.ftruncate(descriptor, mmap.PAGESIZE)
            return cls(descriptor), descriptor
        except BaseException:
            os.close(descriptor)
            raise

    def come(self) -> None:
        _NUMBER.pack_into(self._page, _THERE, 1)

    def begin(self) -> None:
        """With one piece of work more."""
        _NUMBER.pack_into(self._page, _BEGUN, self.begun + 1)

    @property
    def there(self) -> bool:
        return bool(_NUMBER.unpack_from(self._page, _THERE)[0])

    @property
    def begun(self) -> int:
        return int(_NUMBER.unpack_from(self._page, _BEGUN)[0])

    def close(self) -> None:
        self._page.close()
