/* A dictionary of terms, whose columns are Python's: it hands them in with each call, and makes them longer. */
#include <stdlib.h>

#include "kernel.h"
#include "terms.h"

/* The columns of a dictionary: slots (see `terms.h`), where each term begins and the last one ends, and their bytes. */
typedef struct {
    uint64_t *slots, mask;
    Column offsets;
    Flags data;
    int64_t count;
    Seeds seeds;
} Dictionary;

enum { AHEAD = 16 }; /* terms whose slots are fetched before the first of them is looked at */

static void dictionary(Call *call, Dictionary *all, int written)
{
    Column slots = written ? column_out(call) : column(call);
    all->slots = (uint64_t *)slots.data;
    all->mask = (uint64_t)slots.size - 1;
    all->offsets = written ? column_out(call) : column(call);
    all->data = written ? flags_out(call) : flags_in(call);
    all->count = number(call);
    all->seeds.one = (uint64_t)number(call);
    all->seeds.two = (uint64_t)number(call);
    if (!call->failed && (slots.size < 1 || (slots.size & (slots.size - 1)) || all->count < 0 ||
                          all->offsets.size <= all->count || 2 * all->count > slots.size ||
                          all->offsets.data[all->count] < 0 || all->offsets.data[all->count] > all->data.size))
        wrong(call, "columns of lengths that do not fit");
}

/* Whether offsets ascend within the data: what is read is never beyond it. */
static int inside(Column offsets, Flags data)
{
    if (!offsets.size || offsets.data[0] < 0 || offsets.data[offsets.size - 1] > data.size)
        return 0;
    for (Py_ssize_t i = 1; i < offsets.size; i++)
        if (offsets.data[i - 1] > offsets.data[i])
            return 0;
    return 1;
}

/* The slot of a term, or the empty one where it would be. */
static inline uint64_t slot_of(const Dictionary *all, const uint8_t *bytes, int64_t length, uint64_t hash)
{
    uint64_t place = home(hash, all->mask);
    for (uint64_t slot; (slot = all->slots[place]); place = (place + 1) & all->mask) {
        if (slot >> 32 != hash >> 32)
            continue;
        int64_t id = id_in(slot), start = all->offsets.data[id];
        if (all->offsets.data[id + 1] - start == length && !memcmp(all->data.data + start, bytes, (size_t)length))
            break;
    }
    return place;
}

/* encode(out slots, out offsets, out data, count, seed, seed, offsets, data, out ids) -> how many terms there are now
 *
 * The ids of terms, which are added if they are new. There is room for all of them: half of the slots stay empty. */
PyObject *encode(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Dictionary all;
    dictionary(&call, &all, 1);
    Column offsets = column(&call);
    Flags data = flags_in(&call);
    Column ids = column_out(&call);
    Py_ssize_t size = ids.size;
    if (!call.failed && (offsets.size != size + 1 || !inside(offsets, data)))
        wrong(&call, "terms that are not where they are said to be");
    if (!call.failed && (2 * (all.count + size) > (int64_t)all.mask + 1 || all.count + size >= all.offsets.size ||
                         all.count + size >= UINT32_MAX ||
                         all.offsets.data[all.count] + offsets.data[size] - offsets.data[0] > all.data.size))
        wrong(&call, "no room for so many terms");
    if (call.failed)
        return end(&call, 0);
    uint64_t hashes[AHEAD];
    for (Py_ssize_t first = 0; first < size; first += AHEAD) {
        Py_ssize_t last = size - first < AHEAD ? size : first + AHEAD;
        for (Py_ssize_t i = first; i < last; i++) {
            int64_t start = offsets.data[i];
            hashes[i - first] = hash_of(data.data + start, offsets.data[i + 1] - start, all.seeds);
            __builtin_prefetch(&all.slots[home(hashes[i - first], all.mask)]);
        }
        for (Py_ssize_t i = first; i < last; i++) {
            uint64_t hash = hashes[i - first];
            const uint8_t *bytes = data.data + offsets.data[i];
            int64_t length = offsets.data[i + 1] - offsets.data[i];
            uint64_t place = slot_of(&all, bytes, length, hash);
            if (!all.slots[place]) {
                int64_t start = all.offsets.data[all.count];
                memcpy(all.data.data + start, bytes, (size_t)length);
                all.slots[place] = entry(hash, all.count);
                all.offsets.data[++all.count] = start + length;
            }
            ids.data[i] = id_in(all.slots[place]);
        }
    }
    return end(&call, all.count);
}

/* find(slots, offsets, data, count, seed, seed, bytes) -> the id of a term; -1 if it has none */
PyObject *find(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Dictionary all;
    dictionary(&call, &all, 0);
    Flags bytes = flags_in(&call);
    if (call.failed)
        return end(&call, 0);
    uint64_t place = slot_of(&all, bytes.data, bytes.size, hash_of(bytes.data, bytes.size, all.seeds));
    return end(&call, id_in(all.slots[place]));
}

