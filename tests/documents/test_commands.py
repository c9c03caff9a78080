"""Commands are found where a document has them, with what it says they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.commands import Command, commands

DOCUMENT = """# A
```sh
curl -X PUT http://h/a
```
Words.
```text
not of a command
```
## B
```sh
curl http://h/a
```

```text
a,…
…
z
```
```python
no = "command"
```
## C
```sh
last
```
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "document.md"
    path.write_text(DOCUMENT, encoding="utf-8")
    return path


def test_blocks_are_commands_with_what_stands_behind_them(document: Path) -> None:
    assert commands(document) == [
        Command(3, "curl -X PUT http://h/a\n", None),
        Command(11, "curl http://h/a\n", "a,…\n…\nz\n"),
        Command(24, "last\n", None),
    ]


def test_of_one_section(document: Path) -> None:
    assert [command.line for command in commands(document, within="B")] == [11]
    with pytest.raises(ValueError, match="no section 'D'"):
        commands(document, within="D")


def test_what_is_shown_may_leave_out_parts(document: Path) -> None:
    shown = commands(document)[1]
    assert shown.is_as_shown("a,1\r\nb\r\nc\r\nz\r\n")
    assert not shown.is_as_shown("a,1\nb\nc\n")
    assert not shown.is_as_shown("b\na,1\nb\nz")
    assert Command(1, "true", None).is_as_shown("whatever")


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("curl http://h/q", True),
        ("curl -s -G http://h/sparql --data-urlencode 'query=…'", True),
        ("curl -X POST http://h/q", False),
        ("csparql-spark push a.nq", False),
        ("csparql-spark tail Hot --count 1", True),
    ],
)
def test_who_only_reads(text: str, reads: bool) -> None:
    assert Command(1, text, None).only_reads is reads
