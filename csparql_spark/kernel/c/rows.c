/* Rows of several columns, told apart by a hash table.
 *
 * A row is as many int64 as there are columns. Its number is the order in which it was first seen; the slots of a table
 * are those of `terms.h`, with a row's number in the place of a term's id. Rows are compared cell by cell, whatever
 * their hashes, and nobody who sends rows knows the seeds of these. */
#include <stdlib.h>

#include "kernel.h"
#include "terms.h"

enum { MOST_CELLS = 100, AHEAD = 16, QUICK = 1 << 17 };
/* A table that finds values by their places has so many cells for each of them: fewer, where it is large. */
enum { SMALL_TABLE = 1 << 24, DENSE = 16, LESS_DENSE = 4 };

/* Columns side by side, of int64 or of int32; or one of int64 in which the cells of a row follow each other. */
typedef struct {
    Cells column[MOST_CELLS];
    int columns;
    int64_t width;
    Py_ssize_t size;
} Rows;

/* The rest of the arguments: rows of so many cells. */
static void rows_of(Call *call, Rows *rows, int64_t width)
{
    rows->columns = 0;
    rows->width = width;
    rows->size = 0;
    while (left(call) && rows->columns < MOST_CELLS) {
        Cells next = cells(call);
        if (rows->columns && next.size != rows->size)
            wrong(call, "columns of lengths that do not fit");
        rows->column[rows->columns++] = next;
        rows->size = next.size;
    }
    if (call->failed)
        return;
    if (width < 1 || rows->columns < 1 || (rows->columns > 1 && rows->columns != width) ||
        (rows->columns == 1 && width > 1 && (!rows->column[0].wide || rows->size % width)) ||
        rows->size / width >= UINT32_MAX)
        wrong(call, "columns that are no rows");
    else if (rows->columns == 1)
        rows->size /= width;
}

/* The cells of some rows, one row after the other: where they are, or where they are copied to. */
static inline const int64_t *gathered(const Rows *rows, Py_ssize_t first, Py_ssize_t count, int64_t *room)
{
    const int64_t width = rows->width;
    if (rows->columns == 1 && rows->column[0].wide)
        return (const int64_t *)rows->column[0].data + first * width;
    for (int c = 0; c < rows->columns; c++) {
        const Cells column = rows->column[c];
        if (column.wide)
            for (Py_ssize_t i = 0; i < count; i++)
                room[i * width + c] = ((const int64_t *)column.data)[first + i];
        else
            for (Py_ssize_t i = 0; i < count; i++)
                room[i * width + c] = ((const int32_t *)column.data)[first + i];
    }
    return room;
}

static inline uint64_t hash_of_row(const int64_t *row, int64_t width, Seeds seeds)
{
    uint64_t hash = seeds.one;
    for (int64_t c = 0; c < width; c++)
        hash = folded((uint64_t)row[c] ^ seeds.two, hash ^ 0x9e3779b97f4a7c15u);
    return folded(hash ^ seeds.one, 0xd6e8feb86659fd93u ^ seeds.two);
}

static inline int alike(const int64_t *one, const int64_t *other, int64_t width)
{
    for (int64_t c = 0; c < width; c++)
        if (one[c] != other[c])
            return 0;
    return 1;
}

/* Whether a row is the one at a place of the columns. */
static inline int is_at(const Rows *rows, Py_ssize_t place, const int64_t *row)
{
    if (rows->columns == 1 && rows->column[0].wide)
        return alike((const int64_t *)rows->column[0].data + place * rows->width, row, rows->width);
    for (int c = 0; c < rows->columns; c++) {
        const Cells column = rows->column[c];
        int64_t cell =
            column.wide ? ((const int64_t *)column.data)[place] : (int64_t)((const int32_t *)column.data)[place];
        if (cell != row[c])
            return 0;
    }
    return 1;
}

static Seeds seeds_of(Call *call)
{
    Seeds seeds;
    seeds.one = (uint64_t)number(call);
    seeds.two = (uint64_t)number(call);
    return seeds;
}

