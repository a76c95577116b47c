/* Reads and writes at the ends of pipes, without Python code of ours: a call by message costs two of these. */
#ifndef TICKTREE_PIPING_H
#define TICKTREE_PIPING_H

#include "critical_path/edge.h"
#include "outermost.h"

typedef struct {
    tt_section *section; /* of the wait */
    uint32_t channel;    /* name id of the channel on which messages arrive */
    int sends;           /* messages are sent, not received */
    PyObject *attribute; /* attribute of an end: the key of the channel that it receives from or sends to */
    PyObject *resolve;   /* sets the keys of an end, and returns this one; 0: it is unknown */
} tt_pipe;

/* Offset of the tt_pipe in its Cython class, measured once. */
static Py_ssize_t tt_pipe_offset;

/* In outermost.pxi: the run's table of signals; NULL: there is none. */
static tt_channels *tt_channels_of_run(tt_recorder *);

/* Returns 0 if the program's exception is set. */
static int tt_pipe_key(const tt_pipe *piping, PyObject *end, uint64_t *key)
{
    PyObject *attributes = PyObject_GenericGetDict(end, NULL);
    PyObject *value = attributes ? PyDict_GetItemWithError(attributes, piping->attribute) : NULL;
    Py_XINCREF(value);
    Py_XDECREF(attributes);
    if (!value && !PyErr_Occurred()) value = PyObject_CallOneArg(piping->resolve, end);
    *key = value ? PyLong_AsUnsignedLongLongMask(value) : 0;
    Py_XDECREF(value);
    if (!PyErr_Occurred()) return 1;
    *key = 0;
    return tt_clear_usual_error();
}

/* Finds the table and the key for the signal of a sent message; NULL: no signal. Returns 0 if the program's exception is
 * set. */
static int tt_pipe_find_channels(const tt_pipe *piping, PyObject *end, tt_channels **channels, uint64_t *key)
{
    tt_recorder *recorder = piping->section->recorder;
    if (!recorder->recording || tt_ignores_waits(recorder)) return 1;
    if (!tt_pipe_key(piping, end, key)) return 0;
    if (*key) *channels = tt_channels_of_run(recorder);
    return 1;
}

static PyObject *tt_pipe_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    tt_timed *timed = (tt_timed *)((char *)self + tt_timed_offset);
    const tt_pipe *piping = (tt_pipe *)((char *)self + tt_pipe_offset);
    PyObject *end = PyVectorcall_NARGS(count) ? args[0] : NULL;
    tt_channels *send_channels = NULL, *receive_channels = NULL;
    uint64_t send_key = 0, receive_key = 0;
    if (end && piping->sends && !tt_pipe_find_channels(piping, end, &send_channels, &send_key)) return NULL;
    tt_wait wait = tt_wait_enter(piping->section, 1, send_channels, send_key);
    PyObject *result = tt_plain_call(timed, args, count, names);
    if (!wait.counts) return result;
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    if (result && end && !piping->sends && !tt_pipe_key(piping, end, &receive_key)) {
        Py_CLEAR(result);
        PyErr_Fetch(&kind, &error, &trace);
    }
    if (receive_key) receive_channels = tt_channels_of_run(piping->section->recorder);
    tt_wait_leave(piping->section, wait, receive_channels, receive_key, piping->channel);
    PyErr_Restore(kind, error, trace);
    return result;
}

#endif
