/* Sorting keys, and what goes with them.
 *
 * Keys are packed triples: many have most of their bits in common. A radix sort looks only at the bits in which keys
 * differ, some at a time, from the lowest; and not at those in which they are sorted already. It is stable. What is
 * sorted already is seen at once. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "map.h"

/* Bits that are looked at together; so many rows are few enough to be put in order one by one, or need fewer cells. */
enum { DIGIT = 11, CELLS = 1 << DIGIT, BYTE = 8, FEW = 48, SOME = 2048 };

typedef struct {
    int64_t key, tag; /* the tag, or the row that the key had */
} Pair;

static int bits(uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

/* The sign is turned around: negative keys come first. */
static inline uint64_t digit(int64_t key, int low, uint64_t mask)
{
    return (((uint64_t)key ^ (uint64_t)1 << 63) >> low) & mask;
}

/* The sorts of pairs and of keys alone are the same but for what is moved. `skip`: so many of the lowest bits are in
 * order already among items whose keys are equal in the others. `spare` has room for as many items; the result is in
 * the one or in the other. */
#define SORT(name, Item, key_of)                                                                                       \
    static Item *name(Item *items, Item *spare, Py_ssize_t size, int skip)                                             \
    {                                                                                                                  \
        if (size <= FEW) {                                                                                             \
            for (Py_ssize_t i = 1; i < size; i++) {                                                                    \
                Item item = items[i];                                                                                  \
                Py_ssize_t j = i;                                                                                      \
                for (; j > 0 && items[j - 1] key_of > item key_of; j--)                                                \
                    items[j] = items[j - 1];                                                                           \
                items[j] = item;                                                                                       \
            }                                                                                                          \
            return items;                                                                                              \
        }                                                                                                              \
        uint64_t differing = 0;                                                                                        \
        int sorted = 1;                                                                                                \
        for (Py_ssize_t i = 1; i < size; i++) {                                                                        \
            differing |= (uint64_t)items[i] key_of ^ (uint64_t)items[0] key_of;                                        \
            sorted &= items[i - 1] key_of <= items[i] key_of;                                                          \
        }                                                                                                              \
        const int high = sorted ? 0 : bits(differing), most = size < SOME ? BYTE : DIGIT;                              \
        for (int low = skip; low < high;) {                                                                            \
            if (!((differing >> low) & 1)) {                                                                           \
                low++;                                                                                                 \
                continue;                                                                                              \
            }                                                                                                          \
            const int width = high - low < most ? high - low : most;                                                   \
            const uint64_t mask = ((uint64_t)1 << width) - 1;                                                          \
            Py_ssize_t start[CELLS], place = 0;                                                                        \
            memset(start, 0, (mask + 1) * sizeof *start);                                                              \
            for (Py_ssize_t i = 0; i < size; i++)                                                                      \
                start[digit(items[i] key_of, low, mask)]++;                                                            \
            for (uint64_t cell = 0; cell <= mask; cell++) {                                                            \
                Py_ssize_t count = start[cell];                                                                        \
                start[cell] = place;                                                                                   \
                place += count;                                                                                        \
            }                                                                                                          \
            for (Py_ssize_t i = 0; i < size; i++)                                                                      \
                spare[start[digit(items[i] key_of, low, mask)]++] = items[i];                                          \
            Item *other = items;                                                                                       \
            items = spare;                                                                                             \
            spare = other;                                                                                             \
            low += width;                                                                                              \
        }                                                                                                              \
        return items;                                                                                                  \
    }

SORT(sort_pairs, Pair, .key)
SORT(sort_keys, int64_t, )

static Pair *room(Call *call, Py_ssize_t size)
{
    Pair *pairs = malloc((size_t)(size ? 2 * size : 1) * sizeof *pairs);
    if (!pairs)
        no_memory(call);
    return pairs;
}

/* How far values go beyond the least of them, which comes back, too. */
static uint64_t spread_of(Column values, int64_t *least)
{
    int64_t low = values.size ? values.data[0] : 0, high = low;
    for (Py_ssize_t i = 1; i < values.size; i++) {
        low = values.data[i] < low ? values.data[i] : low;
        high = values.data[i] > high ? values.data[i] : high;
    }
    *least = low;
    return (uint64_t)high - (uint64_t)low;
}

/* order(values, out rows) -> 0: the rows in which the values are sorted; equal ones stay as they are.
 *
 * Where a value and its row fit into one number, these numbers are sorted: half of what pairs take. */
PyObject *order(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column values = column(&call), rows = column_out(&call);
    Py_ssize_t size = values.size;
    int64_t least = 0;
    int place = 0;
    if (!call.failed && rows.size != size)
        wrong(&call, "columns of lengths that do not fit");
    if (!call.failed) {
        place = bits((uint64_t)size);
        if (bits(spread_of(values, &least)) + place > 63)
            place = 0;
    }
    const size_t item = place ? sizeof(int64_t) : 2 * sizeof(Pair);
    int64_t *spare = call.failed ? NULL : malloc((size_t)(size ? size : 1) * item);
    if (!call.failed && !spare)
        no_memory(&call);
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, size);
    if (place) {
        const int64_t row = ((int64_t)1 << place) - 1;
        for (Py_ssize_t i = 0; i < size; i++)
            rows.data[i] = (int64_t)(((uint64_t)values.data[i] - (uint64_t)least) << place) | i;
        const int64_t *sorted = sort_keys(rows.data, spare, size, place);
        for (Py_ssize_t i = 0; i < size; i++)
            rows.data[i] = sorted[i] & row;
    } else {
        Pair *pairs = (Pair *)spare;
        for (Py_ssize_t i = 0; i < size; i++)
            pairs[i] = (Pair){values.data[i], i};
        const Pair *sorted = sort_pairs(pairs, pairs + size, size, 0);
        for (Py_ssize_t i = 0; i < size; i++)
            rows.data[i] = sorted[i].tag;
    }
    free(spare);
    return end(&call, 0);
}