/* More slots, with what is in these; none if there is no memory. */
static uint64_t *more_slots(uint64_t *slots, uint64_t *mask)
{
    uint64_t size = slots ? (*mask + 1) * (*mask < QUICK ? 4 : 2) : LEAST_SLOTS;
    uint64_t *more = calloc(size, sizeof *more);
    if (more && slots)
        move_slots(slots, (Py_ssize_t)*mask + 1, more, size - 1);
    free(slots);
    *mask = size - 1;
    return more;
}

/* How many cells a table has that finds a value by its place; 0 if there were too many of them. */
static int64_t cells_for(const Rows *rows, int64_t *least)
{
    const int64_t *values = rows->column[0].data;
    if (rows->width != 1 || !rows->column[0].wide || !rows->size)
        return 0;
    int64_t low = values[0], high = low;
    for (Py_ssize_t i = 1; i < rows->size; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    *least = low;
    uint64_t spread = (uint64_t)high - (uint64_t)low, many = spread < SMALL_TABLE ? DENSE : LESS_DENSE;
    return spread < many * (uint64_t)rows->size ? (int64_t)spread + 1 : 0;
}

/* Numbers for values that lie close together: how many there are, or -1 if there is no memory. */
static int64_t by_place(const Rows *rows, int64_t cells, int64_t least, int64_t *numbers, int64_t *firsts)
{
    const int64_t *values = rows->column[0].data;
    uint32_t *known = calloc((size_t)cells, sizeof *known);
    int64_t found = 0;
    for (Py_ssize_t i = 0; i < rows->size && known; i++) {
        uint32_t *cell = &known[values[i] - least];
        if (!*cell) {
            firsts[found] = i;
            *cell = (uint32_t)++found;
        }
        numbers[i] = (int64_t)*cell - 1;
    }
    if (!known)
        return -1;
    free(known);
    return found;
}

/* dense_rows(width, seed, seed, out numbers, out firsts, columns, …) -> how many distinct rows there are
 *
 * For each row its number, and for each number the place of the first such row. Rows of one column whose values lie
 * close together, as ids do, need no hash. */
PyObject *dense_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    int64_t width = number(&call);
    Seeds seeds = seeds_of(&call);
    Column numbers = column_out(&call), firsts = column_out(&call);
    Rows rows;
    rows_of(&call, &rows, width);
    if (!call.failed && (numbers.size != rows.size || firsts.size < rows.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, rows.size);
    int64_t least = 0, direct = cells_for(&rows, &least), found = 0;
    if (direct) {
        if ((found = by_place(&rows, direct, least, numbers.data, firsts.data)) < 0)
            no_memory(&call);
        return end(&call, found);
    }
    uint64_t hashes[AHEAD], mask = 0, *slots = more_slots(NULL, &mask);
    int64_t room[AHEAD * MOST_CELLS];
    for (Py_ssize_t first = 0; first < rows.size && slots; first += AHEAD) {
        const Py_ssize_t some = rows.size - first < AHEAD ? rows.size - first : AHEAD;
        if (2 * (uint64_t)(found + AHEAD) > mask + 1 && !(slots = more_slots(slots, &mask)))
            break;
        const int64_t *row = gathered(&rows, first, some, room);
        for (Py_ssize_t i = 0; i < some; i++) {
            hashes[i] = hash_of_row(row + i * width, width, seeds);
            __builtin_prefetch(&slots[home(hashes[i], mask)]);
        }
        for (Py_ssize_t i = 0; i < some; i++, row += width) {
            uint64_t place = home(hashes[i], mask);
            for (uint64_t slot; (slot = slots[place]); place = (place + 1) & mask)
                if (slot >> 32 == hashes[i] >> 32 && is_at(&rows, firsts.data[id_in(slot)], row))
                    break;
            if (!slots[place]) {
                slots[place] = entry(hashes[i], found);
                firsts.data[found++] = first + i;
            }
            numbers.data[first + i] = id_in(slots[place]);
        }
    }
    if (!slots)
        no_memory(&call);
    free(slots);
    return end(&call, found);
}

/* A bag: its slots, the cells of its rows and how often each is there. */
typedef struct {
    uint64_t *slots, mask;
    Column cells, counts;
    int64_t size, width;
    Seeds seeds;
} Bag;

static void bag(Call *call, Bag *all, int written)
{
    Column slots = written ? column_out(call) : column(call);
    all->slots = (uint64_t *)slots.data;
    all->mask = (uint64_t)slots.size - 1;
    all->cells = written ? column_out(call) : column(call);
    all->counts = written ? column_out(call) : column(call);
    all->size = number(call);
    all->width = number(call);
    all->seeds = seeds_of(call);
    if (!call->failed && (slots.size < 1 || (slots.size & (slots.size - 1)) || all->size < 0 || all->width < 1 ||
                          all->counts.size < all->size || all->cells.size / all->width < all->counts.size ||
                          2 * all->size > slots.size))
        wrong(call, "columns of lengths that do not fit");
}

/* The slot of a row, or the empty one where it would be. */
static inline uint64_t slot_of(const Bag *all, const int64_t *row, uint64_t hash)
{
    uint64_t place = home(hash, all->mask);
    for (uint64_t slot; (slot = all->slots[place]); place = (place + 1) & all->mask)
        if (slot >> 32 == hash >> 32 && alike(all->cells.data + id_in(slot) * all->width, row, all->width))
            break;
    return place;
}

/* Whether a row counts as one whose presence has changed an odd number of times is noted in its count, which needs the
 * bit below its sign for nothing else. */
static const int64_t TURNED = (int64_t)1 << 62;
static inline int is_turned(int64_t count) { return ((count >> 62) ^ (count >> 63)) & 1; }

/* count_rows(out slots, out cells, out counts, size, width, seed, seed, signs, out numbers, out came, out went,
 *            columns, …) -> how many rows came, times 2^32, and how many went
 *
 * Rows come, each so many times, or once where `signs` is empty; less than 0 times they go. Those that were not there
 * and are now came, those that were and are not went: by their numbers, in no order. A row is there as long as its
 * count is greater than 0. There is room for all of them: half of the slots stay empty. */
PyObject *count_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Bag all;
    bag(&call, &all, 1);
    Column signs = column(&call), numbers = column_out(&call), came = column_out(&call), went = column_out(&call);
    Rows rows;
    rows_of(&call, &rows, all.width);
    if (!call.failed && (numbers.size != rows.size || came.size < rows.size || went.size < rows.size ||
                         (signs.size && signs.size != rows.size)))
        wrong(&call, "columns of lengths that do not fit");
    if (!call.failed && (2 * (all.size + rows.size) > (int64_t)all.mask + 1 ||
                         all.size + rows.size > all.counts.size || all.size + rows.size >= UINT32_MAX))
        wrong(&call, "no room for so many rows");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, rows.size);
    uint64_t hashes[AHEAD];
    int64_t room[AHEAD * MOST_CELLS], *const counts = all.counts.data;
    Py_ssize_t turns = 0;
    for (Py_ssize_t first = 0; first < rows.size; first += AHEAD) {
        const Py_ssize_t some = rows.size - first < AHEAD ? rows.size - first : AHEAD;
        const int64_t *row = gathered(&rows, first, some, room);
        for (Py_ssize_t i = 0; i < some; i++) {
            hashes[i] = hash_of_row(row + i * all.width, all.width, all.seeds);
            __builtin_prefetch(&all.slots[home(hashes[i], all.mask)]);
        }
        for (Py_ssize_t i = 0; i < some; i++, row += all.width) {
            uint64_t place = slot_of(&all, row, hashes[i]);
            if (!all.slots[place]) {
                memcpy(all.cells.data + all.size * all.width, row, (size_t)all.width * sizeof *row);
                counts[all.size] = 0;
                all.slots[place] = entry(hashes[i], all.size++);
            }
            const int64_t known = id_in(all.slots[place]), before = counts[known];
            const int64_t after = (int64_t)((uint64_t)before + (signs.size ? (uint64_t)signs.data[first + i] : 1));
            numbers.data[first + i] = known;
            counts[known] = after;
            came.data[turns] = known;
            turns += (before > 0) != (after > 0);
        }
    }
    for (Py_ssize_t i = 0; i < turns; i++)
        counts[came.data[i]] ^= TURNED;
    Py_ssize_t coming = 0, going = 0;
    for (Py_ssize_t i = 0; i < turns; i++) {
        const int64_t known = came.data[i];
        if (!is_turned(counts[known]))
            continue;
        counts[known] ^= TURNED;
        if (counts[known] > 0)
            came.data[coming++] = known;
        else
            went.data[going++] = known;
    }
    return end(&call, (int64_t)coming << 32 | going);
}

