"""The other commands: check, explain, version, serve's refusals, and that every help reads well."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from csparql_spark import __version__
from csparql_spark.cli import main
from csparql_spark.disk import DataDirectory

QUERY = "REGISTER QUERY Q AS SELECT ?s FROM STREAM <urn:s> [RANGE 2s STEP 1s] WHERE { ?s <urn:p> ?o }"


@pytest.mark.parametrize("argument", ["version", "--version", "-V"])
def test_version(argument: str) -> None:
    result = CliRunner().invoke(main, [argument])
    assert (result.exit_code, result.stdout) == (0, f"csparql-spark {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serv"], "There is no command 'serv': did you mean `serve`? (`csparql-spark --help` lists them all)"),
        (["explian"], "There is no command 'explian': did you mean `explain`? (`csparql-spark --help` lists them all)"),
        (["xyzzy"], "There is no command 'xyzzy' (`csparql-spark --help` lists them all)"),
        (
            ["token", "lst"],
            "There is no command 'lst': did you mean `list`? (`csparql-spark token --help` lists them all)",
        ),
        (
            ["store", "chek"],
            "There is no command 'chek': did you mean `check`? (`csparql-spark store --help` lists them all)",
        ),
        (
            ["run", "--strem", "x"],
            "There is no option '--strem': did you mean `--stream`? (`csparql-spark run --help` lists them all)",
        ),
        (
            ["--versoin"],
            "There is no option '--versoin': did you mean `--version`? (`csparql-spark --help` lists them all)",
        ),
        (
            ["serve", "--prot", "1"],
            "There is no option '--prot': did you mean `--port`? (`csparql-spark serve --help` lists them all)",
        ),
        (["check", "--xyzzy"], "There is no option '--xyzzy' (`csparql-spark check --help` lists them all)"),
    ],
)
def test_what_is_mistyped_is_told_with_what_may_be_meant(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, arguments, prog_name="csparql-spark")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"csparql-spark: {said}\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["push"], "push lacks FILE…: see `csparql-spark push --help`"),
        (["push", "a.nt"], "push lacks --stream (the stream: its name or its IRI): see `csparql-spark push --help`"),
        (["tail"], "tail lacks QUERY…: see `csparql-spark tail --help`"),
        (["run"], "run lacks QUERY: see `csparql-spark run --help`"),
        (
            ["token", "add", "x"],
            "token add lacks --scope (what it is good for; may be given several times. register includes "
            "read, admin all others): see `csparql-spark token add --help`",
        ),
        (
            ["serve", "--port", "70000"],
            "Invalid value for '--port': 70000 is too much: the most is 65535 (see `csparql-spark serve --help`)",
        ),
        (
            ["tail", "Q", "--format", "xml"],
            "Invalid value for '--format': 'xml' is not one of 'json', 'csv', 'table'. (see "
            "`csparql-spark tail --help`)",
        ),
        (
            ["tail", "Q", "--from", "yesterday"],
            "Invalid value for '--from': 'yesterday' is no instant: it is neither an integer nor an xsd:dateTime such as "
            "2023-11-14T22:13:20.5Z; latest and beginning are other places to begin (see `csparql-spark tail --help`)",
        ),
        (["tail", "Q", "--count"], "Option '--count' requires an argument. (see `csparql-spark tail --help`)"),
        (["version", "now"], "Got unexpected extra argument (now) (see `csparql-spark version --help`)"),
        (
            ["tail", "Q", "--url", "localhost:8000"],
            "--url: 'localhost:8000' is not the URL of a server: write it as http://localhost:8000",
        ),
        (
            ["tail", "Q", "--url", "http://localhost:99999"],
            "--url: 'http://localhost:99999' is not the URL of a server: write it as http://127.0.0.1:8000",
        ),
    ],
)
def test_what_is_used_wrongly_is_one_line(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, arguments, prog_name="csparql-spark")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"csparql-spark: {said}\n")


def test_a_token_that_cannot_be_told_is_named_by_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("csp_…", encoding="utf-8")
    for given, arguments in (("CSPARQL_TOKEN", []), (str(file), ["--token-file", str(file)])):
        environment = {"CSPARQL_TOKEN": "csp_…"} if given == "CSPARQL_TOKEN" else {}
        result = CliRunner().invoke(main, ["tail", "Q", *arguments], prog_name="csparql-spark", env=environment)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        assert result.stderr.startswith(f"csparql-spark: {given}: the token has the character '…' (U+2026), which no ")


def test_the_demo_names_its_own_directory() -> None:
    shown = " ".join(CliRunner().invoke(main, ["demo", "--help"]).stdout.split())
    assert "[default: demo-data]" in shown and "[default: data]" not in shown
    shown = " ".join(CliRunner().invoke(main, ["serve", "--help"]).stdout.split())
    assert "[default: data]" in shown


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["serve"],
        ["demo"],
        ["token"],
        ["token", "add"],
        ["token", "list"],
        ["token", "remove"],
        ["config"],
        ["doctor"],
        ["run"],
        ["check"],
        ["explain"],
        ["version"],
    ],
)
def test_help_fits_a_terminal(command: list[str]) -> None:
    result = CliRunner().invoke(main, [*command, "--help"])
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_check_says_which_files_are_fine(tmp_path: Path) -> None:
    (tmp_path / "good").write_text(QUERY)
    (tmp_path / "bad").write_text(QUERY.replace("2s", "2"))
    (tmp_path / "later").write_text(QUERY.replace("{ ?s", "{ SERVICE <urn:x> { ?o ?q ?r } ?s"))
    result = CliRunner().invoke(main, ["check", *(str(tmp_path / name) for name in ("good", "bad", "later"))])
    assert result.exit_code == 2
    assert result.stdout == f"{tmp_path}/good: query Q is fine\n"
    bad, *rest = result.stderr.replace(f"{tmp_path}/", "").splitlines()
    assert bad.startswith("bad: line 1, column 58: ")
    assert "^" in rest[1]
    assert rest[2].startswith("later: SERVICE is not supported")
    assert rest[3] == "csparql-spark: 2 of 3 files cannot be registered"
    result = CliRunner().invoke(main, ["check", str(tmp_path / "bad")])
    assert result.stderr.splitlines()[-1] == "csparql-spark: 1 of 1 file cannot be registered"


def test_check_reads_rule_files_too(tmp_path: Path) -> None:
    (tmp_path / "good.rules").write_text("[(?a <urn:p> ?b) -> (?b <urn:p> ?a)]\n[(?a <urn:q> ?b) -> (?a <urn:p> ?b)]")
    (tmp_path / "bad.rules").write_text("[(?a <urn:p> ?b) -> (?b <urn:p> ?c)]")
    (tmp_path / "endless.rules").write_text("[(?a <urn:n> ?b) sum(?b, 1, ?c) -> (?a <urn:n> ?c)]")
    files = [str(tmp_path / f"{name}.rules") for name in ("good", "bad", "endless")]
    result = CliRunner().invoke(main, ["check", *files])
    assert (result.exit_code, result.stdout) == (2, f"{tmp_path}/good.rules: 2 rules are fine\n")
    bad, *rest = result.stderr.replace(f"{tmp_path}/", "").splitlines()
    assert bad.startswith("bad.rules: line 1, column ") and "^" in rest[1] and rest[2].startswith("endless.rules: ")


def test_check_warns_of_patterns_that_may_surprise(tmp_path: Path) -> None:
    (tmp_path / "words.rules").write_text(r"[(?a <urn:p> ?b) regex(?b, '\\ba') -> (?b <urn:p> ?a)]")
    result = CliRunner().invoke(main, ["check", str(tmp_path / "words.rules")])
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            f"{tmp_path}/words.rules: 1 rule is fine",
            rf"{tmp_path}/words.rules: warning: line 1, column 28: \b and \B take no letters for parts of a word but "
            r"those of English: write (^|\W) and (\W|$) for others.",
        ],
    )


def test_check_reads_standard_input() -> None:
    result = CliRunner().invoke(main, ["check", "-"], input=QUERY)
    assert (result.exit_code, result.stdout) == (0, "-: query Q is fine\n")


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_file_that_is_not_there_is_one_line(command: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [command, str(tmp_path / "gone")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"csparql-spark: {tmp_path}/gone cannot be read: No such file or directory\n"


def test_check_warns_of_rule_sets_that_are_not_of_the_house(tmp_path: Path) -> None:
    (tmp_path / "q").write_text(QUERY.replace("WHERE", "USING ENTAILMENT RDFS, rdsf, lab WHERE"))
    result = CliRunner().invoke(main, ["check", str(tmp_path / "q")])
    assert (result.exit_code, result.stdout.replace(f"{tmp_path}/", "").splitlines()) == (
        0,
        [
            "q: query Q is fine",
            "q: warning: rdsf is no rule set of the house (did you mean rdfs?): a server has it after PUT /rules/rdsf",
            "q: warning: lab is no rule set of the house: a server has it after PUT /rules/lab",
        ],
    )


def test_explain_says_which_rule_set_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "q").write_text(QUERY.replace("WHERE", "USING ENTAILMENT rdsf, lab WHERE"))
    (tmp_path / "lab.rules").write_text("[(?a <urn:p> ?b) -> (?b <urn:p> ?a)]")
    result = CliRunner().invoke(main, ["explain", str(tmp_path / "q"), "--rules", f"lab={tmp_path}/lab.rules"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"csparql-spark: {tmp_path}/q: rdsf is no rule set of the house (did you mean rdfs?): give "
        "its file with --rules rdsf=FILE\n"
    )


def test_explain_shows_windows_and_body(tmp_path: Path) -> None:
    (tmp_path / "q").write_text(QUERY)
    result = CliRunner().invoke(main, ["explain", str(tmp_path / "q")])
    assert result.exit_code == 0
    assert "the last 2 s of <urn:s>" in result.stdout
    assert "SELECT ?s\nWHERE { ?s <urn:p> ?o }" in result.stdout
    assert "evaluation: maintained (" in result.stdout
    assert result.stdout.splitlines()[-4:] == [
        "reads:      ?s <urn:p> ?o",
        "plan:",
        "  project ?s",
        "    scan ?s <urn:p> ?o",
    ]


@pytest.fixture(autouse=True)
def _java(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that is found: what cannot start says why before it needs one."""
    java = tmp_path_factory.mktemp("java") / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))


