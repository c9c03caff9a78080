"""Errors in rule files as people see them: each `rules/*.rules` is refused with exactly the text of its `.txt`.

The first line of a `.txt` is the code, the second the sentence, the rest the picture. To add a case, write the
`.rules`, run `python -m tests.language.test_rule_errors`, and read what it wrote before you keep it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from csparql_spark.language import LanguageError, parse_rules

CASES = sorted((Path(__file__).parent / "rules").glob("*.rules"))


def told(text: str) -> str:
    try:
        file = parse_rules(text)
    except LanguageError as error:
        return f"{error.code}\n{error}\n{error.picture(text)}\n"
    return f"accepted: {file}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_golden(case: Path) -> None:
    assert told(case.read_bytes().decode()) == case.with_suffix(".txt").read_bytes().decode()


def test_every_case_is_wrong_and_every_answer_has_a_question() -> None:
    stems = {path.stem for path in CASES}
    assert len(stems) > 80
    assert {path.stem for path in CASES[0].parent.iterdir()} == stems
    assert [path.stem for path in CASES if path.with_suffix(".txt").read_text().startswith("accepted")] == []


def test_the_fields_of_an_error() -> None:
    with pytest.raises(LanguageError) as caught:
        parse_rules("# transitive\r\n[r: (?x rdf:typ ?y) => (?y rdf:type ?x)]")
    error = caught.value
    fields = (error.code, error.line, error.column, error.end_column, error.offending, error.expected, error.hint)
    assert fields == ("bad-arrow", 2, 21, 23, "=>", "a clause or ->", "Write ->.")
    assert error.message == '"=>" is no arrow of rules.'


if __name__ == "__main__":
    for path in CASES:
        path.with_suffix(".txt").write_bytes(told(path.read_bytes().decode()).encode())