/* find_rows(slots, cells, counts, size, width, seed, seed, out numbers, columns, …) -> 0: the numbers of rows; -1 for
 * those that were never there. */
PyObject *find_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Bag all;
    bag(&call, &all, 0);
    Column numbers = column_out(&call);
    Rows rows;
    rows_of(&call, &rows, all.width);
    if (!call.failed && numbers.size != rows.size)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, rows.size);
    uint64_t hashes[AHEAD];
    int64_t room[AHEAD * MOST_CELLS];
    for (Py_ssize_t first = 0; first < rows.size; first += AHEAD) {
        const Py_ssize_t some = rows.size - first < AHEAD ? rows.size - first : AHEAD;
        const int64_t *row = gathered(&rows, first, some, room);
        for (Py_ssize_t i = 0; i < some; i++) {
            hashes[i] = hash_of_row(row + i * all.width, all.width, all.seeds);
            __builtin_prefetch(&all.slots[home(hashes[i], all.mask)]);
        }
        for (Py_ssize_t i = 0; i < some; i++, row += all.width)
            numbers.data[first + i] = id_in(all.slots[slot_of(&all, row, hashes[i])]);
    }
    return end(&call, 0);
}

/* unpaired(numbers, split, distinct, out places) -> how many
 *
 * The rows before the split and those from it on are two bags. The places of those that have no equal in the other; of
 * equal rows, those before find theirs. */
