/* The functions of this room, as Python calls them. Each is described where it is, and does what its twin in numpy
 * does, which is beside it in Python under the same name. */
#ifndef KERNEL_H
#define KERNEL_H

#include "call.h"

/* merge.c */
PyObject *merge(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *held(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* probe.c */
PyObject *found(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *tags_of(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *absorb(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *drop(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* join.c */
PyObject *slices(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *join(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *pairs(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* group.c */
PyObject *reduce(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *reduce_doubles(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *total(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *accumulate(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *combine(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *rounded(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* rows.c */
PyObject *dense_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *count_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *find_rows(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *unpaired(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* sort.c */
PyObject *order(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *unite(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *turn(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *dense_ranks(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *ordered(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *distinct(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* lines.c */
PyObject *lines(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* terms.c */
PyObject *encode(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *find(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *spread(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *texts(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *sorted_texts(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* spellings.c */
PyObject *spell(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* table.c */
PyObject *table_body(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* row_text.c */
PyObject *row_text(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
