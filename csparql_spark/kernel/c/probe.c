/* Look-ups in a map that is kept as several sorted runs of keys, each with its tags. */
#include "kernel.h"
#include "search.h"

enum { LATEST, SUM }; /* what becomes of two tags of one key */

typedef struct {
    Column keys, tags;
} Run;

typedef struct {
    Run run[MOST_ARGUMENTS / 2];
    int count;
    Py_ssize_t rows;
} Map;

/* The rest of the arguments: keys and tags, run by run. */
static void runs(Call *call, Map *map, int written)
{
    map->count = 0;
    map->rows = 0;
    while (left(call)) {
        Run *run = &map->run[map->count++];
        run->keys = column(call);
        run->tags = written ? column_out(call) : column(call);
        map->rows += run->keys.size;
        if (!call->failed && run->keys.size != run->tags.size)
            wrong(call, "columns of lengths that do not fit");
    }
}

/* found(sorted, keys, out places, out rows) -> how many of the keys are among the sorted ones, and where. */
PyObject *found(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column sorted = column(&call), keys = column(&call), places = column_out(&call), rows = column_out(&call);
    if (!call.failed && (places.size < keys.size || rows.size < keys.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, keys.size);
    Py_ssize_t hits = 0, first;
    Search sought;
    search(&sought, keys, ascending(keys));
    for (int n; (n = seek(&sought, sorted.data, sorted.size, &first));)
        for (int k = 0; k < n; k++) {
            Py_ssize_t row = sought.places[k];
            if (row < sorted.size && sorted.data[row] == keys.data[first + k]) {
                places.data[hits] = first + k;
                rows.data[hits++] = row;
            }
        }
    return end(&call, hits);
}

static int64_t beyond(int64_t low, int64_t span)
{
    int64_t high;
    return __builtin_add_overflow(low, span, &high) ? INT64_MAX : high;
}

/* slices(low, span, now, most, out index, out keys, out tags, run keys, run tags, …) -> rows
 *
 * The rows that hold with low ≤ key < low + span, for each low. Where there is no room for them: how much is needed,
 * as -1 - rows; where more than `most` rows were come across, dead ones included: the least int64. */
PyObject *slices(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column low = column(&call);
    int64_t span = number(&call), now = number(&call), most = number(&call);
    Column index = column_out(&call), keys = column_out(&call), tags = column_out(&call);
    Map map;
    runs(&call, &map, 0);
    Py_ssize_t room = index.size, rows = 0;
    if (!call.failed && (keys.size != room || tags.size != room || span < 0))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, low.size);
    int ascend = ascending(low);
    for (int r = 0; r < map.count; r++) {
        Run run = map.run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, low, ascend);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k];
                int64_t high = beyond(low.data[first + k], span);
                for (; row < run.keys.size && run.keys.data[row] < high; row++) {
                    if (--most < 0)
                        return end(&call, INT64_MIN);
                    int64_t tag = run.tags.data[row];
                    if (tag <= now)
                        continue;
                    if (rows < room) {
                        index.data[rows] = first + k;
                        keys.data[rows] = run.keys.data[row];
                        tags.data[rows] = tag;
                    }
                    rows++;
                }
            }
        }
    }
    return end(&call, rows > room ? -1 - rows : rows);
}

static int64_t together(int64_t one, int64_t other, int64_t union_)
{
    if (union_ == SUM)
        return (int64_t)((uint64_t)one + (uint64_t)other);
    return one > other ? one : other;
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
    Column low = column(&call);
    int64_t span = number(&call);
    Column carried = column(&call), until = column(&call);
    int64_t now = number(&call), most = number(&call);
    int64_t shift = number(&call), mask = number(&call), place = number(&call);
    Column keys = column_out(&call), tags = column_out(&call);
    Map map;
    runs(&call, &map, 0);
    Py_ssize_t room = keys.size, rows = 0;
    if (!call.failed && (tags.size != room || carried.size != low.size || until.size != low.size || shift < 0 ||
                         shift > 62 || place < 0 || place > 62))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, low.size);
    int ascend = ascending(low);
    for (int r = 0; r < map.count; r++) {
        Run run = map.run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, low, ascend);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k];
                int64_t high = beyond(low.data[first + k], span);
                uint64_t part = (uint64_t)carried.data[first + k];
                int64_t longest = until.data[first + k];
                for (; row < run.keys.size && run.keys.data[row] < high; row++) {
                    if (--most < 0)
                        return end(&call, INT64_MIN);
                    int64_t tag = run.tags.data[row];
                    if (tag <= now)
                        continue;
                    if (rows < room) {
                        uint64_t field = (uint64_t)((run.keys.data[row] >> shift) & mask);
                        keys.data[rows] = (int64_t)(part | field << place);
                        tags.data[rows] = tag < longest ? tag : longest;
                    }
                    rows++;
                }
            }
        }
    }
    return end(&call, rows > room ? -1 - rows : rows);
}

