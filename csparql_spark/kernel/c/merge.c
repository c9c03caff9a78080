/* The merge of two sorted maps from keys to tags. */
#include <string.h>

#include "kernel.h"
#include "search.h"

enum { FEW = 16 }; /* so many times shorter, and the longer one is copied in pieces */

typedef struct {
    int64_t *keys, *tags;
    Py_ssize_t rows;
} Rows;

/* Appends rows of a map, but for those whose tags do not hold. */
static void append(Rows *out, Column keys, Column tags, Py_ssize_t begin, Py_ssize_t end, int all_hold, int64_t now)
{
    if (all_hold) {
        memcpy(out->keys + out->rows, keys.data + begin, (size_t)(end - begin) * 8);
        memcpy(out->tags + out->rows, tags.data + begin, (size_t)(end - begin) * 8);
        out->rows += end - begin;
        return;
    }
    for (Py_ssize_t i = begin; i < end; i++) {
        out->keys[out->rows] = keys.data[i];
        out->tags[out->rows] = tags.data[i];
        out->rows += tags.data[i] > now;
    }
}

static int holds(Column tags, int64_t now)
{
    int dead = 0;
    for (Py_ssize_t i = 0; i < tags.size; i++)
        dead |= tags.data[i] <= now;
    return !dead;
}

/* merge(keys, tags, more keys, more tags, now, out keys, out tags) -> rows
 *
 * The maps have no key in common that holds in both; rows whose tags are now or less are dropped. There is room for
 * all rows of both. */
PyObject *merge(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column a = column(&call), a_tags = column(&call), b = column(&call), b_tags = column(&call);
    int64_t now = number(&call);
    Column keys = column_out(&call), tags = column_out(&call);
    if (!call.failed && (a.size != a_tags.size || b.size != b_tags.size || keys.size != tags.size ||
                         keys.size < a.size + b.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, a.size + b.size);
    if (a.size < b.size) {
        Column swapped = a, swapped_tags = a_tags;
        a = b, a_tags = b_tags, b = swapped, b_tags = swapped_tags;
    }
    Rows out = {keys.data, tags.data, 0};
    int a_holds = holds(a_tags, now);
    Py_ssize_t i = 0, j = 0;
    if (FEW * b.size < a.size) {
        for (; j < b.size; j++) {
            if (b_tags.data[j] <= now)
                continue;
            Py_ssize_t next = gallop(a.data, i, a.size, b.data[j]);
            append(&out, a, a_tags, i, next, a_holds, now);
            out.keys[out.rows] = b.data[j];
            out.tags[out.rows++] = b_tags.data[j];
            i = next;
        }
    } else {
        while (i < a.size && j < b.size) {
            int64_t left = a.data[i], right = b.data[j];
            int from_a = left < right;
            int64_t tag = from_a ? a_tags.data[i] : b_tags.data[j];
            out.keys[out.rows] = from_a ? left : right;
            out.tags[out.rows] = tag;
            out.rows += tag > now;
            i += from_a;
            j += !from_a;
        }
        append(&out, b, b_tags, j, b.size, 0, now);
    }
    append(&out, a, a_tags, i, a.size, a_holds, now);
    return end(&call, out.rows);
}

/* held(keys, tags, now, out keys, out tags) -> rows: those of a map that hold. */
PyObject *held(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column keys = column(&call), tags = column(&call);
    int64_t now = number(&call);
    Column out_keys = column_out(&call), out_tags = column_out(&call);
    if (!call.failed && (keys.size != tags.size || out_keys.size < keys.size || out_tags.size < keys.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    let_others_run(&call, keys.size);
    Rows out = {out_keys.data, out_tags.data, 0};
    append(&out, keys, tags, 0, keys.size, 0, now);
    return end(&call, out.rows);
}
