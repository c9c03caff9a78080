#include "kernel.h"

#define FUNCTION(name) {#name, name, METH_FASTCALL, NULL}

enum { VERSION = 8 }; /* as `native.py` wants it */

static PyObject *version(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module, (void)arguments, (void)count;
    return PyLong_FromLongLong(VERSION);
}

static PyMethodDef functions[] = {
    FUNCTION(version),
    FUNCTION(merge), FUNCTION(held),
    FUNCTION(found), FUNCTION(tags_of), FUNCTION(absorb), FUNCTION(drop),
    FUNCTION(slices), FUNCTION(join), FUNCTION(pairs),
    FUNCTION(reduce), FUNCTION(reduce_doubles), FUNCTION(total), FUNCTION(accumulate), FUNCTION(combine),
    FUNCTION(rounded),
    FUNCTION(dense_rows), FUNCTION(count_rows), FUNCTION(find_rows), FUNCTION(unpaired),
    FUNCTION(order), FUNCTION(unite), FUNCTION(turn), FUNCTION(distinct), FUNCTION(dense_ranks), FUNCTION(ordered),
    FUNCTION(lines),
    FUNCTION(encode), FUNCTION(find), FUNCTION(spread), FUNCTION(texts), FUNCTION(sorted_texts),
    FUNCTION(spell),
    FUNCTION(table_body),
    FUNCTION(row_text),
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    .references = 1, .name = "_kernel", .doc = "Compiled loops over columns.", .size = -1, .methods = functions,
};

__attribute__((visibility("default"))) PyObject *PyInit__kernel(void)
{
    return PyModule_Create2(&definition, PYTHON_API_VERSION);
}
