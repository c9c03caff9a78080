/* A map from keys to tags that is kept as several sorted runs. */
#ifndef KERNEL_MAP_H
#define KERNEL_MAP_H

#include "call.h"

typedef struct {
    Column keys, tags;
} Run;

typedef struct {
    Run run[MOST_ARGUMENTS / 2];
    int count;
    Py_ssize_t rows;
} Map;

/* The rest of the arguments: keys and tags, run by run. */
static inline void runs(Call *call, Map *map, int written)
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

#endif
