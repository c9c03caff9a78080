/* A map from keys to tags that is kept as several sorted runs; what becomes of two tags of one key. */
#ifndef KERNEL_MAP_H
#define KERNEL_MAP_H

#include "call.h"

enum { LATEST, SUM }; /* as `limits.py` numbers them */

static inline int64_t together(int64_t one, int64_t other, int64_t union_)
{
    if (union_ == SUM)
        return (int64_t)((uint64_t)one + (uint64_t)other);
    return one > other ? one : other;
}

typedef struct {
    Column keys, tags;
} Run;

typedef struct {
    Run run[MOST_ARGUMENTS / 2];
    int count;
} Map;

/* The rest of the arguments: keys and tags, run by run. */
static inline void runs(Call *call, Map *map, int written)
{
    map->count = 0;
    while (left(call)) {
        Run *run = &map->run[map->count++];
        run->keys = column(call);
        run->tags = written ? column_out(call) : column(call);
        if (!call->failed && run->keys.size != run->tags.size)
            wrong(call, "columns of lengths that do not fit");
    }
}

#endif
