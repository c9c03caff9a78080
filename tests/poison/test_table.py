"""What is written down of poisons: the limit that a sentence names, and the table with what its rows say together."""

from __future__ import annotations

from pathlib import Path

from csparql_spark.answers.excess import OF_ANSWERS
from csparql_spark.answers.limits import Limits
from tests.poison import table
from tests.poison.poison import Poison, limits
from tests.poison.trial import Seen

DOUBLED = Poison("string | doubled", "failed")
REGEX, CHAIN = Poison("regex", "answers"), Poison("chain", "failed", open="nobody knows why")
POISONS = [DOUBLED, REGEX, CHAIN]


def test_a_sentence_names_its_limit() -> None:
    assert limits(str(OF_ANSWERS.of_processor(Limits().seconds))) == {"time"}
    assert limits(str(OF_ANSWERS.of_memory(Limits().bytes))) == {"memory"}
    assert limits("The server made a mistake.") == set()


def test_rows_stay_until_their_poison_is_tried_again(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"Before.\n\n{table.BEGIN}\n{table.END}\nAfter.\n")
    failed = Seen(DOUBLED.name, "failed", "too much", "422", lag=8.4, above=2245.2, freed=0.9, left=0.5)
    table.write([failed, Seen(REGEX.name, "answers", asked="200", lag=0.1, above=29, freed=9)], POISONS, document)
    table.write(
        [Seen(REGEX.name, "answers", asked="200", lag=0.2, above=3, freed=1, broken=["it is"])], POISONS, document
    )
    assert document.read_text() == (
        f"Before.\n\n{table.BEGIN}\n"
        "Of 3 poisons 1 hold. The latest answer of the others came 8.4 s late, with 50% of the processors, "
        "and none later than 4.2 s in proportion to these; all\n"
        "processes together took 2,245 MiB more than before, at most, and had given it back 1.0 s after the "
        "poison was deleted, at the latest.\n\n"
        f"{table.HEAD}"
        "| string \\| doubled | failed: too much | 422 | 8.4 s | 50% | 2,245 MiB | 0.9 s |\n"
        "| regex | answers **broken**: it is | 200 | 0.2 s | 100% | 3 MiB | 1.0 s |\n"
        "| chain | **open**: nobody knows why | | | | | |\n"
        f"{table.END}\nAfter.\n"
    )
    assert list(table.rows(POISONS, document)) == [poison.name for poison in POISONS]
