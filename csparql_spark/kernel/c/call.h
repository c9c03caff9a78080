/* The arguments of a call: columns, which are held until it ends, and numbers.
 *
 *     Call call = called(arguments, count);
 *     Column keys = column(&call, 8), out = writable(&call, 8);
 *     int64_t now = number(&call);
 *     if (call.failed)
 *         return end(&call, 0);
 *     …
 *     return end(&call, rows);
 *
 * Arguments are taken in the order in which they were given. After the first that is wrong, `failed` is set, and what
 * is taken then is empty. Columns are told apart by the size of their items alone, but for doubles: to ask whether
 * ten of them are integers makes a call half as long again (0.54 µs for 0.38). */
#ifndef KERNEL_CALL_H
#define KERNEL_CALL_H

#include "python.h"

/* For what is given a function that it calls: so it is made anew for each, and calls none. */
#define INLINE static inline __attribute__((always_inline))

enum { MOST_ARGUMENTS = 144 }; /* ten columns, and two for each run of a map */

typedef struct {
    int64_t *data;
    Py_ssize_t size;
} Column;

typedef struct {
    double *data;
    Py_ssize_t size;
} Doubles;

typedef struct {
    uint8_t *data;
    Py_ssize_t size;
} Flags;

typedef struct {
    int32_t *data;
    Py_ssize_t size;
} Ids;

typedef struct {
    const void *data;
    Py_ssize_t size;
    int wide; /* of eight bytes, and not of four */
} Cells;

typedef struct {
    PyObject *const *arguments;
    Py_ssize_t count, next;
    Py_buffer held[MOST_ARGUMENTS];
    int columns, failed;
    PyThreadState *thread;
} Call;

void begin(Call *call, PyObject *const *arguments, Py_ssize_t count);
Column column(Call *call);          /* of int64, to be read */
Column column_out(Call *call);      /* of int64, to be written */
Doubles doubles(Call *call);        /* of double, to be read */
Doubles doubles_out(Call *call);    /* of double, to be written */
Flags flags_in(Call *call);         /* of bool or of bytes, to be read */
Flags flags_out(Call *call);        /* of bool or of bytes, to be written */
Ids ids_in(Call *call);             /* of int32, to be read */
Ids ids_out(Call *call);            /* of int32, to be written */
Cells cells(Call *call);            /* of int64 or int32, to be read */
int64_t number(Call *call);
static inline int is_shift(int64_t bits) { return bits >= 0 && bits < 64; }
Py_ssize_t left(const Call *call);  /* how many arguments were not taken yet */
void wrong(Call *call, const char *sentence);
void no_memory(Call *call);
void let_others_run(Call *call, Py_ssize_t rows); /* releases the interpreter's lock where there is much to do */
void take_turn(Call *call);                       /* has it again, for what is Python's */
PyObject *end(Call *call, int64_t result);
PyObject *end_with(Call *call, PyObject *result); /* NULL: it says itself what was wrong */

#endif
