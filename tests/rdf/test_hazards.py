"""What is read where it came in grows with its size, and does not recurse; what may do more is known beforehand."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from csparql_spark.rdf.formats import RdfFormat, parse_push
from csparql_spark.rdf.hazards import LARGEST, MOST_CONTEXTS, hazardous
from csparql_spark.rdf.pushes import PushFormat
from tests.poison.recipes import arrow, attributes, literals, repeated, scoped

TRIPLE = b"<urn:a> <urn:p> <urn:b> .\n"
LINE = b'{"s":"<urn:a>","p":"<urn:p>","o":"<urn:b>"}\n'


@pytest.mark.parametrize("format", LARGEST)
def test_what_is_small_and_plain_is_read_here_and_what_is_large_is_not(format) -> None:
    assert not hazardous(LINE if format is PushFormat.NDJSON else TRIPLE, format)
    assert hazardous(b" " * (LARGEST[format] + 1), format)


@pytest.mark.parametrize(
    "body, format, expected",
    [
        (scoped(50).content, RdfFormat.JSON_LD, False),  # a context more than one, in what is small
        (scoped(1000).content, RdfFormat.JSON_LD, True),
        (scoped(1000).content.replace(b"@context", b"\\u0040context"), RdfFormat.JSON_LD, True),
        (b'{"@context":{"a":"urn:a"},"a":"%b"}' % (b"x" * MOST_CONTEXTS), RdfFormat.JSON_LD, False),
        (LINE * 10_000, PushFormat.NDJSON, False),
        (b'{"@id":"urn:a","urn:p":1}\n' * 1_000, PushFormat.NDJSON, False),
        (b'{"@id":"urn:a","urn:p":1}\n' * 10_000, PushFormat.NDJSON, True),
        (LINE * 10 + scoped(1000).content, PushFormat.NDJSON, True),
        (scoped(1000).content + b"\n" + LINE, PushFormat.NDJSON, True),
        (arrow(1000, 1, shared=False).content, PushFormat.ARROW, False),
        (arrow(100_000, 300, shared=False, compression="zstd").content, PushFormat.ARROW, True),
        (b"nonsense", PushFormat.ARROW, False),
    ],
)
def test_what_may_be_too_much_is_known(body: bytes, format, expected: bool) -> None:
    assert hazardous(body, format) is expected


# Of each format the worst that is known, as large as it is read here.
WORST = {
    "brackets": (RdfFormat.TURTLE, repeated("", 40_000, "[<p:>", "]", "<urn:a> <urn:p> ", ".", "1").content),
    "collections": (RdfFormat.TRIG, repeated("", 120_000, "(", ")", "{<urn:a> <urn:p> ", "}", "1").content),
    "a prefix": (RdfFormat.TURTLE, b"@prefix a:<u:" + b"x" * 100_000 + b">." + b"a:a a:a a:a." * 12_000),
    "blank nodes": (RdfFormat.N_TRIPLES, b"_:a<p:>_:a.\n" * 340_000),
    "attributes": (RdfFormat.RDF_XML, attributes(5_000).content),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_of_what_is_read_here_does_not_recurse(name: str) -> None:
    """A stack of 256 KiB is enough for it; in a process of its own, which would be killed."""
    format, body = WORST[name]
    assert not hazardous(body, format)
    script = (
        "import sys; from csparql_spark.rdf.formats import *; from csparql_spark.rdf.errors import RdfError\n"
        "try: parse_push(sys.stdin.buffer.read(), RdfFormat[sys.argv[1]], base=None, blank_prefix='b.')\n"
        "except RdfError as error: print(error)\nprint('read')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, format.name],
        input=body,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10)),
    )
    assert done.stdout.endswith(b"read\n"), done.stderr


def test_a_literal_that_is_too_long_is_no_fault() -> None:
    with pytest.raises(ValueError, match="A statement of the data is longer than 16 MiB"):
        parse_push(literals(1, 50_000_000).encode(), RdfFormat.N_QUADS, base=None, blank_prefix="b.")
