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

/* What is done with the tag of a key that a map has: `place` is that of the key, `r` that of the run. */
typedef struct {
    Column keys, tags, dropped;
    Flags grown, known;
    int64_t union_, zero;
} Tags;

typedef void (*Hit)(const Tags *with, int64_t *tag, int r, Py_ssize_t place);

INLINE void look_up(const Map *map, const Tags *with, int ascend, Hit hit)
{
    for (int r = 0; r < map->count; r++) {
        const Run run = map->run[r];
        Py_ssize_t first;
        Search sought;
        search(&sought, with->keys, ascend);
        for (int n; (n = seek(&sought, run.keys.data, run.keys.size, &first));) {
            ask_for(run.tags.data, sought.places, n);
            for (int k = 0; k < n; k++) {
                Py_ssize_t row = sought.places[k], place = first + k;
                if (row < run.keys.size && run.keys.data[row] == with->keys.data[place])
                    hit(with, &run.tags.data[row], r, place);
            }
        }
    }
}

INLINE void unite_tag(const Tags *with, int64_t *tag, int r, Py_ssize_t place)
{
    (void)r;
    with->tags.data[place] = together(with->tags.data[place], *tag, with->union_);
}

INLINE void absorb_tag(const Tags *with, int64_t *tag, int r, Py_ssize_t place)
{
    int64_t before = *tag, after = together(before, with->tags.data[place], with->union_);
    with->known.data[place] = 1;
    if (with->union_ == SUM)
        with->tags.data[place] = after;
    if (after == before) {
        with->grown.data[place] = 0;
        return;
    }
    with->dropped.data[r] += before != with->zero;
    *tag = with->zero;
}

INLINE void drop_tag(const Tags *with, int64_t *tag, int r, Py_ssize_t place)
{
    (void)place;
    with->dropped.data[r] += *tag != with->zero;
    *tag = with->zero;
}

/* tags_of(keys, union, out tags, run keys, run tags, …) -> 0: the unions of the tags of these keys with what is in
 * `out tags`. */
PyObject *tags_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Tags with;
    with.keys = column(&call);
    with.union_ = number(&call);
    with.tags = column_out(&call);
    Map map;
    runs(&call, &map, 0);
    if (!call.failed && with.tags.size != with.keys.size)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, with.keys.size);
    look_up(&map, &with, ascending(with.keys), unite_tag);
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
    Tags with;
    with.keys = column(&call), with.tags = column_out(&call);
    with.union_ = number(&call), with.zero = number(&call);
    with.grown = flags_out(&call), with.known = flags_out(&call);
    with.dropped = column_out(&call);
    Map map;
    runs(&call, &map, 1);
    Py_ssize_t size = with.keys.size;
    if (!call.failed && (with.tags.size != size || with.grown.size != size || with.known.size != size ||
                         with.dropped.size != map.count))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, size);
    look_up(&map, &with, 1, absorb_tag);
    return end(&call, 0);
}

/* drop(keys, zero, dropped, run keys, run tags, …) -> 0: the rows of these sorted keys get the tag `zero`; `dropped`
 * counts them, run by run, where they had another. */
PyObject *drop(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Tags with;
    with.keys = column(&call);
    with.zero = number(&call);
    with.dropped = column_out(&call);
    Map map;
    runs(&call, &map, 1);
    if (!call.failed && with.dropped.size != map.count)
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, with.keys.size);
    look_up(&map, &with, 1, drop_tag);
    return end(&call, 0);
}
