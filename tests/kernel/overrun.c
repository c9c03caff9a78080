/* What the sanitizers must notice, so that a test which notices nothing is not taken for a proof: a read behind the end
 * of a column, and a sum that has no room. */
#include "call.h"

static PyObject *behind_the_end(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    Column values = column(&call);
    return end(&call, call.failed ? 0 : values.data[values.size]);
}

static PyObject *sum(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Call call;
    begin(&call, arguments, count);
    int64_t one = number(&call), other = number(&call);
    return end(&call, one + other);
}

static PyMethodDef functions[] = {
    {"behind_the_end", behind_the_end, METH_FASTCALL, NULL},
    {"sum", sum, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {.references = 1, .name = "overrun", .size = -1, .methods = functions};

__attribute__((visibility("default"))) PyObject *PyInit_overrun(void)
{
    return PyModule_Create2(&definition, PYTHON_API_VERSION);
}
