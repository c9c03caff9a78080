/* Rows, joined with those of a map, or of a sorted column, that they find in one pass. */
#include "kernel.h"
#include "map.h"
#include "search.h"

/* What is sought in a map: for each of the `low` keys the rows up to `span` beyond it whose tags are later than `now`.
 * At most so many rows may be come across, dead ones included. */
typedef struct {
    Column low;
    int64_t span, now, most;
} Slices;

/* Where rows go that are found, and what they are made of. */
typedef struct {
    Column index, keys, tags;          /* of `slices` */
    Column carried, until;             /* of `join`: what whoever asks brings along, */
    int64_t shift, mask, place;        /* and the field of a key that goes with it */
} Out;

/* Writes the row that was found by the key at `from` to the place `to`. */
typedef void (*Write)(const Out *out, Py_ssize_t to, Py_ssize_t from, int64_t key, int64_t tag);

static int64_t beyond(int64_t low, int64_t span)
{
    int64_t high;
    return __builtin_add_overflow(low, span, &high) ? INT64_MAX : high;
}

/* Goes through what is sought, and writes what holds of it: how many rows. Where there is no room for them, they are
 * counted by where they begin and end, and not gone through: how much room is enough, as -1 - rows. Where more than
 * `most` rows were come across: the least int64. */
INLINE int64_t walk(const Map *map, const Slices *slices, const Out *out, Py_ssize_t room, Write write)
{
    const Column low = slices->low;
    const int64_t now = slices->now;
    int64_t most = slices->most;
    Py_ssize_t rows = 0;
    int ascend = ascending(low);
    for (int r = 0; r < map->count; r++) {
        Run run = map->run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, low, ascend);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k];
                int64_t high = beyond(low.data[first + k], slices->span);
                for (; row < run.keys.size && run.keys.data[row] < high && rows < room; row++) {
                    if (--most < 0)
                        return INT64_MIN;
                    int64_t tag = run.tags.data[row];
                    if (tag <= now)
                        continue;
                    write(out, rows++, first + k, run.keys.data[row], tag);
                }
                if (rows < room || row == run.keys.size || run.keys.data[row] >= high)
                    continue;
                Py_ssize_t rest = gallop(run.keys.data, row, run.keys.size, high) - row;
                if ((most -= rest) < 0)
                    return INT64_MIN;
                rows += rest;
            }
        }
    }
    return rows > room ? -1 - rows : rows;
}

INLINE void write_slice(const Out *out, Py_ssize_t to, Py_ssize_t from, int64_t key, int64_t tag)
{
    out->index.data[to] = from;
    out->keys.data[to] = key;
    out->tags.data[to] = tag;
}

INLINE void write_key(const Out *out, Py_ssize_t to, Py_ssize_t from, int64_t key, int64_t tag)
{
    uint64_t field = (uint64_t)((key >> out->shift) & out->mask);
    int64_t longest = out->until.data[from];
    out->keys.data[to] = (int64_t)((uint64_t)out->carried.data[from] | field << out->place);
    out->tags.data[to] = tag < longest ? tag : longest;
}

/* slices(low, span, now, most, out index, out keys, out tags, run keys, run tags, …) -> rows, as `walk` says
 *
 * The rows that hold with low ≤ key < low + span, for each low. */
PyObject *slices(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Slices sought;
    Out out;
    sought.low = column(&call);
    sought.span = number(&call), sought.now = number(&call), sought.most = number(&call);
    out.index = column_out(&call), out.keys = column_out(&call), out.tags = column_out(&call);
    Map map;
    runs(&call, &map, 0);
    Py_ssize_t room = out.index.size;
    if (!call.failed && (out.keys.size != room || out.tags.size != room))
        wrong(&call, "columns of lengths that do not fit");
    if (sought.span < 0)
        wrong(&call, "a span that is less than nothing");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, sought.low.size);
    return end(&call, walk(&map, &sought, &out, room, write_slice));
}

/* join(low, span, carried, tags, now, most, shift, mask, place, out keys, out tags, run keys, run tags, …) -> rows
 *
 * As `slices`; what comes out of a row that was found is a key: the part of it that whoever asks brings along
 * (`carried`), and one field of the key that was found, which is put in its place. It holds as long as both. */
PyObject *join(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Slices sought;
    Out out;
    sought.low = column(&call);
    sought.span = number(&call);
    out.carried = column(&call), out.until = column(&call);
    sought.now = number(&call), sought.most = number(&call);
    out.shift = number(&call), out.mask = number(&call), out.place = number(&call);
    out.keys = column_out(&call), out.tags = column_out(&call);
    Map map;
    runs(&call, &map, 0);
    Py_ssize_t room = out.keys.size, size = sought.low.size;
    if (!call.failed && (out.tags.size != room || out.carried.size != size || out.until.size != size))
        wrong(&call, "columns of lengths that do not fit");
    if (sought.span < 0)
        wrong(&call, "a span that is less than nothing");
    if (!is_shift(out.shift) || !is_shift(out.place))
        wrong(&call, "bits that a key does not have");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, size);
    return end(&call, walk(&map, &sought, &out, room, write_key));
}

/* pairs(sorted, sought, most, out places, out rows) -> rows
 *
 * For each value that is sought, all rows of the sorted ones that are equal to it. Where there is no room for them: how
 * much is needed, as -1 - rows, and no more of them is gone through; where there are more than `most`: the least
 * int64. */
PyObject *pairs(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column sorted = column(&call), values = column(&call);
    int64_t most = number(&call);
    Column places = column_out(&call), rows = column_out(&call);
    if (!call.failed && places.size != rows.size)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, values.size);
    const Py_ssize_t room = rows.size < most ? rows.size : (Py_ssize_t)most;
    Py_ssize_t total = 0, first;
    Search sought;
    search(&sought, values, ascending(values));
    for (int n; (n = seek(&sought, sorted.data, sorted.size, &first));)
        for (int k = 0; k < n; k++) {
            int64_t value = values.data[first + k];
            for (Py_ssize_t row = sought.places[k]; row < sorted.size && sorted.data[row] == value; row++) {
                if (total >= room) {
                    Py_ssize_t size = sorted.size;
                    total += (value == INT64_MAX ? size : gallop(sorted.data, row, size, value + 1)) - row;
                    if (total > most)
                        return end(&call, INT64_MIN);
                    break;
                }
                places.data[total] = first + k;
                rows.data[total++] = row;
            }
        }
    return end(&call, total > rows.size ? -1 - total : total);
}
