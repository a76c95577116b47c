/* Reading and writing of pipes' ends: a call whose every message costs two of these, without any Python of ours. */
#ifndef TICKTREE_PIPING_H
#define TICKTREE_PIPING_H

#include "critical_path/edge.h"
#include "outermost.h"

typedef struct {
    tt_section *section; /* of what may block */
    uint32_t channel;    /* the name of the channel by which messages arrive */
    int sends;           /* messages are sent, not received */
    PyObject *attribute; /* of an end: the key of the channel where it gets messages, or where they go from it */
    PyObject *resolve;   /* gives an end its keys, and returns the requested one; 0: it is not known */
} tt_piping;

/* Where the Cython class keeps its tt_piping, measured once. */
static Py_ssize_t tt_piping_offset;

/* In outermost.pxi: the run's table of signals; NULL: none can be left. */
static tt_channels *tt_channels_of_run(tt_recorder *);

/* 0 where what was raised meanwhile is the program's. */
static int tt_piping_key(const tt_piping *piping, PyObject *end, uint64_t *key)
{
    PyObject *attributes = PyObject_GenericGetDict(end, NULL);
    PyObject *known = attributes ? PyDict_GetItemWithError(attributes, piping->attribute) : NULL;
    Py_XINCREF(known);
    Py_XDECREF(attributes);
    if (!known && !PyErr_Occurred()) known = PyObject_CallOneArg(piping->resolve, end);
    *key = known ? PyLong_AsUnsignedLongLongMask(known) : 0;
    Py_XDECREF(known);
    if (!PyErr_Occurred()) return 1;
    *key = 0;
    return tt_forget_mistake();
}

/* Where the signal of a message that is sent is left; NULL: none is. 0 where what was raised is the program's. */
static int tt_piping_leads_to(const tt_piping *piping, PyObject *end, tt_channels **channels, uint64_t *key)
{
    tt_recorder *recorder = piping->section->recorder;
    if (!recorder->recording || tt_ignores_waits(recorder)) return 1;
    if (!tt_piping_key(piping, end, key)) return 0;
    if (*key) *channels = tt_channels_of_run(recorder);
    return 1;
}

static PyObject *tt_piping_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    tt_timed *timed = (tt_timed *)((char *)self + tt_timed_offset);
    const tt_piping *piping = (tt_piping *)((char *)self + tt_piping_offset);
    PyObject *end = PyVectorcall_NARGS(count) ? args[0] : NULL;
    tt_channels *leads_to = NULL, *channels = NULL;
    uint64_t sent = 0, key = 0;
    if (end && piping->sends && !tt_piping_leads_to(piping, end, &leads_to, &sent)) return NULL;
    tt_wait wait = tt_wait_enter(piping->section, 1, leads_to, sent);
    PyObject *result = tt_plain_call(timed, args, count, names);
    if (!wait.counts) return result;
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    if (result && end && !piping->sends && !tt_piping_key(piping, end, &key)) {
        Py_CLEAR(result);
        PyErr_Fetch(&kind, &error, &trace);
    }
    if (key) channels = tt_channels_of_run(piping->section->recorder);
    tt_wait_leave(piping->section, wait, channels, key, piping->channel);
    PyErr_Restore(kind, error, trace);
    return result;
}

#endif
