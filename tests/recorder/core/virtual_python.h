/* Replaces core/pyframe.h: the parts of an interpreter that the core uses, for a program without Python.
 *
 * A thread has a state, a context and a chain of Python frames, which the test changes. Contexts are counted references,
 * like Python's: the sanitizers detect what the core holds for too long or releases too early.
 */
#ifndef TICKTREE_VIRTUAL_PYTHON_H
#define TICKTREE_VIRTUAL_PYTHON_H

#include <stdint.h>
#include <stdlib.h>

typedef struct PyObject PyObject;
struct PyObject { /* a context, or an origin's handle */
    long references;
    PyObject *previous; /* the context that was current where this one was entered */
    PyObject *origin;  /* the value of the one context variable in it */
    void *handle_origin;        /* of an origin's handle: the origin */
    int is_task;
};

typedef struct tt_pyframe tt_pyframe;
struct tt_pyframe {
    tt_pyframe *previous;
    uint64_t instruction;
    int is_generator;
};

typedef struct {
    uint64_t id;
    PyObject *context;
    tt_pyframe *frame;
    void *mark;
    void (*on_clear)(void *);
} PyThreadState;

extern __thread PyThreadState virtual_state;

static inline PyObject *virtual_object(void)
{
    PyObject *object = calloc(1, sizeof *object);
    object->references = 1;
    return object;
}

static inline void Py_XINCREF(PyObject *object)
{
    if (object) object->references++;
}

static inline void Py_XDECREF(PyObject *object)
{
    if (!object || --object->references) return;
    Py_XDECREF(object->origin);
    free(object);
}

#define Py_INCREF Py_XINCREF
#define Py_DECREF Py_XDECREF
#define Py_REFCNT(object) ((object)->references)
#define Py_CLEAR(place)               \
    do {                              \
        PyObject *cleared = (place);  \
        (place) = NULL;               \
        Py_XDECREF(cleared);          \
    } while (0)

static inline PyThreadState *tt_thread_state(void) { return &virtual_state; }
static inline PyObject *tt_context_now(PyThreadState *state) { return state->context; }
static inline PyObject *tt_context_previous(PyObject *context) { return context->previous; }
static inline int tt_context_is_base(PyObject *context) { return !context->is_task; }

static inline PyObject *tt_context_force(PyThreadState *state)
{
    if (!state->context) state->context = virtual_object();
    return state->context;
}

static inline PyObject *tt_variable_in(PyObject *context, PyObject *variable)
{
    PyObject *value = variable ? context->origin : NULL;
    Py_XINCREF(value);
    return value;
}

static inline PyObject *tt_variable_now(PyObject *variable) { return tt_variable_in(virtual_state.context, variable); }

static inline tt_pyframe *tt_pyframe_now(PyThreadState *state) { return state->frame; }
static inline tt_pyframe *tt_pyframe_caller(tt_pyframe *frame) { return frame->previous; }
static inline tt_pyframe *tt_pyframe_owner(tt_pyframe *frame) { return frame; }
static inline int tt_pyframe_may_sleep(tt_pyframe *frame) { return frame && frame->is_generator; }
static inline uint64_t tt_pyframe_site(tt_pyframe *frame) { return frame ? frame->instruction : 1; }
static inline int tt_holds_gil(void) { return 1; }

static inline void tt_state_watch(PyThreadState *state, void *mark, void (*on_clear)(void *))
{
    state->mark = mark;
    state->on_clear = on_clear;
}

#endif
