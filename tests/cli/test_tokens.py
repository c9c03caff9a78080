"""The command `token`: what it prints, and what a server then knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from csparql_spark.cli import main
from csparql_spark.store.tokens import Tokens


def token(*words: str, **environment: str) -> tuple[int, str, str]:
    result = CliRunner(env=environment).invoke(main, ["token", *words])
    return result.exit_code, result.stdout, result.stderr


def test_add_list_remove(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code, told, note = token("add", "lab", "--scope", "push", "--scope", "read", "--data", str(data))
    assert code == 0 and "not shown again" in note and told.strip() not in note
    assert Tokens(data).find(told.strip()).scopes == {"push", "read"}
    code, listed, _ = token("list", "--data", str(data))
    assert (code, listed.split()[:4]) == (0, ["lab", "push,", "read", "since"])
    assert told.strip() not in listed
    assert token("remove", "lab", "--data", str(data)) == (0, "removed lab\n", "")
    assert Tokens(data).all() == ()
    assert token("list", "--data", str(data))[1:] == (
        "",
        f"There are no tokens in {data}: make one with `csparql-spark token add`.\n",
    )


def test_a_token_for_the_settings_is_kept_nowhere(tmp_path: Path) -> None:
    code, told, _ = token("add", "ci", "--scope", "push", "--as-setting", "--data", str(tmp_path))
    secret, line = told.split()
    assert code == 0 and list(tmp_path.iterdir()) == []
    assert Tokens(tmp_path, [line]).find(secret).scopes == {"push"}
    code, listed, _ = token("list", "--data", str(tmp_path), CSPARQL_TOKENS=line)
    assert (code, listed.split()) == (0, ["ci", "push", "in", "the", "settings"])


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert token("remove", "lab", "--data", str(gone)) == (
        2,
        "",
        f"csparql-spark: there is no data directory {gone}: name that of the server with --data\n",
    )
    assert not gone.exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (["add", "a b", "--scope", "read"], "csparql-spark: the name of a token is 1 to 64 letters, digits and _ . -"),
        (["add", "a", "--scope", "root"], "'root' is not one of 'read', 'push', 'register', 'admin'"),
        (["add", "a"], "token add lacks --scope"),
        (["remove", "nix"], "csparql-spark: there is no token 'nix' in {data}/tokens.json (there are none)"),
    ],
)
def test_what_cannot_be(tmp_path: Path, words: list[str], said: str) -> None:
    code, out, error = token(*words, "--data", str(tmp_path))
    assert (code, out) == (2, "")
    assert said.format(data=tmp_path) in error
