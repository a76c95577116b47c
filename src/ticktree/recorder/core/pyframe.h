/* CPython's internals: all that the recorder takes from the interpreter past its public API, for CPython 3.11 to 3.15.
 *
 * The running context and the innermost Python frame are single loads. A Python frame's address identifies a running
 * call as long as that call lives; it tells a generator that sleeps inside a section from the code that runs meanwhile.
 *
 * To support a new version: compile against its headers, run scripts/test-versions.sh, raise the limit below, and
 * `NEWEST` in setup.py. Python code relies on more names: the arguments of `_posixsubprocess.fork_exec` and
 * `multiprocessing.spawn.prepare` (children.py), `threading._active` and `Thread._context` (native/callbacks.pxi), and
 * `threading._profile_hook` (focus/profiling.py).
 */
#ifndef TICKTREE_PYFRAME_H
#define TICKTREE_PYFRAME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x03100000
#error "ticktree reads frames of CPython 3.11 to 3.15 only: use one, or a ticktree that supports this Python"
#endif

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#define TICKTREE_DEFINED_BUILD_CORE
#endif
#undef _PyGC_FINALIZED /* 3.11 defines it twice, differently spelled */
#include "internal/pycore_context.h"
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#endif
#include "internal/pycore_pystate.h"
#ifdef TICKTREE_DEFINED_BUILD_CORE
#undef Py_BUILD_CORE
#endif
typedef struct _PyInterpreterFrame tt_pyframe;

/* -- where the versions differ --------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030E0000 /* a tagged reference; the code that runs may be the thread's own copy */
#define TT_PYFRAME_CODE(frame) PyStackRef_AsPyObjectBorrow((frame)->f_executable)
#define TT_PYFRAME_CODE_BEGIN(frame) _PyFrame_GetBytecode(frame)
#elif PY_VERSION_HEX >= 0x030D0000
#define TT_PYFRAME_CODE(frame) ((frame)->f_executable)
#define TT_PYFRAME_CODE_BEGIN(frame) _PyCode_CODE((PyCodeObject *)(frame)->f_executable)
#else
#define TT_PYFRAME_CODE(frame) ((PyObject *)(frame)->f_code)
#define TT_PYFRAME_CODE_BEGIN(frame) _PyCode_CODE((frame)->f_code)
#endif

#if PY_VERSION_HEX >= 0x030D0000
#define tt_thread_state PyThreadState_GetUnchecked
#define TT_PYFRAME_OF_THREAD(state) ((state)->current_frame)
#define TT_PYFRAME_INSTRUCTION(frame) ((frame)->instr_ptr)
#else
#define tt_thread_state _PyThreadState_GET /* a load, where the function would be a call */
#define TT_PYFRAME_OF_THREAD(state) ((state)->cframe->current_frame)
#define TT_PYFRAME_INSTRUCTION(frame) ((frame)->prev_instr)
#endif

#if PY_VERSION_HEX >= 0x030C0000
#define tt_code_get_extra PyUnstable_Code_GetExtra
#define tt_code_set_extra PyUnstable_Code_SetExtra
#define tt_request_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#else
#define tt_code_get_extra _PyCode_GetExtra
#define tt_code_set_extra _PyCode_SetExtra
#define tt_request_extra_index _PyEval_RequestCodeExtraIndex
#endif

/* Gives a new number of a subclass of int, whose memory is zeroed, its one digit. */
static inline void tt_set_digit(PyObject *number, digit value)
{
#if PY_VERSION_HEX >= 0x030C0000
    ((PyLongObject *)number)->long_value.lv_tag = 1u << 3; /* one digit; below it three bits for the sign */
    ((PyLongObject *)number)->long_value.ob_digit[0] = value;
#else
    ((PyLongObject *)number)->ob_digit[0] = value; /* tp_alloc noted how many there are */
#endif
}

#if PY_VERSION_HEX < 0x030C0000 /* for the profile function; later versions have sys.monitoring */
#include <opcode.h>

/* Whether the frame of a generator or coroutine begins: its first instruction runs, and it was not resumed. */
static inline int tt_pyframe_is_fresh(tt_pyframe *frame)
{
    int opcode = _Py_OPCODE(*frame->prev_instr);
    return (opcode == RESUME || opcode == RESUME_QUICK) && _Py_OPARG(*frame->prev_instr) == 0;
}

static inline int tt_pyframe_has_yielded(tt_pyframe *frame) { return _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE; }

static inline Py_tracefunc tt_profile_function(PyThreadState *state) { return state->c_profilefunc; }
#endif

/* -- the same in all ------------------------------------------------------------------------------------------- */

/* The running Python frame as an object, for its line: slow, and it may run any code. Borrowed, or NULL. */
static inline PyObject *tt_calling_frame(void) { return (PyObject *)PyEval_GetFrame(); }

/* The context that runs, borrowed; NULL in a thread that did not need one yet. */
static inline PyObject *tt_context_now(PyThreadState *state) { return state->context; }

