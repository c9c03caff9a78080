#include "call.h"

enum { MUCH = 20000 }; /* rows from which it pays to release the lock: that costs as much as about a hundred rows */

void begin(Call *call, PyObject *const *arguments, Py_ssize_t count)
{
    call->arguments = arguments;
    call->count = count;
    call->next = 0;
    call->columns = 0;
    call->failed = 0;
    call->thread = NULL;
    if (count > MOST_ARGUMENTS)
        wrong(call, "too many arguments");
}

void wrong(Call *call, const char *sentence)
{
    if (!call->failed)
        PyErr_SetString(PyExc_TypeError, sentence);
    call->failed = 1;
}

void no_memory(Call *call)
{
    take_turn(call);
    PyErr_NoMemory();
    call->failed = 1;
}

static PyObject *next(Call *call)
{
    if (!call->failed && call->next >= call->count)
        wrong(call, "too few arguments");
    return call->failed ? NULL : call->arguments[call->next++];
}

static Py_buffer *any_buffer(Call *call, int how)
{
    PyObject *argument = next(call);
    if (!argument)
        return NULL;
    Py_buffer *view = &call->held[call->columns];
    if (PyObject_GetBuffer(argument, view, how)) {
        call->failed = 1;
        return NULL;
    }
    call->columns++;
    return view;
}

static Py_buffer *buffer(Call *call, int how, Py_ssize_t itemsize)
{
    Py_buffer *view = any_buffer(call, how);
    if (view && view->itemsize != itemsize) {
        wrong(call, "a column of another type");
        view = NULL;
    }
    return view;
}

static Column integers(Call *call, int how)
{
    Py_buffer *view = buffer(call, how, 8);
    return view ? (Column){view->buf, view->len / 8} : (Column){NULL, 0};
}

static Flags flags(Call *call, int how)
{
    Py_buffer *view = buffer(call, how, 1);
    return view ? (Flags){view->buf, view->len} : (Flags){NULL, 0};
}

static Doubles real(Call *call, int how)
{
    Py_buffer *view = buffer(call, how | PyBUF_FORMAT, 8);
    if (view && !(view->format && view->format[0] == 'd')) {
        wrong(call, "a column of another type");
        view = NULL;
    }
    return view ? (Doubles){view->buf, view->len / 8} : (Doubles){NULL, 0};
}

static Ids ids(Call *call, int how)
{
    Py_buffer *view = buffer(call, how, 4);
    return view ? (Ids){view->buf, view->len / 4} : (Ids){NULL, 0};
}

Column column(Call *call) { return integers(call, PyBUF_SIMPLE); }
Column column_out(Call *call) { return integers(call, PyBUF_WRITABLE); }
Doubles doubles(Call *call) { return real(call, PyBUF_SIMPLE); }
Doubles doubles_out(Call *call) { return real(call, PyBUF_WRITABLE); }
Flags flags_in(Call *call) { return flags(call, PyBUF_SIMPLE); }
Flags flags_out(Call *call) { return flags(call, PyBUF_WRITABLE); }
Ids ids_in(Call *call) { return ids(call, PyBUF_SIMPLE); }
Ids ids_out(Call *call) { return ids(call, PyBUF_WRITABLE); }

Cells cells(Call *call)
{
    Py_buffer *view = any_buffer(call, PyBUF_SIMPLE);
    if (view && view->itemsize != 8 && view->itemsize != 4) {
        wrong(call, "a column of another type");
        view = NULL;
    }
    return view ? (Cells){view->buf, view->len / view->itemsize, view->itemsize == 8} : (Cells){NULL, 0, 1};
}

int64_t number(Call *call)
{
    PyObject *argument = next(call);
    if (!argument)
        return 0;
    long long value = PyLong_AsLongLong(argument);
    if (value == -1 && PyErr_Occurred())
        call->failed = 1;
    return value;
}

Py_ssize_t left(const Call *call) { return call->failed ? 0 : call->count - call->next; }

void let_others_run(Call *call, Py_ssize_t rows)
{
    if (rows > MUCH && !call->failed)
        call->thread = PyEval_SaveThread();
}

void take_turn(Call *call)
{
    if (call->thread)
        PyEval_RestoreThread(call->thread);
    call->thread = NULL;
}

static void let_go(Call *call)
{
    take_turn(call);
    for (int i = 0; i < call->columns; i++)
        PyBuffer_Release(&call->held[i]);
    if (call->next < call->count)
        wrong(call, "too many arguments");
}

PyObject *end(Call *call, int64_t result)
{
    let_go(call);
    return call->failed ? NULL : PyLong_FromLongLong(result);
}

PyObject *end_with(Call *call, PyObject *result)
{
    let_go(call);
    if (!call->failed)
        return result;
    Py_DecRef(result);
    return NULL;
}
