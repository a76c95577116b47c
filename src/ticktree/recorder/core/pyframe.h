/* What the recorder must know of the running interpreter: its context and its innermost Python frame.
 *
 * Both are single loads. A Python frame's address identifies a running call as long as that call lives; it tells
 * a generator that sleeps inside a section from the code that runs meanwhile.
 */
#ifndef TICKTREE_PYFRAME_H
#define TICKTREE_PYFRAME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#define TICKTREE_DEFINED_BUILD_CORE
#endif
#undef _PyGC_FINALIZED /* 3.11 defines it twice, differently spelled */
#include "internal/pycore_context.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_pystate.h"
#ifdef TICKTREE_DEFINED_BUILD_CORE
#undef Py_BUILD_CORE
#endif
typedef struct _PyInterpreterFrame tt_pyframe;

/* The running Python frame as an object, for its line: slow, and it may run any code. Borrowed, or NULL. */
static inline PyObject *tt_calling_frame(void) { return (PyObject *)PyEval_GetFrame(); }

static inline PyThreadState *tt_thread_state(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_GET(); /* a load, where the function would be a call */
#endif
}

static inline tt_pyframe *tt_pyframe_now(PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030D0000
    return state->current_frame;
#else
    return state->cframe->current_frame;
#endif
}

static inline tt_pyframe *tt_pyframe_caller(tt_pyframe *frame) { return frame->previous; }

/* The context that was current where this one was entered; NULL below the thread's own. */
static inline PyObject *tt_context_beneath(PyObject *context)
{
    return (PyObject *)((PyContext *)context)->ctx_prev;
}

/* True of generators, coroutines and async generators: frames that outlive the call that resumed them. */
static inline int tt_pyframe_may_sleep(tt_pyframe *frame)
{
    return frame && frame->owner == FRAME_OWNED_BY_GENERATOR;
}

static inline const void *tt_pyframe_code(const tt_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return frame->f_executable;
#else
    return frame->f_code;
#endif
}

/* Set by the Cython side: the code of contextlib's `__enter__` and `__aenter__` for generators. */
static const void *tt_manager_codes[2];

/* Who called, without frames that the interpreter makes for itself: below C code, and from Python 3.13 on between
 * `__init__` and a call of the class that was specialised. */
static inline tt_pyframe *tt_pyframe_python_caller(tt_pyframe *frame)
{
    frame = tt_pyframe_caller(frame);
#if PY_VERSION_HEX >= 0x030C0000
    while (frame && (frame->owner == FRAME_OWNED_BY_CSTACK || _PyFrame_IsIncomplete(frame))) frame = frame->previous;
#endif
    return frame;
}

/* The call whose block a section covers: that of the running code, but for a generator that @contextmanager made a
 * context manager, the call that has the `with`. */
static inline tt_pyframe *tt_pyframe_owner(tt_pyframe *frame)
{
    while (tt_pyframe_may_sleep(frame)) {
        tt_pyframe *enter = tt_pyframe_python_caller(frame);
        const void *code = enter ? tt_pyframe_code(enter) : NULL;
        if (!code || (code != tt_manager_codes[0] && code != tt_manager_codes[1])) break;
        tt_pyframe *user = tt_pyframe_python_caller(enter);
        if (!user) break;
        frame = user;
    }
    return frame;
}

/* The instruction being executed: an address of its own for each call site. */
static inline uint64_t tt_pyframe_site(tt_pyframe *frame)
{
    if (!frame) return 1;
#if PY_VERSION_HEX >= 0x030D0000
    return (uint64_t)(uintptr_t)frame->instr_ptr;
#else
    return (uint64_t)(uintptr_t)frame->prev_instr;
#endif
}

/* Byte offset of the instruction that a frame executes. */
static inline int tt_pyframe_offset(tt_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (int)((const char *)frame->instr_ptr - (const char *)_PyCode_CODE((PyCodeObject *)frame->f_executable));
#else
    return (int)((const char *)frame->prev_instr - (const char *)_PyCode_CODE(frame->f_code));
#endif
}

#endif