/* The context that was current where this one was entered; NULL below the thread's own. */
static inline PyObject *tt_context_beneath(PyObject *context)
{
    return (PyObject *)((PyContext *)context)->ctx_prev;
}

/* A context that can be entered is not inside a `Context.run`: it is the thread's own. Only then may a strong
 * reference be kept for good; a task's context must go when its task goes. */
static inline int tt_context_is_base(PyObject *context)
{
    if (PyContext_Enter(context) == 0) {
        PyContext_Exit(context);
        return 1;
    }
    PyErr_Clear();
    return 0;
}

/* A thread's context is NULL until some library first needs one; a section that is open by then would lose its
 * stack. So it is made now. */
static inline PyObject *tt_context_force(PyThreadState *state)
{
    if (!tt_context_now(state)) {
        PyObject *copy = PyContext_CopyCurrent();
        if (!copy) PyErr_Clear();
        Py_XDECREF(copy);
    }
    return tt_context_now(state);
}

/* What a context variable is in a context. New reference, or NULL. */
static inline PyObject *tt_variable_in(PyObject *context, PyObject *variable)
{
    PyObject *value = PyObject_CallMethod(context, "get", "O", variable);
    if (!value) PyErr_Clear();
    return value;
}

/* The same in the one that runs. */
static inline PyObject *tt_variable_now(PyObject *variable)
{
    PyObject *value = NULL;
    if (variable && PyContextVar_Get(variable, NULL, &value) < 0) PyErr_Clear();
    return value;
}

/* Whether this thread may touch what the GIL guards. */
static inline int tt_holds_gil(void) { return Py_IsInitialized() && PyGILState_Check(); }

static inline void tt_state_over(PyObject *capsule)
{
    void (*over)(void *) = (void (*)(void *))PyCapsule_GetContext(capsule);
    over(PyCapsule_GetPointer(capsule, NULL));
}

/* Leaves a mark in the thread's Python state; `over(mark)` runs when the state is cleared: with the GIL, on the thread
 * itself, and before a thread that joins it continues. A finaliser may come here after that: then there is nothing to
 * leave it in. */
static inline void tt_state_watch(PyThreadState *state, void *mark, void (*over)(void *))
{
    static __thread uint64_t watched;
    if (watched == PyThreadState_GetID(state)) return;
    watched = PyThreadState_GetID(state);
    PyObject *kept = PyThreadState_GetDict();
    PyObject *capsule = kept ? PyCapsule_New(mark, NULL, tt_state_over) : NULL;
    if (!capsule || PyCapsule_SetContext(capsule, (void *)over) || PyDict_SetItemString(kept, "ticktree", capsule))
        PyErr_Clear();
    Py_XDECREF(capsule);
}

/* What a weak reference refers to, borrowed; None once it is gone. */
static inline PyObject *tt_referent(PyObject *reference) { return ((PyWeakReference *)reference)->wr_object; }

/* The identity of a C function: methods are bound again for each call. NULL: it is not one. */
static inline const void *tt_c_function_key(PyObject *callable)
{
    if (PyCFunction_Check(callable)) return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

/* Whether what an async generator yields is a value, and not what it awaits. */
static inline int tt_is_yielded_value(PyObject *value)
{
    return !strcmp(Py_TYPE(value)->tp_name, "async_generator_wrapped_value");
}

/* At the bottom of a thread, where no Python code runs: NULL, or from 3.14 on a frame without code. */
static inline tt_pyframe *tt_pyframe_now(PyThreadState *state) { return TT_PYFRAME_OF_THREAD(state); }

static inline tt_pyframe *tt_pyframe_caller(tt_pyframe *frame) { return frame->previous; }

/* True of generators, coroutines and async generators: frames that outlive the call that resumed them. */
static inline int tt_pyframe_may_sleep(tt_pyframe *frame)
{
    return frame && frame->owner == FRAME_OWNED_BY_GENERATOR;
}

static inline const void *tt_pyframe_code(const tt_pyframe *frame) { return TT_PYFRAME_CODE(frame); }

/* The code of contextlib's `__enter__` and `__aenter__` for generators. */
extern __attribute__((visibility("hidden"))) const void *tt_manager_codes[2];

/* The caller, without frames that the interpreter makes for itself: below C code, at the bottom of a thread, and from
 * Python 3.13 on between `__init__` and a call of the class that was specialised. */
static inline tt_pyframe *tt_pyframe_python_caller(tt_pyframe *frame)
{
    do frame = tt_pyframe_caller(frame);
    while (frame && _PyFrame_IsIncomplete(frame));
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

/* The instruction being executed: its own address for each call site. */
static inline uint64_t tt_pyframe_site(tt_pyframe *frame)
{
    return frame ? (uint64_t)(uintptr_t)TT_PYFRAME_INSTRUCTION(frame) : 1;
}

/* Byte offset of the instruction that a frame executes. */
static inline int tt_pyframe_offset(tt_pyframe *frame)
{
    return (int)((const char *)TT_PYFRAME_INSTRUCTION(frame) - (const char *)TT_PYFRAME_CODE_BEGIN(frame));
}

#endif