/* tags_of(keys, union, out tags, run keys, run tags, …) -> 0: the unions of the tags of these keys with what is in
 * `out tags`. */
PyObject *tags_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column keys = column(&call);
    int64_t union_ = number(&call);
    Column tags = column_out(&call);
    Map map;
    runs(&call, &map, 0);
    if (!call.failed && tags.size != keys.size)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, keys.size);
    int ascend = ascending(keys);
    for (int r = 0; r < map.count; r++) {
        Run run = map.run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, keys, ascend);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k], place = first + k;
                if (row < run.keys.size && run.keys.data[row] == keys.data[place])
                    tags.data[place] = together(tags.data[place], run.tags.data[row], union_);
            }
        }
    }
    return end(&call, 0);
}

/* absorb(keys, tags, union, zero, grown, known, dropped, run keys, run tags, …) -> 0
 *
 * Sorted distinct keys come to a map: which of them it has (`known`), and which have another tag now (`grown`): their
 * rows get the tag `zero`, and `dropped` counts them, run by run, where they had another; with SUM, `tags` become what
 * the keys have now. `grown` begins as true, `known` as false. */
PyObject *absorb(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column keys = column(&call), tags = column_out(&call);
    int64_t union_ = number(&call), zero = number(&call);
    Flags grown = flags_out(&call), known = flags_out(&call);
    Column dropped = column_out(&call);
    Map map;
    runs(&call, &map, 1);
    if (!call.failed && (tags.size != keys.size || grown.size != keys.size || known.size != keys.size ||
                         dropped.size != map.count))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, keys.size);
    for (int r = 0; r < map.count; r++) {
        Run run = map.run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, keys, 1);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k], i = first + k;
                if (row == run.keys.size || run.keys.data[row] != keys.data[i])
                    continue;
                int64_t before = run.tags.data[row], after = together(before, tags.data[i], union_);
                known.data[i] = 1;
                if (union_ == SUM)
                    tags.data[i] = after;
                if (after == before) {
                    grown.data[i] = 0;
                    continue;
                }
                dropped.data[r] += before != zero;
                run.tags.data[row] = zero;
            }
        }
    }
    return end(&call, 0);
}

/* drop(keys, zero, dropped, run keys, run tags, …) -> 0: the rows of these sorted keys get the tag `zero`; `dropped`
 * counts them, run by run, where they had another. */
PyObject *drop(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column keys = column(&call);
    int64_t zero = number(&call);
    Column dropped = column_out(&call);
    Map map;
    runs(&call, &map, 1);
    if (!call.failed && dropped.size != map.count)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, keys.size);
    for (int r = 0; r < map.count; r++) {
        Run run = map.run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, keys, 1);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k];
                if (row < run.keys.size && run.keys.data[row] == keys.data[first + k]) {
                    dropped.data[r] += run.tags.data[row] != zero;
                    run.tags.data[row] = zero;
                }
            }
        }
    }
    return end(&call, 0);
}

/* pairs(sorted, sought, most, out places, out rows) -> rows
 *
 * For each value that is sought, all rows of the sorted ones that are equal to it. Where there is no room for them: how
 * much is needed, as -1 - rows; where there are more than `most`: the least int64. */
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
    Py_ssize_t total = 0, first;
    Search sought;
    search(&sought, values, ascending(values));
    for (int n; (n = seek(&sought, sorted.data, sorted.size, &first));)
        for (int k = 0; k < n; k++) {
            int64_t value = values.data[first + k];
            for (Py_ssize_t row = sought.places[k]; row < sorted.size && sorted.data[row] == value; row++) {
                if (total == most)
                    return end(&call, INT64_MIN);
                if (total < rows.size) {
                    places.data[total] = first + k;
                    rows.data[total] = row;
                }
                total++;
            }
        }
    return end(&call, total > rows.size ? -1 - total : total);
}