def serve(*options: str, **environment: str) -> tuple[int, str, str]:
    """`serve`, when it cannot start."""
    result = subprocess.run(
        [sys.executable, "-m", "csparql_spark", "serve", *options],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )
    return result.returncode, result.stdout, result.stderr


def test_serve_refuses_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert serve("--data", str(tmp_path), "--port", str(port)) == (
            2,
            "",
            (
                f"csparql-spark: cannot listen on 127.0.0.1:{port} (Address already in use): stop what uses the port, "
                "or choose another one with --port, as in `csparql-spark serve --port 8001`, or `make serve PORT=8001`\n"
            ),
        )


def test_serve_refuses_a_directory_in_use(tmp_path: Path) -> None:
    with DataDirectory(tmp_path).create().lock():
        assert serve("--data", str(tmp_path), "--port", "0") == (
            2,
            "",
            (
                f"csparql-spark: the data directory {tmp_path} is in use by another server (process {os.getpid()}): "
                "stop that one, or choose another directory with --data\n"
            ),
        )


def test_serve_refuses_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert serve("--data", str(tmp_path / "file" / "data"), "--port", "0") == (
        2,
        "",
        (
            f"csparql-spark: the data directory {tmp_path}/file/data cannot be written (Not a directory): "
            "choose another one with --data\n"
        ),
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_serve_does_not_stand_open(tmp_path: Path, host: str) -> None:
    """Where others reach it, it needs tokens."""
    assert serve("--data", str(tmp_path), "--port", "0", "--host", host) == (
        2,
        "",
        (
            f"csparql-spark: a server that listens on {host} can be reached by others, and needs tokens: make one with "
            f"`csparql-spark token add NAME --scope admin --data {tmp_path}`, or listen on 127.0.0.1\n"
        ),
    )


def test_serve_refuses_settings_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text("data = 'd'\nkeep-lag = 5\n")
    assert serve("--config", str(tmp_path / "house.toml")) == (
        2,
        "",
        (
            f"csparql-spark: {tmp_path}/house.toml, line 2: there is no setting 'keep-lag': did you mean 'keep-log'? "
            "(`csparql-spark config` lists them all)\n"
        ),
    )
    assert serve("--port", "0", "--data", str(tmp_path), CSPARQL_TOKENS="lab") == (
        2,
        "",
        (
            "csparql-spark: a token of the settings cannot be read (there is no scope '': choose of read, push, register, "
            "admin): it is NAME:SCOPE+SCOPE:HASH, as `csparql-spark token add NAME --scope read --as-setting` prints it\n"
        ),
    )


def test_serve_says_that_java_is_missing(tmp_path: Path) -> None:
    assert serve("--data", str(tmp_path), "--port", "0", PATH=str(tmp_path), JAVA_HOME="") == (
        2,
        "",
        (
            "csparql-spark: Java was not found: install a Java runtime, 17 or newer, and put it on PATH "
            "or point JAVA_HOME at it\n"
        ),
    )


def test_serve_says_that_java_is_too_old(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    code, out, error = serve("--data", str(tmp_path / "data"), "--port", "0", JAVA_HOME=str(tmp_path))
    assert (code, out) == (2, "")
    assert error == (
        f"csparql-spark: Java 17 or newer is needed, and {java} is 11.0.2: install a newer one, "
        "and put it first on PATH or point JAVA_HOME at it\n"
    )
