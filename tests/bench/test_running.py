"""The runner: lines are stamped and kept as they come, failures are told, and what is there is not measured again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench import __main__ as running
from bench import machine, parts
from bench.parts import PARTS, Part
from bench.results import Line, read
from bench.stamps import Run


def program(*prints: object, status: int = 0, error: str = "") -> list[str]:
    """A command that prints lines, and ends."""
    text = "".join(f"print({json.dumps(json.dumps(line))})\n" for line in prints)
    return [sys.executable, "-c", f"import sys\n{text}print({error!r}, file=sys.stderr)\nsys.exit({status})"]


class Played(Part):
    """A part whose command is known."""

    def command(self, name: str, quick: bool) -> list[str]:
        return list(self.full)


def play(monkeypatch: pytest.MonkeyPatch, **commands: list[str]) -> None:
    monkeypatch.setattr(
        running,
        "PARTS",
        {
            name: Played("", 1, tuple(command), 1, tuple(command), "old" if name == "new" else "")
            for name, command in commands.items()
        },
    )


def lines_of(path: Path) -> list[Line]:
    return list(read(path.read_text(encoding="utf-8").splitlines()))


def test_lines_are_stamped_and_appended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    play(monkeypatch, a=program({"bench": "a", "ms": 1}), b=program({"bench": "b-begins", "pid": 7}, {"bench": "b"}))
    output = tmp_path / "new" / "results.jsonl"
    for _ in range(2):
        told = CliRunner().invoke(running.main, ["--times", "2", "--output", str(output)])
        assert told.exit_code == 0, told.output
    found = lines_of(output)
    assert [line["bench"] for line in found] == 2 * ["machine", "a", "a", "b", "b"]
    assert [line["run"] for line in found[:5]] == 5 * [found[0]["run"]]
    assert found[0]["cores"] >= 1 and found[0]["python"] and "commit" in found[0]
    assert found[1]["command"] == "python -m bench a" and found[3]["command"] == "python -m bench b"
    assert all({"at", "lasted", "load_before", "load_after"} <= line.keys() for line in found)
    assert not any("quick" in line for line in found)


def test_what_fails_has_a_line_with_the_reason_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play(
        monkeypatch,
        a=program(status=3, error="RuntimeError: no"),
        b=program({"bench": "b", "ms": 1}),
        c=program({"bench": "c", "holds": False}, status=1),
    )
    output = tmp_path / "results.jsonl"
    told = CliRunner().invoke(running.main, ["--quick", "--output", str(output)])
    assert told.exit_code == 1 and "without numbers: a: RuntimeError: no" in told.output
    machine_line, a, b, c = lines_of(output)
    assert a["reason"] == "RuntimeError: no" and "reason" not in b and c["holds"] is False
    assert a["command"] == "python -m bench a --quick" and all(line["quick"] for line in (machine_line, a, b, c))


def test_a_program_of_two_parts_has_lines_of_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    play(monkeypatch, new=program({"bench": "old-step"}, {"bench": "old"}))
    output = tmp_path / "results.jsonl"
    assert CliRunner().invoke(running.main, ["--output", str(output)]).exit_code == 0
    assert [line["bench"] for line in lines_of(output)] == ["machine", "new-step", "new"]


def test_what_is_there_is_not_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    output.write_text('{"bench": "a", "ms": 1}\n{"bench": "b", "reason": "no"}\n')
    play(monkeypatch, a=program({"bench": "a"}), b=program({"bench": "b"}), c=program({"bench": "c"}))
    told = CliRunner().invoke(running.main, ["--missing", "--output", str(output)])
    assert told.exit_code == 0, told.output
    assert [line["bench"] for line in lines_of(output)][2:] == ["machine", "b", "c"]
    assert "needs --output" in CliRunner().invoke(running.main, ["--missing"]).output


def test_half_a_line_is_closed_before_the_next(tmp_path: Path) -> None:
    output = tmp_path / "results.jsonl"
    output.write_text('{"bench": "a"}\n{"ben')
    with Run.writer(output) as write:
        write({"bench": "b"})
    assert output.read_text().splitlines() == ['{"bench": "a"}', '{"ben', '{"bench": "b"}']


def test_a_name_is_one_part_and_a_beginning_is_all_that_begin_so() -> None:
    assert running.named(["latency-1000"]) == ["latency-1000"]
    assert running.named(["latency"]) == ["latency-1000", "latency-10000"]
    assert running.named([]) == list(PARTS)
    told = CliRunner().invoke(running.main, ["latency", "nothing"])
    assert told.exit_code == 1 and "there is no benchmark nothing: choose of commits, parsing" in told.output


def test_the_list_tells_how_long_all_takes() -> None:
    told = CliRunner().invoke(running.main, ["--list", "commits", "parsing"]).output.splitlines()
    assert [line.split() for line in told] == [
        ["commits", "10", "s"],
        ["parsing", "3", "s"],
        ["all", "of", "these", "13", "s"],
    ]
    assert sum(part.quick_seconds for part in PARTS.values() if part.quick is not None) <= 300


@pytest.mark.parametrize("name", [name for name, part in PARTS.items() if callable(part.full)])
def test_parts_name_what_there_is(name: str) -> None:
    """Each asks its module for something that is there, with arguments that it takes."""
    import importlib
    import inspect

    module = importlib.import_module(f"bench.{PARTS[name].module}")
    called = []

    class Asked:
        def __getattr__(self, attribute: str) -> object:
            found = getattr(module, attribute)
            return (lambda *given: called.append(inspect.signature(found).bind(*given))) if callable(found) else found

    for call in filter(None, (PARTS[name].full, PARTS[name].quick)):
        call(Asked())
        assert called.pop()


def test_one_part_is_measured_in_a_process_of_its_own() -> None:
    told = CliRunner().invoke(parts.main, ["closure-scratch-10000"])
    line = json.loads(told.output)
    assert line["bench"] == "closure-scratch-10000" and line["facts"] == 48_810
    assert "has no small size" in CliRunner().invoke(parts.main, ["idle", "--quick"]).output


def test_the_machine_is_told_without_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    shape = machine.shape()
    assert shape["java"] is None is shape["node"] is shape["commit"]
    assert shape["cores"] >= 1 and shape["memory_gb"] > 0 and shape["numpy"]