/* spread(slots, out slots) -> 0: puts what is in slots into more of them, which are empty. */
PyObject *spread(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column old = column(&call), slots = column_out(&call);
    if (!call.failed && (slots.size < 1 || (slots.size & (slots.size - 1)) || slots.size < old.size))
        wrong(&call, "columns of lengths that do not fit");
    if (call.failed)
        return end(&call, 0);
    move_slots((const uint64_t *)old.data, old.size, (uint64_t *)slots.data, (uint64_t)slots.size - 1);
    return end(&call, 0);
}

/* texts(offsets, data, ids) -> a list of str */
PyObject *texts(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column offsets = column(&call);
    Flags data = flags_in(&call);
    Column ids = column(&call);
    for (Py_ssize_t i = 0; i < ids.size && !call.failed; i++)
        if (ids.data[i] < 0 || ids.data[i] >= offsets.size - 1 || offsets.data[ids.data[i]] < 0 ||
            offsets.data[ids.data[i] + 1] < offsets.data[ids.data[i]] ||
            offsets.data[ids.data[i] + 1] > data.size)
            wrong(&call, "an id that stands for no term");
    if (call.failed)
        return end(&call, 0);
    PyObject *list = PyList_New(ids.size);
    for (Py_ssize_t i = 0; i < ids.size && list; i++) {
        int64_t start = offsets.data[ids.data[i]];
        PyObject *text =
            PyUnicode_DecodeUTF8((const char *)data.data + start, offsets.data[ids.data[i] + 1] - start, NULL);
        if (!text || PyList_SetItem(list, i, text)) {
            Py_DecRef(list);
            list = NULL;
        }
    }
    return end_with(&call, list);
}

/* A term among others that are put in order: its bytes, eight of them behind what all have in common, as a number that
 * is as much less as they come before others, and which of the sought ids has it. */
typedef struct {
    uint64_t key;
    const uint8_t *bytes;
    int64_t length, place;
} Text;

/* UTF-8 has the order of its characters. */
static int by_text(const void *one, const void *other)
{
    const Text *first = one, *second = other;
    if (first->key != second->key)
        return first->key < second->key ? -1 : 1;
    int64_t shorter = first->length < second->length ? first->length : second->length;
    int differ = memcmp(first->bytes, second->bytes, (size_t)shorter);
    return differ ? differ : (first->length > second->length) - (first->length < second->length);
}

static int64_t in_common(const Text *texts, Py_ssize_t size)
{
    int64_t common = size ? texts[0].length : 0;
    for (Py_ssize_t i = 1; i < size && common; i++) {
        if (texts[i].length < common)
            common = texts[i].length;
        for (int64_t k = 0; k < common; k++)
            if (texts[i].bytes[k] != texts[0].bytes[k])
                common = k;
    }
    return common;
}

/* sorted_texts(offsets, data, ids, out order, out int32 offsets) -> their text, one after the other, as bytes
 *
 * Ids of different terms are put in the order of these: `order` has their places. */
PyObject *sorted_texts(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column offsets = column(&call);
    Flags data = flags_in(&call);
    Column ids = column(&call), order = column_out(&call);
    Ids ends = ids_out(&call);
    if (!call.failed && (order.size != ids.size || ends.size != ids.size + 1))
        wrong(&call, "columns of lengths that do not fit");
    int64_t length = 0;
    for (Py_ssize_t i = 0; i < ids.size && !call.failed; i++) {
        if (ids.data[i] < 0 || ids.data[i] >= offsets.size - 1 || offsets.data[ids.data[i]] < 0 ||
            offsets.data[ids.data[i] + 1] < offsets.data[ids.data[i]] ||
            offsets.data[ids.data[i] + 1] > data.size)
            wrong(&call, "an id that stands for no term");
        else if ((length += offsets.data[ids.data[i] + 1] - offsets.data[ids.data[i]]) > INT32_MAX)
            wrong(&call, "more text than a column can have");
    }
    if (call.failed)
        return end(&call, 0);
    Text *texts = malloc((size_t)ids.size * sizeof *texts + 1);
    PyObject *text = texts ? PyBytes_FromStringAndSize(NULL, length) : NULL;
    if (!texts)
        no_memory(&call);
    if (text) {
        for (Py_ssize_t i = 0; i < ids.size; i++) {
            int64_t start = offsets.data[ids.data[i]];
            texts[i] = (Text){0, data.data + start, offsets.data[ids.data[i] + 1] - start, i};
        }
        const int64_t common = in_common(texts, ids.size);
        for (Py_ssize_t i = 0; i < ids.size; i++)
            for (int64_t k = common; k < common + 8; k++)
                texts[i].key = texts[i].key << 8 | (k < texts[i].length ? texts[i].bytes[k] : 0);
        qsort(texts, (size_t)ids.size, sizeof *texts, by_text);
        char *bytes = PyBytes_AsString(text);
        int32_t end_of = 0;
        for (Py_ssize_t i = 0; i < ids.size; i++) {
            order.data[i] = texts[i].place;
            ends.data[i] = end_of;
            memcpy(bytes + end_of, texts[i].bytes, (size_t)texts[i].length);
            end_of += (int32_t)texts[i].length;
        }
        ends.data[ids.size] = end_of;
    }
    free(texts);
    return end_with(&call, text);
}
