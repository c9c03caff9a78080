from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from csparql_spark.language import ContinuousQuery, LanguageError, parse
from csparql_spark.language.queries.compiled import VERSION, compiled, restored
from tests.language import texts
from tests.language.generated import generated

GOLDEN = Path(__file__).parent / "compiled.json"
BASE = "http://base.example/"
LONGEST = 5000  # hardly one text in thirty that is longer means something
TEXTS = {**texts.TWELVE, **{f"rare-{number}": text for number, text in enumerate(texts.RARE)}}


def travelled(query: ContinuousQuery) -> ContinuousQuery | None:
    return restored(json.loads(json.dumps(compiled(query))), query.text)


def whole(query: ContinuousQuery) -> dict[str, object]:
    """All that a query says; equality leaves out its text and its warnings."""
    return dict(vars(query))


@pytest.mark.parametrize("text", [*TEXTS.values(), *texts.citybench().values()])
def test_the_form_of_a_query_is_the_query(text: str) -> None:
    fresh = parse(text, base=BASE)
    assert whole(travelled(fresh)) == whole(fresh)


@pytest.mark.parametrize("seed", range(4))
def test_the_form_of_any_query_is_the_query(seed: int) -> None:
    chance, found = random.Random(seed), 0
    while found < 50:
        try:
            fresh = parse(generated(chance, longest=LONGEST), base=BASE)
        except LanguageError:
            continue
        found += 1
        assert whole(travelled(fresh)) == whole(fresh)
        assert compiled(travelled(fresh)) == json.loads(json.dumps(compiled(fresh)))


def test_a_form_of_another_version_is_none() -> None:
    query = parse(texts.HOT_ROOMS)
    for form in (None, {}, [], "", {**compiled(query), "version": VERSION + 1}, {**compiled(query), "version": None}):
        assert restored(form, query.text) is None


def test_the_forms_of_this_version() -> None:
    """If this fails, what `parse` makes of texts has changed: count VERSION up, and run
    `python -m tests.language.test_compiled`."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden == {"version": VERSION, "forms": forms()}


def test_a_form_has_no_text_and_is_small() -> None:
    for name, text in texts.TWELVE.items():
        form = compiled(parse(text))
        assert "text" not in form
        assert len(json.dumps(form)) < len(text) + sum(map(len, form.get("warnings", ()))) + 200, name


def forms() -> dict[str, object]:
    return {name: json.loads(json.dumps(compiled(parse(text, base=BASE)))) for name, text in TEXTS.items()}


if __name__ == "__main__":
    GOLDEN.write_text(
        json.dumps({"version": VERSION, "forms": forms()}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
