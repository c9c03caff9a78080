"""Sessions: they outlive restarts, and end with their time, their token, or by logging out."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from csparql_spark.server.http import sessions as module
from csparql_spark.server.http.sessions import Sessions
from csparql_spark.store.tokens import AccessToken, Tokens


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path)


@pytest.fixture
def token(tokens: Tokens) -> AccessToken:
    return tokens.find(tokens.add("lab", ["read"]))


def test_a_session_is_known_by_its_cookie_also_after_a_restart(
    tmp_path: Path, tokens: Tokens, token: AccessToken
) -> None:
    told = Sessions(tmp_path, tokens, seconds=60).begin(token)
    kept = tmp_path / "sessions.json"
    assert told not in kept.read_text() and stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = Sessions(tmp_path, tokens, seconds=60)
    assert again.find(told) == token
    assert again.find(told[:-1]) is None and again.find("") is None


def test_it_ends_by_logging_out_for_good(tmp_path: Path, tokens: Tokens, token: AccessToken) -> None:
    made = Sessions(tmp_path, tokens, seconds=60)
    told, other = made.begin(token), made.begin(token)
    made.end(told)
    made.end("nix")
    for sessions in (made, Sessions(tmp_path, tokens, seconds=60)):
        assert (sessions.find(told), sessions.find(other)) == (None, token)


def test_it_ends_with_its_time(tmp_path: Path, tokens: Tokens, token: AccessToken) -> None:
    now = [1000.0]
    made = Sessions(tmp_path, tokens, seconds=60, now=lambda: now[0])
    told = made.begin(token)
    now[0] += 59
    assert made.find(told) == token
    now[0] += 1
    assert made.find(told) is None
    made.begin(token)
    assert "1060" not in (tmp_path / "sessions.json").read_text(), "what has passed is forgotten"


def test_it_ends_with_its_token_also_if_there_is_another_of_that_name(
    tmp_path: Path, tokens: Tokens, token: AccessToken
) -> None:
    made = Sessions(tmp_path, tokens, seconds=60)
    told = made.begin(token)
    Tokens(tmp_path).remove("lab")
    assert made.find(told) is None
    Tokens(tmp_path).add("lab", ["admin"])
    assert made.find(told) is None


def test_the_oldest_give_way(tmp_path: Path, tokens: Tokens, token: AccessToken, monkeypatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    made = Sessions(tmp_path, tokens, seconds=60)
    told = [made.begin(token) for _ in range(3)]
    assert [made.find(one) for one in told] == [None, token, token]


@pytest.mark.parametrize("damaged", ["{", "[1]", '{"a": 1}', '{"a": {"token": "x", "until": "soon"}}'])
def test_damage_ends_all(tmp_path: Path, tokens: Tokens, token: AccessToken, damaged: str, capsys) -> None:
    told = Sessions(tmp_path, tokens, seconds=60).begin(token)
    (tmp_path / "sessions.json").write_text(damaged)
    assert Sessions(tmp_path, tokens, seconds=60).find(told) is None
    assert "sessions.json cannot be read" in capsys.readouterr().err


def test_a_full_disk_keeps_nobody_out(tmp_path: Path, tokens: Tokens, token: AccessToken, monkeypatch, capsys) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_secretly", full)
    made = Sessions(tmp_path, tokens, seconds=60)
    told = made.begin(token)
    assert made.find(told) == token
    assert "cannot be written ([Errno 28] No space left on device): they end with the web process" in (
        capsys.readouterr().err
    )
