/* Single keys, looked up in a map, and what becomes of their tags. */
#include "kernel.h"
#include "map.h"
#include "search.h"

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