/* unite(keys, tags, union, now, out keys, out tags) -> rows
 *
 * The distinct keys, sorted, each with the union of its tags; those whose tags are now or less before that, are left
 * out. */
PyObject *unite(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column keys = column(&call), tags = column(&call);
    int64_t union_ = number(&call), now = number(&call);
    Column out_keys = column_out(&call), out_tags = column_out(&call);
    if (!call.failed && (tags.size != keys.size || out_keys.size < keys.size || out_tags.size < keys.size))
        wrong(&call, "columns of lengths that do not fit");
    Pair *pairs = call.failed ? NULL : room(&call, keys.size);
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, keys.size);
    Py_ssize_t size = 0;
    for (Py_ssize_t i = 0; i < keys.size; i++) {
        pairs[size] = (Pair){keys.data[i], tags.data[i]};
        size += tags.data[i] > now;
    }
    Pair *sorted = sort_pairs(pairs, pairs + size, size, 0);
    Py_ssize_t rows = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        int64_t tag = sorted[i].tag;
        if (rows && out_keys.data[rows - 1] == sorted[i].key) {
            out_tags.data[rows - 1] = together(out_tags.data[rows - 1], tag, union_);
            continue;
        }
        out_keys.data[rows] = sorted[i].key;
        out_tags.data[rows++] = tag;
    }
    free(pairs);
    return end(&call, rows);
}

/* turn(keys, tags, known, shifts, masks, new shifts, skip, out keys, out tags, out known) -> 0
 *
 * The keys with their three places in another order, sorted, and their tags and flags with them. `skip`: of the lowest
 * bits of the new keys, so many are in order already among keys that are equal in the others. */
PyObject *turn(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column keys = column(&call), tags = column(&call);
    Flags known = flags_in(&call);
    Column from = column(&call), masks = column(&call), to = column(&call);
    int64_t skip = number(&call);
    Column out_keys = column_out(&call), out_tags = column_out(&call);
    Flags out_known = flags_out(&call);
    Py_ssize_t size = keys.size;
    if (!call.failed && (tags.size != size || known.size != size || out_keys.size != size || out_tags.size != size ||
                         out_known.size != size || from.size != 3 || masks.size != 3 || to.size != 3))
        wrong(&call, "columns of lengths that do not fit");
    for (int place = 0; place < 3 && !call.failed; place++)
        if (!is_shift(from.data[place]) || !is_shift(to.data[place]))
            wrong(&call, "bits that a key does not have");
    if (!call.failed && !is_shift(skip))
        wrong(&call, "bits that a key does not have");
    Pair *pairs = call.failed ? NULL : room(&call, size);
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, size);
    const int64_t *f = from.data, *m = masks.data, *t = to.data;
    for (Py_ssize_t i = 0; i < size; i++) {
        uint64_t turned = 0;
        for (int place = 0; place < 3; place++)
            turned |= (uint64_t)((keys.data[i] >> f[place]) & m[place]) << t[place];
        pairs[i] = (Pair){(int64_t)turned, i};
    }
    Pair *sorted = sort_pairs(pairs, pairs + size, size, (int)skip);
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_ssize_t row = sorted[i].tag;
        out_keys.data[i] = sorted[i].key;
        out_tags.data[i] = tags.data[row];
        out_known.data[i] = known.data[row];
    }
    free(pairs);
    return end(&call, 0);
}

/* distinct(sorted, out) -> how many distinct values there are. */
PyObject *distinct(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column values = column(&call), out = column_out(&call);
    if (!call.failed && out.size < values.size)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, values.size);
    Py_ssize_t rows = 0;
    for (Py_ssize_t i = 0; i < values.size; i++) {
        out.data[rows] = values.data[i];
        rows += i + 1 == values.size || values.data[i + 1] != values.data[i];
    }
    return end(&call, rows);
}

/* dense_ranks(values, out distinct, out places) -> how many distinct values there are; for each value its place among
 * them, which are sorted. */
PyObject *dense_ranks(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column values = column(&call), out = column_out(&call), places = column_out(&call);
    if (!call.failed && (out.size < values.size || places.size != values.size))
        wrong(&call, "columns of lengths that do not fit");
    Pair *pairs = call.failed ? NULL : room(&call, values.size);
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, values.size);
    for (Py_ssize_t i = 0; i < values.size; i++)
        pairs[i] = (Pair){values.data[i], i};
    Pair *sorted = sort_pairs(pairs, pairs + values.size, values.size, 0);
    Py_ssize_t rows = 0;
    for (Py_ssize_t i = 0; i < values.size; i++) {
        if (!i || sorted[i].key != sorted[i - 1].key)
            out.data[rows++] = sorted[i].key;
        places.data[sorted[i].tag] = rows - 1;
    }
    free(pairs);
    return end(&call, rows);
}

/* ordered(values, out) -> 0: the values, sorted. */
PyObject *ordered(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column values = column(&call), out = column_out(&call);
    if (!call.failed && out.size != values.size)
        wrong(&call, "columns of lengths that do not fit");
    int64_t *spare = call.failed ? NULL : malloc((size_t)(values.size ? values.size : 1) * sizeof *spare);
    if (!call.failed && !spare)
        no_memory(&call);
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, values.size);
    memcpy(out.data, values.data, (size_t)values.size * 8);
    if (sort_keys(out.data, spare, values.size, 0) != out.data)
        memcpy(out.data, spare, (size_t)values.size * 8);
    free(spare);
    return end(&call, 0);
}
