"""Addresses: who a client is, behind proxies that are trusted and before those that are not."""

from __future__ import annotations

import pytest

from csparql_spark.server.http.addresses import Proxies, share

OURS = Proxies(("10.0.0.0/8", "::1", "2001:db8:1::/48"))


@pytest.mark.parametrize(
    "peer, forwarded_for, forwarded, expected",
    [
        ("10.0.0.7", [], [], "10.0.0.7"),
        ("10.0.0.7", [b"203.0.113.9"], [], "203.0.113.9"),
        ("10.0.0.7", [b"192.0.2.1, 203.0.113.9"], [], "203.0.113.9"),
        ("10.0.0.7", [b"203.0.113.9, 10.1.1.1"], [], "203.0.113.9"),
        ("10.0.0.7", [b"192.0.2.1", b"203.0.113.9,10.1.1.1"], [], "203.0.113.9"),
        ("10.0.0.7", [b"203.0.113.9:4711"], [], "203.0.113.9"),
        ("10.0.0.7", [b"unknown"], [], "10.0.0.7"),
        ("10.0.0.7", [b""], [], "10.0.0.7"),
        ("10.0.0.7", [b"192.0.2.1, _hidden, 10.1.1.1"], [], "10.1.1.1"),
        ("::ffff:10.0.0.7", [b"203.0.113.9"], [], "203.0.113.9"),
        ("::1", [], [b"for=203.0.113.9;proto=https"], "203.0.113.9"),
        ("::1", [], [b'proto=https;For="[2001:db8::5]:4711", for=10.0.0.1'], "2001:db8::5"),
        ("2001:db8:1::9", [b"2001:db8::5"], [], "2001:db8::5"),
        ("::1", [b"203.0.113.9"], [b"for=203.0.113.9"], "203.0.113.9"),
        ("::1", [b"203.0.113.9"], [b"for=192.0.2.1"], "::1"),
        ("203.0.113.9", [b"127.0.0.1"], [b"for=127.0.0.1"], "203.0.113.9"),
        ("2001:db8:2::9", [b"127.0.0.1"], [], "2001:db8:2::9"),
    ],
)
def test_the_client(peer: str, forwarded_for: list[bytes], forwarded: list[bytes], expected: str) -> None:
    assert OURS.client(peer, forwarded_for, forwarded) == expected


def test_without_proxies_nobody_speaks_for_others() -> None:
    assert Proxies(()).client("10.0.0.7", [b"203.0.113.9"], []) == "10.0.0.7"
    assert not Proxies(()).trusted("10.0.0.7")


@pytest.mark.parametrize(
    "address, expected",
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8::1:2", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("127.0.0.1", None),
        ("127.1.2.3", None),
        ("::1", None),
        ("", None),
    ],
)
def test_shares(address: str, expected: str | None) -> None:
    assert share(address) == expected
