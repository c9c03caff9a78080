/* Terms as bytes, and where they are in a table of them.
 *
 * A table is open addressing: a slot holds the upper half of a term's hash and, in its lower half, the term's id and
 * one; 0 is empty. At most half of the slots are taken. Whoever sends terms knows neither seed, and so can choose none
 * that meet in a slot; and terms are compared byte by byte, whatever their hashes. */
#ifndef KERNEL_TERMS_H
#define KERNEL_TERMS_H

#include <string.h>

#include "call.h"

enum { LEAST_SLOTS = 1024 };

typedef struct {
    uint64_t one, two;
} Seeds;

static inline uint64_t eight(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t four(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Both halves of the product, so that every bit of the factors moves every bit of the result. */
static inline uint64_t folded(uint64_t one, uint64_t other)
{
    __extension__ typedef unsigned __int128 Wide;
    Wide product = (Wide)one * other;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_of(const uint8_t *bytes, Py_ssize_t length, Seeds seeds)
{
    uint64_t hash = seeds.one ^ (uint64_t)length, first = 0, last = 0;
    Py_ssize_t left = length;
    for (; left > 16; left -= 16, bytes += 16)
        hash = folded(eight(bytes) ^ seeds.two, eight(bytes + 8) ^ hash);
    if (left >= 8) {
        first = eight(bytes);
        last = eight(bytes + left - 8);
    } else if (left >= 4) {
        first = four(bytes);
        last = four(bytes + left - 4);
    } else if (left > 0) {
        first = (uint64_t)bytes[0] << 16 | (uint64_t)bytes[left >> 1] << 8 | bytes[left - 1];
    }
    return folded(folded(first ^ seeds.two, last ^ hash) ^ seeds.one, 0x9e3779b97f4a7c15u);
}

/* The slots are a power of two. */
static inline uint64_t home(uint64_t hash, uint64_t mask) { return (hash >> 32) & mask; }
static inline uint64_t entry(uint64_t hash, int64_t id) { return (hash & ~(uint64_t)UINT32_MAX) | (uint64_t)(id + 1); }
static inline int64_t id_in(uint64_t slot) { return (int64_t)(slot & UINT32_MAX) - 1; }

/* Puts what is in `old` slots into empty ones, of which there are more. */
static inline void move_slots(const uint64_t *old, Py_ssize_t size, uint64_t *slots, uint64_t mask)
{
    for (Py_ssize_t i = 0; i < size; i++) {
        if (!old[i])
            continue;
        uint64_t place = home(old[i], mask);
        while (slots[place])
            place = (place + 1) & mask;
        slots[place] = old[i];
    }
}

#endif
