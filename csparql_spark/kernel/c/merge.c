/* The merge of two sorted maps from keys to tags. */
#include <string.h>

#include "kernel.h"
#include "search.h"

enum { FEW = 16 }; /* so many times shorter, and the longer one is copied in pieces */

typedef struct {
    int64_t *keys, *tags;
    Py_ssize_t rows;
} Rows;

/* A part of a merge: rows of two maps, and where they go. */
typedef struct {
    const int64_t *key, *key_end, *tag, *more, *more_end, *more_tag;
    int64_t *out, *out_tag;
} Part;

INLINE int both(const Part *part) { return part->key < part->key_end && part->more < part->more_end; }

INLINE void step(Part *part, int64_t now)
{
    int64_t left = *part->key, right = *part->more;
    int from_left = left < right;
    int64_t tag = *(from_left ? part->tag : part->more_tag);
    *part->out = from_left ? left : right;
    *part->out_tag = tag;
    part->out += tag > now;
    part->out_tag += tag > now;
    part->key += from_left;
    part->tag += from_left;
    part->more += !from_left;
    part->more_tag += !from_left;
}

static void rest(Part *part, int64_t now)
{
    while (both(part))
        step(part, now);
    for (; part->key < part->key_end; part->key++, part->tag++) {
        *part->out = *part->key;
        *part->out_tag = *part->tag;
        part->out += *part->tag > now;
        part->out_tag += *part->tag > now;
    }
    for (; part->more < part->more_end; part->more++, part->more_tag++) {
        *part->out = *part->more;
        *part->out_tag = *part->more_tag;
        part->out += *part->more_tag > now;
        part->out_tag += *part->more_tag > now;
    }
}

/* Each row waits for the one before it, so two halves are merged by turns: those up to the middle of the longer map,
 * and the others. */
static Py_ssize_t side_by_side(Column a, Column a_tags, Column b, Column b_tags, int64_t now, Rows out)
{
    Py_ssize_t i = a.size / 2, j = a.size ? gallop(b.data, 0, b.size, a.data[i]) : 0;
    Part one = {a.data, a.data + i, a_tags.data, b.data, b.data + j, b_tags.data, out.keys, out.tags};
    Part other = {a.data + i, a.data + a.size, a_tags.data + i, b.data + j, b.data + b.size, b_tags.data + j,
                  out.keys + i + j, out.tags + i + j};
    int64_t *const begin = other.out, *const begin_tag = other.out_tag;
    Part first = one, second = other; /* whose addresses nobody keeps: they live in registers */
    while (both(&first) && both(&second)) {
        step(&first, now);
        step(&second, now);
    }
    one = first;
    other = second;
    rest(&one, now);
    rest(&other, now);
    Py_ssize_t more = other.out - begin;
    if (one.out != begin) {
        memmove(one.out, begin, (size_t)more * 8);
        memmove(one.out_tag, begin_tag, (size_t)more * 8);
    }
    return one.out - out.keys + more;
}

/* Appends rows of a map, but for those whose tags do not hold. */
static void append(Rows *out, Column keys, Column tags, Py_ssize_t begin, Py_ssize_t end, int all_hold, int64_t now)
{
    const int64_t *from = keys.data, *from_tag = tags.data;
    int64_t *to = out->keys, *to_tag = out->tags;
    Py_ssize_t rows = out->rows;
    if (all_hold) {
        memcpy(to + rows, from + begin, (size_t)(end - begin) * 8);
        memcpy(to_tag + rows, from_tag + begin, (size_t)(end - begin) * 8);
        rows += end - begin;
    } else
        for (Py_ssize_t i = begin; i < end; i++) {
            int64_t tag = from_tag[i];
            to[rows] = from[i];
            to_tag[rows] = tag;
            rows += tag > now;
        }
    out->rows = rows;
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
    if (FEW * b.size >= a.size)
        return end(&call, side_by_side(a, a_tags, b, b_tags, now, out));
    int a_holds = holds(a_tags, now);
    Py_ssize_t i = 0;
    for (Py_ssize_t j = 0; j < b.size; j++) {
        Py_ssize_t next = gallop(a.data, i, a.size, b.data[j]);
        append(&out, a, a_tags, i, next, a_holds, now);
        out.keys[out.rows] = b.data[j];
        out.tags[out.rows] = b_tags.data[j];
        out.rows += b_tags.data[j] > now;
        i = next;
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
