"""Errors as people see them: each `errors/*.rq` is refused with exactly the text of its `.txt`.

The first line of a `.txt` is the code, the second the sentence, the rest the picture. To add a case, write the `.rq`,
run `python -m tests.language.test_errors`, and read what it wrote before you keep it.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csparql_spark.language import LanguageError, parse
from csparql_spark.language.errors import Fix, Lines, error_at

CASES = sorted((Path(__file__).parent / "errors").glob("*.rq"))


def told(text: str) -> str:
    try:
        query = parse(text)
    except LanguageError as error:
        return f"{error.code}\n{error}\n{error.picture(text)}\n{fixed(error.fix, text)}"
    return f"accepted: {query.body}\n"


def fixed(fix: Fix | None, text: str) -> str:
    """The lines that a fix changes, as they are after it."""
    if fix is None:
        return ""
    lines, after = Lines(text), fix.applied(text)
    end = lines.offset(fix.line, fix.column) + len(fix.text)
    last = Lines(after).locate(max(end - 1, 0))[0]
    changed = [Lines(after).line(number) for number in range(fix.line, max(fix.line, last) + 1)]
    return f"fix: {fix.label}\n" + "".join(f"  + | {line[:200]}\n" for line in changed)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_golden(case: Path) -> None:
    assert told(case.read_bytes().decode()) == case.with_suffix(".txt").read_bytes().decode()


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_fix_takes_its_error_away(case: Path) -> None:
    text = case.read_bytes().decode()
    with pytest.raises(LanguageError) as caught:
        parse(text)
    first = caught.value
    if first.fix is None:
        return
    try:
        parse(first.fix.applied(text))
    except LanguageError as second:
        assert (second.code, second.message) != (first.code, first.message)
        assert (second.line, second.column) >= (first.line, first.column)


def test_many_errors_have_a_fix() -> None:
    texts = [case.with_suffix(".txt").read_text() for case in CASES]
    assert sum("\nfix: " in text for text in texts) >= 45


def test_every_case_is_wrong_and_every_answer_has_a_question() -> None:
    stems = {path.stem for path in CASES}
    assert len(stems) > 100
    assert {path.stem for path in CASES[0].parent.iterdir()} == stems
    assert [path.stem for path in CASES if path.with_suffix(".txt").read_text().startswith("accepted")] == []


def test_the_fields_of_an_error() -> None:
    text = "REGISTER QUERY q AS\r\nSELECT ?x FROM STREAM <http://ex.org/s> [RANGE 10S] { ?x ?p ?o }"
    with pytest.raises(LanguageError) as caught:
        parse(text)
    error = caught.value
    fields = (error.code, error.line, error.column, error.end_column, error.offending, error.expected, error.hint)
    assert fields == ("bad-unit", 2, 50, 51, "S", None, "Units are lower case: write 10s.")
    assert error.message == '"S" is not a unit of time.'
    assert str(error) == 'line 2, column 50: "S" is not a unit of time. Units are lower case: write 10s.'


def test_what_was_expected_is_a_field() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("REGISTER QUERY q SELECT ?x { ?x ?p ?o }")
    assert caught.value.expected == "COMPUTE EVERY or AS"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_counts_once(end: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(f"SELECT ?x{end}{end}  WHERE {{ ?x ?p }}")
    assert (caught.value.line, caught.value.column) == (3, 17)


def test_columns_count_characters() -> None:
    with pytest.raises(LanguageError) as caught:
        parse('SELECT ?x WHERE { ?x ?p "é学😀" , }')
    assert caught.value.column == 33


def test_a_picture_of_a_long_line_is_cut_around_the_error() -> None:
    text = "SELECT ?x WHERE { " + "?x ?p ?o . " * 40 + "?x ?p }" + " # more" * 40
    with pytest.raises(LanguageError) as caught:
        parse(text)
    source, carets = caught.value.picture(text).split("\n")
    assert len(source) <= 110
    assert source[carets.index("^")] == "}"


def test_errors_can_be_sent_to_other_processes() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("SELECT")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.__dict__) == (str(caught.value), caught.value.__dict__)


@given(st.text(st.sampled_from("ab\n\r\u2028é"), max_size=30), st.data())
def test_lines_and_columns_against_counting(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    line, column, position = 1, 1, 0
    while position < offset:
        if text.startswith("\r\n", position):
            if position + 1 == offset:
                column += 1
                position += 1
                continue
            position += 2
            line, column = line + 1, 1
        elif text[position] in "\r\n":
            position += 1
            line, column = line + 1, 1
        else:
            position += 1
            column += 1
    assert Lines(text).locate(offset) == (line, column)
    error = error_at(text, offset, len(text), "code", "message")
    assert (error.line, error.column, error.offending) == (line, column, text[offset:])


if __name__ == "__main__":
    for path in CASES:
        path.with_suffix(".txt").write_bytes(told(path.read_bytes().decode()).encode())