PyObject *unpaired(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column numbers = column(&call);
    int64_t split = number(&call), distinct_rows = number(&call);
    Column places = column_out(&call);
    if (!call.failed && (split < 0 || split > numbers.size || distinct_rows < 0 || distinct_rows > numbers.size ||
                         places.size < numbers.size))
        wrong(&call, "columns of lengths that do not fit");
    int beyond = 0;
    for (Py_ssize_t i = 0; i < numbers.size && !call.failed; i++)
        beyond |= (uint64_t)numbers.data[i] >= (uint64_t)distinct_rows;
    if (beyond)
        wrong(&call, "a number that no row has");
    if (call.failed)
        return end(&call, 0);
    /* How many of the others are left for each row, and how many of them have found one. */
    int64_t *others = calloc((size_t)(distinct_rows ? 2 * distinct_rows : 1), sizeof *others);
    if (!others) {
        no_memory(&call);
        return end(&call, 0);
    }
    let_others_run(&call, numbers.size);
    Py_ssize_t alone = 0;
    for (Py_ssize_t i = split; i < numbers.size; i++)
        others[2 * numbers.data[i]]++;
    for (Py_ssize_t i = 0; i < numbers.size; i++) {
        int64_t *one = others + 2 * numbers.data[i];
        places.data[alone] = i;
        if (i < split && one[0] > 0) {
            one[0]--;
            one[1]++;
        } else if (i >= split && one[1] > 0) {
            one[1]--;
        } else {
            alone++;
        }
    }
    free(others);
    return end(&call, alone);
}
