"""Pushes as Arrow IPC streams: triples that are columns already, the fast path of producers.

    s, p, o   strings in N-Triples syntax: utf8 or large_utf8, plain or dictionary-encoded
    t         may be left out: an integer (milliseconds since the epoch) or a timestamp of any unit (without a zone it
              is UTC); null where a triple has no timestamp

    table = pa.table({"s": ["<urn:a>"], "p": ["<urn:p>"], "o": ['"1"'], "t": [1_700_000_000_000]})
    with pa.ipc.new_stream(sink, table.schema) as writer: writer.write_table(table)
    read_arrow(sink.getvalue(), blank_prefix="x7.")          # the chunk of the same triples as N-Quads

A body is read whole or not at all: it must end with the mark that its writer leaves when it is closed. What a
body stands for is bounded before it is made: buffers may be compressed (LZ4, ZSTD), and dictionaries may be replaced
and grow, within the limits below. Every value is validated; a body that is malformed in any way is an `RdfError`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from csparql_spark.rdf.chunk import Chunk
from csparql_spark.rdf.columns import BadTerm, chunk_of_columns
from csparql_spark.rdf.errors import RdfError

MOST_BYTES = 2**29  # of buffers once they are decompressed, and of the dictionaries that a body goes through

_SCHEMA_HINT = "send columns s, p and o of strings in N-Triples syntax, and perhaps t (milliseconds or a timestamp)"
# With the continuation mark that writers put before each message, and as they did before there was one.
_END = (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0")
_TICKS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}


def read_arrow(body: bytes, *, blank_prefix: str) -> Chunk:
    """The triples of a push. Raises `RdfError` if the body is not such a stream."""
    if not body:
        return Chunk.empty()
    if body.startswith(b"ARROW1"):
        raise RdfError("The data is an Arrow file: send an Arrow IPC stream (pyarrow.ipc.new_stream writes one)")
    try:
        _refuse_explosive(body)
        columns = _columns(body)
    # Arrow's own exceptions are of several kinds; struct's is that of a header which is shorter than it says.
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        MemoryError,
        struct.error,
    ) as error:
        if isinstance(error, RdfError):
            raise
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise RdfError(f"The data is not a whole Arrow IPC stream: {reason}") from error
    try:
        return chunk_of_columns(columns["s"], columns["p"], columns["o"], columns.get("t"), blank_prefix)
    except BadTerm as bad:
        raise RdfError(f"Row {bad.row + 1}, column {bad.column}: {bad.message}", offending=bad.offending) from bad


def expanded(body: bytes) -> int:
    """How many bytes the body says that it stands for, once its buffers are decompressed; none, where it says so in a
    way that cannot be read."""
    claimed = 0
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(body)):
            claimed += _claimed(message)
    except (pa.ArrowException, OSError, ValueError, MemoryError, struct.error):
        pass  # whoever reads the body says why
    return max(claimed, len(body))


def _columns(body: bytes) -> dict[str, pa.Array]:
    """The columns, each in one piece; t in milliseconds."""
    with pa.ipc.open_stream(body) as reader:
        names = _checked(reader.schema)
        table = pa.Table.from_batches(list(_bounded(reader)), reader.schema).select(names)
    columns = {}
    for name in names:
        column = table.column(name)
        if name == "t":
            column = _milliseconds(column)
        elif pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        else:
            column = column.dictionary_encode()
        columns[name] = column.combine_chunks()
    return columns


def _checked(schema: pa.Schema) -> list[str]:
    names = schema.names
    if sorted({*names, "t"}) != ["o", "p", "s", "t"] or len(set(names)) != len(names):
        raise RdfError(f"The columns of the data are {', '.join(map(repr, names)) or 'none'}: {_SCHEMA_HINT}")
    for field in schema:
        kind = field.type
        if field.name == "t":
            fine = pa.types.is_integer(kind) or pa.types.is_timestamp(kind)
        else:
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            fine = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not fine:
            raise RdfError(f"The column {field.name} of the data has the type {str(field.type)[:80]}: {_SCHEMA_HINT}")
    return names


def _bounded(reader: pa.ipc.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    """The record batches, validated, as long as the dictionaries that they come with keep to the limit."""
    last: dict[int, int] = {}
    total = 0
    for batch in reader:
        batch.validate(full=True)
        for place, column in enumerate(batch.columns):
            if not isinstance(column, pa.DictionaryArray):
                continue
            dictionary = column.dictionary
            values = dictionary.buffers()[2]
            address = values.address if values is not None else 0
            if last.get(place) != address:
                last[place] = address
                total += dictionary.get_total_buffer_size()
        if total > MOST_BYTES:
            raise RdfError(
                f"The dictionaries of the data have more than {MOST_BYTES} bytes: send one dictionary, and "
                "only its new terms with later batches, or push the triples in parts"
            )
        yield batch


def _milliseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    times, over = _TICKS[column.type.unit]
    ticks = column.cast(pa.int64())
    if over == 1:
        return pc.multiply_checked(ticks, times)
    # Towards the past, also before 1970: division truncates towards 1970.
    whole = pc.divide(ticks, over)
    behind = pc.less(pc.subtract(ticks, pc.multiply(whole, over)), 0)
    return pc.if_else(behind, pc.subtract(whole, 1), whole)


def _refuse_explosive(body: bytes) -> None:
    """Raises `RdfError` if compressed buffers claim too much, and if the stream does not end where the body does."""
    source = pa.BufferReader(body)
    reader = pa.ipc.MessageReader.open_stream(source)
    claimed = 0
    while True:
        before = source.tell()
        try:
            message = reader.read_next_message()
        except StopIteration:
            break
        claimed += _claimed(message)
        if claimed > MOST_BYTES:
            raise RdfError(f"The data stands for more than {MOST_BYTES} bytes once decompressed: push it in parts")
    end = source.tell()
    if body[before:end] not in _END:
        raise RdfError("The data ends without an end-of-stream mark, so something may be missing: close the writer")
    if end < len(body):
        raise RdfError(f"There are {len(body) - end} bytes behind the end of the Arrow IPC stream: send one stream")


def _claimed(message: pa.ipc.Message) -> int:
    """How many bytes the compressed buffers of a message say that they hold.

    The header of a message is a FlatBuffers table: Message {version, header_type, header, …}; the header is a
    RecordBatch {length, nodes, buffers, compression, …}, or a DictionaryBatch {id, data: RecordBatch, …}.
    """
    header = memoryview(message.metadata)
    body = memoryview(message.body) if message.body is not None else memoryview(b"")
    root = _at("<I", header, 0)
    kind = _field(header, root, 1)
    content = _field(header, root, 2)
    if kind is None or content is None:
        return 0
    table = content + _at("<I", header, content)
    if header[kind] == 2:
        data = _field(header, table, 1)
        if data is None:
            return 0
        table = data + _at("<I", header, data)
    elif header[kind] != 3:
        return 0
    buffers = _field(header, table, 2)
    if _field(header, table, 3) is None or buffers is None:
        return 0
    start = buffers + _at("<I", header, buffers)
    total = 0
    for number in range(_at("<I", header, start)):
        offset, length = struct.unpack_from("<qq", header, start + 4 + 16 * number)
        if length >= 8 and 0 <= offset <= len(body) - 8:
            # Before compressed bytes stands how many they are when decompressed; -1: they are not compressed.
            size = _at("<q", body, offset)
            if size < -1:
                raise RdfError("The data is not a whole Arrow IPC stream: a compressed buffer has a negative size")
            total += max(size, 0)
    return total


def _field(header: memoryview, table: int, number: int) -> int | None:
    """Where a field of a FlatBuffers table stands; None if it has its default."""
    vtable = table - _at("<i", header, table)
    slot = 4 + 2 * number
    if vtable < 0 or slot + 2 > _at("<H", header, vtable):
        return None
    offset = _at("<H", header, vtable + slot)
    return table + offset if offset else None


def _at(kind: str, memory: memoryview, place: int) -> int:
    if place < 0:
        raise struct.error("a place before the start of the header")
    return struct.unpack_from(kind, memory, place)[0]
