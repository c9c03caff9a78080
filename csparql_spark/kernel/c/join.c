/* Rows, joined with those of a map, or of a sorted column, that they find in one pass. */
#include "kernel.h"
#include "map.h"
#include "search.h"

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
    if (!call.failed && (keys.size != room || tags.size != room))
        wrong(&call, "columns of lengths that do not fit");
    if (span < 0)
        wrong(&call, "a span that is less than nothing");
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
    if (!call.failed && (tags.size != room || carried.size != low.size || until.size != low.size))
        wrong(&call, "columns of lengths that do not fit");
    if (span < 0)
        wrong(&call, "a span that is less than nothing");
    if (!is_shift(shift) || !is_shift(place))
        wrong(&call, "bits that a key does not have");
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
