/* Where keys are among sorted ones.
 *
 * Whoever asks for many keys that ascend goes through all. Whoever asks for fewer walks: from where the last ones were,
 * in steps that double (a gallop), to a stretch that the next few are in. In it, or among all where keys come in no
 * order, several are sought at once by halving, and without branches: so the waits for memory overlap, and nothing is
 * guessed wrong. */
#ifndef KERNEL_SEARCH_H
#define KERNEL_SEARCH_H

#include "call.h"

/* So many keys are sought at once; where there are less than so many times as many, one looks at all of them. */
enum { TOGETHER = 16, DENSE = 128 };

/* The first place from `begin` on whose key is not less than `key`. */
static inline Py_ssize_t gallop(const int64_t *keys, Py_ssize_t begin, Py_ssize_t size, int64_t key)
{
    if (begin >= size || keys[begin] >= key)
        return begin;
    Py_ssize_t low = begin, step = 1; /* keys[low] < key */
    while (low + step < size && keys[low + step] < key) {
        low += step;
        step *= 2;
    }
    Py_ssize_t high = low + step < size ? low + step : size;
    while (high - low > 1) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* The first places, from `begin` to `end`, whose keys are not less than `TOGETHER` sought ones. */
static inline void halve(
    const int64_t *keys, Py_ssize_t begin, Py_ssize_t end, const int64_t *sought, Py_ssize_t *places)
{
    for (int k = 0; k < TOGETHER; k++)
        places[k] = begin;
    Py_ssize_t length = end - begin;
    while (length > 1) {
        const Py_ssize_t half = length / 2;
        for (int k = 0; k < TOGETHER; k++)
            places[k] += -(Py_ssize_t)(keys[places[k] + half - 1] < sought[k]) & half;
        length -= half;
    }
    if (length > 0)
        for (int k = 0; k < TOGETHER; k++)
            places[k] += keys[places[k]] < sought[k];
}

static inline int ascending(Column keys)
{
    for (Py_ssize_t i = 1; i < keys.size; i++)
        if (keys.data[i - 1] > keys.data[i])
            return 0;
    return 1;
}

/* What goes with the keys at these places is about to be read: all of it is asked for before the first is waited
 * for. */
static inline void ask_for(const int64_t *column, const Py_ssize_t *places, int count)
{
    for (int k = 0; k < count; k++)
        __builtin_prefetch(column + places[k]);
}

/* Iteration over the places of many keys: `seek` names up to TOGETHER of them at a time. */
typedef struct {
    Column sought;
    int ascend;
    Py_ssize_t next, walked;
    Py_ssize_t places[TOGETHER];
} Search;

static inline void search(Search *search, Column sought, int ascend)
{
    search->sought = sought;
    search->ascend = ascend;
    search->next = search->walked = 0;
}

/* How many places were found; they belong to the keys sought from `first` on. 0 at the end. */
static inline int seek(Search *search, const int64_t *keys, Py_ssize_t size, Py_ssize_t *first)
{
    const int64_t *sought = search->sought.data;
    Py_ssize_t count = search->sought.size - search->next;
    *first = search->next;
    if (count > TOGETHER)
        count = TOGETHER;
    if (search->ascend && size < DENSE * search->sought.size) {
        Py_ssize_t row = search->walked;
        for (Py_ssize_t k = 0; k < count; k++) {
            int64_t key = sought[*first + k];
            while (row < size && keys[row] < key)
                row++;
            search->places[k] = row;
        }
        search->walked = row;
    } else if (count == TOGETHER) {
        Py_ssize_t begin = 0, end = size;
        if (search->ascend) {
            begin = search->walked;
            end = search->walked = gallop(keys, begin, size, sought[*first + TOGETHER - 1]);
        }
        halve(keys, begin, end, sought + *first, search->places);
    } else
        for (Py_ssize_t k = 0; k < count; k++) {
            Py_ssize_t begin = search->ascend ? search->walked : 0;
            search->places[k] = search->walked = gallop(keys, begin, size, sought[*first + k]);
        }
    search->next += count;
    return (int)count;
}

#endif
