/* The body of a table: the terms that its cells name, each once and in their order, and the cells as places among
 * them. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum { SPARSE = 16, ROUND = 8 }; /* where fewer than one term in so many is named, those that are are sorted */

static inline int64_t padded(int64_t size) { return (size + ROUND - 1) / ROUND * ROUND; }

static inline int64_t cell_of(Cells column, Py_ssize_t row)
{
    return column.wide ? ((const int64_t *)column.data)[row] : ((const int32_t *)column.data)[row];
}

/* The terms that are there, how many cells there are, and those terms that cells name: their places among all, which
 * ascend, and, where many are named, the number of each among these, one more than that, and 0 for all others. */
typedef struct {
    Ids offsets;
    Flags text;
    Py_ssize_t terms, rows, columns;
    int32_t *named, *numbers;
    Py_ssize_t count;
} Table;

static int by_place(const void *one, const void *other)
{
    int32_t first = *(const int32_t *)one, second = *(const int32_t *)other;
    return (first > second) - (first < second);
}

static inline int32_t number_of(const Table *table, int64_t place)
{
    if (place < 0)
        return -1;
    if (table->numbers)
        return table->numbers[place] - 1;
    Py_ssize_t low = 0, high = table->count; /* named[low] <= place < named[high] */
    while (high - low > 1) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (table->named[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return (int32_t)low;
}

/* Finds the terms that are named; whether there was room for them. */
static int name_terms(Table *table, const Cells *cells)
{
    const Py_ssize_t size = table->rows * table->columns;
    const int sparse = table->terms / SPARSE > size;
    table->named = malloc((size_t)(sparse ? size : table->terms) * sizeof *table->named + 1);
    table->numbers = sparse ? NULL : calloc((size_t)table->terms + 1, sizeof *table->numbers);
    if (!table->named || (!sparse && !table->numbers))
        return 0;
    Py_ssize_t count = 0;
    for (Py_ssize_t k = 0; k < table->columns; k++)
        for (Py_ssize_t i = 0; i < table->rows; i++) {
            int64_t place = cell_of(cells[k], i);
            if (place < 0)
                continue;
            if (sparse)
                table->named[count++] = (int32_t)place;
            else
                table->numbers[place] = 1;
        }
    if (sparse) {
        qsort(table->named, (size_t)count, sizeof *table->named, by_place);
        for (Py_ssize_t i = 0; i < count; i++)
            if (!i || table->named[i] != table->named[i - 1])
                table->named[table->count++] = table->named[i];
    } else {
        for (Py_ssize_t place = 0; place < table->terms; place++)
            if (table->numbers[place]) {
                table->named[table->count] = (int32_t)place;
                table->numbers[place] = (int32_t)++table->count;
            }
    }
    return 1;
}

/* How long the texts of the terms are that are named; -1 if one is not where it is said to be. */
static int64_t text_length(const Table *table)
{
    int64_t length = 0;
    for (Py_ssize_t i = 0; i < table->count; i++) {
        const int32_t *offset = table->offsets.data + table->named[i];
        if (offset[0] < 0 || offset[1] < offset[0] || offset[1] > table->text.size)
            return -1;
        length += offset[1] - offset[0];
    }
    return length > INT32_MAX ? -1 : length;
}

static void write_body(const Table *table, const Cells *cells, int64_t length, uint8_t *body)
{
    int32_t *offsets = (int32_t *)body, end = 0;
    uint8_t *text = body + padded(4 * (table->count + 1));
    for (Py_ssize_t i = 0; i < table->count; i++) {
        int32_t start = table->offsets.data[table->named[i]], size = table->offsets.data[table->named[i] + 1] - start;
        offsets[i] = end;
        memcpy(text + end, table->text.data + start, (size_t)size);
        end += size;
    }
    offsets[table->count] = end;
    int32_t *list = (int32_t *)(text + padded(length)), *places = list + 2;
    list[0] = 0;
    list[1] = (int32_t)(table->rows * table->columns);
    for (Py_ssize_t k = 0; k < table->columns; k++)
        for (Py_ssize_t i = 0; i < table->rows; i++)
            *places++ = number_of(table, cell_of(cells[k], i));
}

/* table_body(offsets, text, out numbers, column…) -> bytes
 *
 * The terms are in their order, and their offsets int32, as the cells may be: places among them (-1: unbound). The body
 * is what Arrow has of two lists, each part of it filled up to a multiple of eight bytes: the offsets of the terms that
 * are named, and their text; where the only list of cells begins and ends, and the cells. The numbers are how many
 * terms are named, and how long their text is. */
PyObject *table_body(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    Cells cells_of[MOST_ARGUMENTS];
    begin(&call, arguments, count);
    Table table = {.offsets = ids_in(&call)};
    table.text = flags_in(&call);
    Column numbers = column_out(&call);
    for (table.columns = 0; left(&call); table.columns++)
        cells_of[table.columns] = cells(&call);
    if (!call.failed && (numbers.size != 2 || table.offsets.size < 1 || table.columns < 1))
        wrong(&call, "columns of lengths that do not fit");
    table.terms = table.offsets.size - 1;
    table.rows = call.failed ? 0 : cells_of[0].size;
    for (Py_ssize_t k = 0; k < table.columns && !call.failed; k++) {
        if (cells_of[k].size != table.rows)
            wrong(&call, "columns of lengths that do not fit");
        for (Py_ssize_t i = 0; i < table.rows && !call.failed; i++)
            if (cell_of(cells_of[k], i) < -1 || cell_of(cells_of[k], i) >= table.terms)
                wrong(&call, "a place that no term has");
    }
    if (!call.failed && table.rows > INT32_MAX / table.columns)
        wrong(&call, "more cells than a table can have");
    PyObject *body = NULL;
    if (!call.failed) {
        if (!name_terms(&table, cells_of))
            no_memory(&call);
        int64_t length = call.failed ? 0 : text_length(&table);
        if (length < 0)
            wrong(&call, "terms that are not where they are said to be");
        if (!call.failed) {
            int64_t size =
                padded(4 * (table.count + 1)) + padded(length) + 8 + padded(4 * table.rows * table.columns);
            body = PyBytes_FromStringAndSize(NULL, size);
            if (body) {
                uint8_t *bytes = (uint8_t *)PyBytes_AsString(body);
                /* What fills up is zero, and written before what is not. */
                memset(bytes + padded(4 * (table.count + 1)) - ROUND, 0, ROUND);
                memset(bytes + size - ROUND, 0, ROUND);
                if (length)
                    memset(bytes + padded(4 * (table.count + 1)) + padded(length) - ROUND, 0, ROUND);
                write_body(&table, cells_of, length, bytes);
                numbers.data[0] = table.count;
                numbers.data[1] = length;
            }
        }
    }
    free(table.named);
    free(table.numbers);
    return end_with(&call, body);
}
