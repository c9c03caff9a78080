"""Addresses: who a client is, when a proxy speaks for it.

A proxy that is trusted tells whose request it passes on, in `X-Forwarded-For` or `Forwarded`. Everybody else could
write anything there, so from them neither is read. The chain is read from its end, which the proxy itself has
written, up to the first address that is no trusted proxy's. A proxy sets one of the two headers, and passes on what
clients write into the other one: where the two differ, neither is believed, and the proxy's own address counts.

    trusted = Proxies(("10.0.0.0/8", "::1"))
    trusted.client("10.0.0.7", [b"203.0.113.9, 10.0.0.3"], [])         # "203.0.113.9"
    trusted.client("203.0.113.9", [b"127.0.0.1"], [])                  # "203.0.113.9"
    share("2001:db8::1:2")                                             # "2001:db8::/64": one client has all of it
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Iterable, Iterator

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*("[^"]*"|[^;,"\s]*)', re.IGNORECASE)


class Proxies:
    def __init__(self, networks: Iterable[str]) -> None:
        """Raises `ValueError` for what is neither an address nor a network."""
        self._networks = [ipaddress.ip_network(network, strict=False) for network in networks]

    def trusted(self, address: str) -> bool:
        found = _address(address) if self._networks else None
        return found is not None and self._has(found)

    def client(self, peer: str, forwarded_for: list[bytes], forwarded: list[bytes]) -> str:
        """The address of the client whose request came from `peer`, by the values of the two headers."""
        if not (forwarded_for or forwarded) or not self.trusted(peer):
            return peer
        clients = {self._first(hops) for hops in (_plain(forwarded_for), _elements(forwarded)) if hops is not None}
        return (clients.pop() or peer) if len(clients) == 1 else peer

    def _first(self, hops: list[str]) -> str | None:
        """Of the chain from its end, the first address that is no proxy's; else the farthest one that can be read."""
        last = None
        for hop in reversed(hops):
            found = _address(hop)
            if found is None:
                break
            last = str(found)
            if not self._has(found):
                break
        return last

    def _has(self, address: IPAddress) -> bool:
        return any(address in network for network in self._networks)


@functools.lru_cache(maxsize=4096)
def share(address: str) -> str | None:
    """Whose connections are counted together with those of an address; None for this machine, which nobody counts."""
    found = _address(address)
    if found is None or found.is_loopback:
        return None
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


def _plain(values: list[bytes]) -> list[str] | None:
    if not values:
        return None
    return [hop.strip() for value in values for hop in value.decode("latin-1").split(",")]


def _elements(values: list[bytes]) -> list[str] | None:
    if not values:
        return None
    return [hop for value in values for hop in _named(value.decode("latin-1"))]


def _named(value: str) -> Iterator[str]:
    for element in value.split(","):
        found = _FOR.search(element.strip())
        yield found[1].strip('"') if found else ""


def _address(text: str) -> IPAddress | None:
    """The address in 192.0.2.1, 192.0.2.1:80, 2001:db8::1 or [2001:db8::1]:80; one of IPv4 as such."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
