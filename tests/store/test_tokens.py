"""Tokens: only hashes are kept, changes are seen, damage lets nobody in, and open doors are refused."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from csparql_spark.disk import StoreError
from csparql_spark.store.tokens import Tokens, is_loopback, made, refuse_open_doors


def test_a_token_is_told_once_and_kept_as_its_hash(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    told = tokens.add("lab", ["push"])
    assert told.startswith("csp_") and len(told) == 4 + 43
    kept = tokens.path.read_text()
    assert told not in kept and told[4:] not in kept
    assert json.loads(kept)["tokens"][0]["sha256"] == hashlib.sha256(told.encode()).hexdigest()
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    assert tokens.find(told).name == "lab"
    assert tokens.find(told + "x") is None and tokens.find("") is None and tokens.find("\ud800") is None


@pytest.mark.parametrize(
    "granted, scopes",
    [
        (["read"], {"read"}),
        (["push"], {"push"}),
        (["register"], {"read", "register"}),
        (["admin"], {"read", "push", "register", "admin"}),
        (["push", "read", "push"], {"push", "read"}),
    ],
)
def test_what_scopes_include(tmp_path: Path, granted: list[str], scopes: set[str]) -> None:
    told = Tokens(tmp_path).add("a", granted)
    found = Tokens(tmp_path).find(told)
    assert found.scopes == scopes
    assert found.granted == tuple(dict.fromkeys(granted))


def test_changes_are_seen_by_who_has_looked_before(tmp_path: Path) -> None:
    running, other = Tokens(tmp_path), Tokens(tmp_path)
    assert running.all() == ()
    first, second = other.add("first", ["read"]), other.add("second", ["read"])
    assert running.find(first).name == "first" and running.find(second).name == "second"
    other.remove("first")
    assert running.find(first) is None and running.find(second).name == "second"


def test_what_two_change_at_once_is_all_kept(tmp_path: Path) -> None:
    one, other = Tokens(tmp_path), Tokens(tmp_path)
    one.add("a", ["read"])
    other.add("b", ["read"])
    one.add("c", ["read"])
    assert [token.name for token in other.all()] == ["a", "b", "c"]


def test_damage_lets_nobody_in_and_nobody_out(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    told = tokens.add("lab", ["read"])
    for damaged in (
        "{",
        "[]",
        '{"tokens": [{"name": "x"}]}',
        f'{{"tokens": [{{"name": "x", "scopes": ["root"], "sha256": "{"0" * 64}", "created": 1}}]}}',
        "\ud800".encode("utf-8", "surrogatepass"),
    ):
        tokens.path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
        assert tokens.find(told).name == "lab" and tokens.find("x") is None
        with pytest.raises(StoreError, match="tokens.json (are damaged|cannot be read)"):
            Tokens(tmp_path)


@pytest.mark.parametrize(
    "name, scopes, said",
    [
        ("a b", ["read"], "the name of a token is 1 to 64 letters, digits and _ . -"),
        ("", ["read"], "the name of a token is 1 to 64 letters"),
        ("a", [], "a token needs scopes: choose of read, push, register, admin"),
        ("a", ["root"], "there is no scope 'root': choose of read, push, register, admin"),
    ],
)
def test_tokens_that_cannot_be(tmp_path: Path, name: str, scopes: list[str], said: str) -> None:
    with pytest.raises(StoreError) as problem:
        Tokens(tmp_path).add(name, scopes)
    assert str(problem.value).startswith(said)
    assert Tokens(tmp_path).all() == ()


def test_names_are_not_used_twice_and_only_what_is_there_is_removed(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path, [made("fixed", ["read"])[1].as_setting])
    tokens.add("lab", ["read"])
    for name in ("lab", "fixed"):
        with pytest.raises(StoreError, match=f"there is a token '{name}' already"):
            tokens.add(name, ["read"])
    with pytest.raises(StoreError, match=r"there is no token 'nix' in .*/tokens.json \(lab\)"):
        tokens.remove("nix")


def test_tokens_of_the_settings(tmp_path: Path) -> None:
    told, token = made("ci", ["push", "read"])
    tokens = Tokens(tmp_path, [token.as_setting])
    assert tokens.find(told).scopes == {"push", "read"}
    assert told not in token.as_setting
    for text in (told, f"ci:read:{told}", "ci:root:" + "0" * 64, ":read:" + "0" * 64):
        with pytest.raises(StoreError, match="a token of the settings cannot be read") as problem:
            Tokens(tmp_path, [text])
        assert told not in str(problem.value)


@pytest.mark.parametrize(
    "address, only_here",
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("LOCALHOST.", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("example.org", False),
        ("127.0.0.1.example.org", False),
        ("", False),
        ("::ffff:192.0.2.1", False),
    ],
)
def test_doors(tmp_path: Path, address: str, only_here: bool) -> None:
    assert is_loopback(address) is only_here
    if only_here:
        refuse_open_doors(address, Tokens(tmp_path))
    else:
        with pytest.raises(StoreError) as problem:
            refuse_open_doors(address, Tokens(tmp_path))
        assert str(problem.value) == (
            f"a server that listens on {address} can be reached by others, and needs tokens: make one with "
            f"`csparql-spark token add NAME --scope admin --data {tmp_path}`, or listen on 127.0.0.1"
        )
    Tokens(tmp_path).add("lab", ["admin"])
    refuse_open_doors(address, Tokens(tmp_path))


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the data directory .*/nix cannot be written"):
        Tokens(tmp_path / "nix").remove("a")
    assert not os.path.exists(tmp_path / "nix")
