"""Which URLs may be called, at which addresses."""

from __future__ import annotations

import socket

import pytest

from csparql_spark.server.sinks.outgoing_calls import Allowed, BadUrl, Undelivered, is_public, send, target_of

PREFIX = "https://hooks.example.org/csparql/"


@pytest.mark.parametrize(
    "entry, allowed, refused",
    [
        (
            PREFIX,
            [
                PREFIX,
                PREFIX + "a/b?c=d",
                "https://HOOKS.example.org:443/csparql/x",
                "https://hooks.example.org/csparql",
            ],
            [
                "http://hooks.example.org/csparql/",
                "https://hooks.example.org/csparqlx",
                "https://hooks.example.org/",
                "https://hooks.example.org:8443/csparql/",
                "https://hooks.example.org.evil.test/csparql/",
            ],
        ),
        (
            "https://hooks.example.org",
            ["https://hooks.example.org/", "https://hooks.example.org/x"],
            ["https://hooks.example.orgx/", "http://hooks.example.org/"],
        ),
        (
            "hooks.example.org",
            ["http://hooks.example.org:81/x", "https://hooks.example.org/"],
            ["https://a.hooks.example.org/"],
        ),
        ("10.0.0.7:8080", ["http://10.0.0.7:8080/"], ["http://10.0.0.7/", "http://10.0.0.70:8080/"]),
        (
            "*.example.org",
            ["https://a.example.org/", "https://a.b.example.org/"],
            ["https://example.org/", "https://aexample.org/", "https://a.example.org.evil.test/"],
        ),
        ("[::1]:8080", ["http://[::1]:8080/x"], ["http://[::1]/x"]),
        ("*", ["http://anything.test/"], []),
    ],
)
def test_allowed(entry: str, allowed: list[str], refused: list[str]) -> None:
    rules = Allowed((entry,))
    assert [url for url in allowed if rules.refusal(url) is not None] == []
    assert [url for url in refused if rules.refusal(url) is None] == []
    assert all(rules.needs_public(url) is entry.startswith("*") for url in allowed)


def test_nothing_is_allowed_unless_it_is_named() -> None:
    assert "sends answers nowhere" in Allowed(()).refusal("https://hooks.example.org/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://a/",
        "https://",
        "https://a b/",
        "https://a/\n",
        "https://user:pw@a/",
        "https://user@a/",
        "https://a/#f",
        "https://a/b/../c",
        "https://a/b/%2e%2E/c",
        "https://a/..%2fc",
        "https://a/b\\..\\c",
        "https://ü/",
        "https://a:99999/",
        "https://a:x/",
        "http://[::1/",
        "https://a/" + "x" * 2000,
    ],
)
def test_no_urls_to_call(url: str) -> None:
    with pytest.raises(BadUrl):
        target_of(url)


@pytest.mark.parametrize("entry", ["", "a b", "https://", "ftp://a/", "**", "a/b", "*.a/b"])
def test_entries_that_can_allow_nothing(entry: str) -> None:
    with pytest.raises(BadUrl):
        Allowed((entry,))


@pytest.mark.parametrize(
    "address, public",
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("100.64.0.1", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_what_only_a_star_allows_is_not_called_at_home() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        with pytest.raises(Undelivered, match="not at a public address"):
            send(f"http://127.0.0.1:{listening.getsockname()[1]}/", b"", {}, public=True)
        with pytest.raises(BlockingIOError):
            listening.accept()
