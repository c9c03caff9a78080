/* The rows of a table as text: the texts of their cells, which are there once for each term, and what is between. */
#include <string.h>

#include "kernel.h"

enum { BYTES = 64 }; /* that are copied in the time that something else is done for a row */

typedef struct {
    const uint8_t *bytes;
    int64_t size;
} Text;

/* The cells of all rows, column by column, as places among texts (-1: unbound), and what stands around them: for each
 * column what is before its cell where that is the first of a row, and where it is not; then what ends a row that has
 * cells, and what is all of a row that has none. */
typedef struct {
    Column offsets, around_offsets;
    Flags data, around;
    Ids places;
    Py_ssize_t columns, rows;
    int skips; /* a cell that is unbound is left out; otherwise its text is empty */
} Table;

static inline Text around(const Table *table, Py_ssize_t which)
{
    int64_t start = table->around_offsets.data[which];
    return (Text){table->around.data + start, table->around_offsets.data[which + 1] - start};
}

static inline Text cell(const Table *table, int32_t place)
{
    if (place < 0)
        return (Text){table->data.data, 0};
    int64_t start = table->offsets.data[place];
    return (Text){table->data.data + start, table->offsets.data[place + 1] - start};
}

/* Whether a place is that of a text, or of nothing. */
static inline int is_there(const Table *table, int32_t place)
{
    if (place == -1)
        return 1;
    if (place < 0 || place >= table->offsets.size - 1)
        return 0;
    int64_t start = table->offsets.data[place], last = table->offsets.data[place + 1];
    return start >= 0 && start <= last && last <= table->data.size;
}

static int ascend(Column offsets, Flags data)
{
    if (offsets.data[0] < 0 || offsets.data[offsets.size - 1] > data.size)
        return 0;
    for (Py_ssize_t i = 1; i < offsets.size; i++)
        if (offsets.data[i - 1] > offsets.data[i])
            return 0;
    return 1;
}

/* How much room a row leaves of what there is; less than 0 if it is not enough. */
static int64_t left_by(Call *call, const Table *table, Py_ssize_t row, int64_t room)
{
    Py_ssize_t first = 0; /* of the texts around: those of cells that are not the first follow those that are */
    for (Py_ssize_t c = 0; c < table->columns && room >= 0; c++) {
        int32_t place = table->places.data[c * table->rows + row];
        if (!is_there(table, place)) {
            take_turn(call);
            wrong(call, "a place that no text has");
            return -1;
        }
        if (place < 0 && table->skips)
            continue;
        room -= around(table, first + c).size + cell(table, place).size;
        first = table->columns;
    }
    return room - around(table, 2 * table->columns + (first == 0)).size;
}

static inline uint8_t *put(uint8_t *out, Text text)
{
    memcpy(out, text.bytes, (size_t)text.size);
    return out + text.size;
}

static uint8_t *write_row(const Table *table, Py_ssize_t row, uint8_t *out)
{
    Py_ssize_t first = 0;
    for (Py_ssize_t c = 0; c < table->columns; c++) {
        int32_t place = table->places.data[c * table->rows + row];
        if (place < 0 && table->skips)
            continue;
        out = put(out, around(table, first + c));
        out = put(out, cell(table, place));
        first = table->columns;
    }
    return put(out, around(table, 2 * table->columns + (first == 0)));
}

/* row_text(offsets, data, places, first, around offsets, around, skips, most, out count) -> bytes
 *
 * As many rows, from the first on, as have no more than `most` bytes together: their text, and how many they are. It is
 * known how large the text is before there is any. */
PyObject *row_text(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Table table;
    table.offsets = column(&call);
    table.data = flags_in(&call);
    table.places = ids_in(&call);
    int64_t first = number(&call);
    table.around_offsets = column(&call);
    table.around = flags_in(&call);
    table.skips = number(&call) != 0;
    int64_t most = number(&call);
    Column written = column_out(&call);
    table.columns = (table.around_offsets.size - 3) / 2;
    if (!call.failed && (table.offsets.size < 1 || table.columns < 1 || table.around_offsets.size % 2 == 0 ||
                         table.places.size % table.columns || written.size < 1))
        wrong(&call, "columns of lengths that do not fit");
    if (!call.failed && !ascend(table.around_offsets, table.around))
        wrong(&call, "texts that are not where they are said to be");
    table.rows = call.failed ? 0 : table.places.size / table.columns;
    if (first < 0 || first > table.rows || most < 0)
        wrong(&call, "a row that is not there, or less room than none");
    if (call.failed)
        return end(&call, 0);
    Py_ssize_t asked = (table.rows - first) * table.columns, last = first;
    let_others_run(&call, asked < most / BYTES ? asked : most / BYTES);
    int64_t room = most;
    for (int64_t left; last < table.rows && (left = left_by(&call, &table, last, room)) >= 0; last++)
        room = left;
    take_turn(&call);
    PyObject *text = call.failed ? NULL : PyBytes_FromStringAndSize(NULL, most - room);
    if (!text)
        return end_with(&call, NULL);
    uint8_t *out = (uint8_t *)PyBytes_AsString(text);
    let_others_run(&call, (most - room) / BYTES + (last - first) * table.columns);
    for (Py_ssize_t row = first; row < last; row++)
        out = write_row(&table, row, out);
    written.data[0] = last - first;
    return end_with(&call, text);
}
