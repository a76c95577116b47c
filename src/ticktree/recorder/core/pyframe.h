/* CPython's internals: everything the recorder uses of the interpreter beyond its public API, for CPython 3.11 to 3.15.
 *
 * The running context and the innermost Python frame are single loads. A Python frame's address identifies a running
 * call as long as that call lives; it distinguishes a generator asleep inside a section from the code that runs
 * meanwhile.
 *
 * To support a new version: compile against its headers, run scripts/test-versions.sh, raise the limit below and
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

/* Sets the one digit of a new instance of a subclass of int, whose memory is zeroed. */
static inline void tt_set_digit(PyObject *number, digit value)
{
#if PY_VERSION_HEX >= 0x030C0000
    ((PyLongObject *)number)->long_value.lv_tag = 1u << 3; /* one digit; below it three bits for the sign */
    ((PyLongObject *)number)->long_value.ob_digit[0] = value;
#else
    ((PyLongObject *)number)->ob_digit[0] = value; /* tp_alloc has set the number of digits */
#endif
}

#if PY_VERSION_HEX < 0x030C0000 /* for the profile function; later versions have sys.monitoring */
#include <opcode.h>

/* Whether the frame of a generator or coroutine begins: it runs its first instruction, and was not resumed. */
static inline int tt_pyframe_is_fresh(tt_pyframe *frame)
{
    int opcode = _Py_OPCODE(*frame->prev_instr);
    return (opcode == RESUME || opcode == RESUME_QUICK) && _Py_OPARG(*frame->prev_instr) == 0;
}

static inline int tt_pyframe_has_yielded(tt_pyframe *frame) { return _Py_OPCODE(*frame->prev_instr) == YIELD_VALUE; }

static inline Py_tracefunc tt_profile_function(PyThreadState *state) { return state->c_profilefunc; }
#endif

/* -- the same in all versions ----------------------------------------------------------------------------------- */

/* The running Python frame as an object, for its line: slow, and may run any code. Borrowed, or NULL. */
static inline PyObject *tt_calling_frame(void) { return (PyObject *)PyEval_GetFrame(); }

/* The running context, borrowed; NULL in a thread that has not needed one yet. */
static inline PyObject *tt_context_now(PyThreadState *state) { return state->context; }

/* The context that was current when this one was entered; NULL below the thread's own. */
static inline PyObject *tt_context_previous(PyObject *context)
{
    return (PyObject *)((PyContext *)context)->ctx_prev;
}

/* Whether a context is the thread's own: it can be entered, so it is not inside a `Context.run`. Only then may the
 * recorder keep a strong reference forever; a task's context must be freed with its task. */
static inline int tt_context_is_base(PyObject *context)
{
    if (PyContext_Enter(context) == 0) {
        PyContext_Exit(context);
        return 1;
    }
    PyErr_Clear();
    return 0;
}

/* Creates the running context if there is none: it is NULL until a library first needs it, and a section open at that
 * moment would lose its stack. */
static inline PyObject *tt_context_force(PyThreadState *state)
{
    if (!tt_context_now(state)) {
        PyObject *copy = PyContext_CopyCurrent();
        if (!copy) PyErr_Clear();
        Py_XDECREF(copy);
    }
    return tt_context_now(state);
}

/* The value of a context variable in a context. New reference, or NULL. */
static inline PyObject *tt_variable_in(PyObject *context, PyObject *variable)
{
    PyObject *value = PyObject_CallMethod(context, "get", "O", variable);
    if (!value) PyErr_Clear();
    return value;
}

/* The same in the running context. */
static inline PyObject *tt_variable_now(PyObject *variable)
{
    PyObject *value = NULL;
    if (variable && PyContextVar_Get(variable, NULL, &value) < 0) PyErr_Clear();
    return value;
}

/* Whether this thread may touch what the GIL guards. */
static inline int tt_holds_gil(void) { return Py_IsInitialized() && PyGILState_Check(); }

static inline void tt_run_on_clear(PyObject *capsule)
{
    void (*on_clear)(void *) = (void (*)(void *))PyCapsule_GetContext(capsule);
    on_clear(PyCapsule_GetPointer(capsule, NULL));
}

/* Has `on_clear(mark)` run when the thread's Python state is cleared: with the GIL, on the thread itself, and before a
 * thread that joins it continues. A finaliser may call this after that: then there is no state left to watch. */
static inline void tt_state_watch(PyThreadState *state, void *mark, void (*on_clear)(void *))
{
    static __thread uint64_t watched_id;
    if (watched_id == PyThreadState_GetID(state)) return;
    watched_id = PyThreadState_GetID(state);
    PyObject *dict = PyThreadState_GetDict();
    PyObject *capsule = dict ? PyCapsule_New(mark, NULL, tt_run_on_clear) : NULL;
    if (!capsule || PyCapsule_SetContext(capsule, (void *)on_clear) || PyDict_SetItemString(dict, "ticktree", capsule))
        PyErr_Clear();
    Py_XDECREF(capsule);
}

/* The object of a weak reference, borrowed; None once it is gone. */
static inline PyObject *tt_referent(PyObject *reference) { return ((PyWeakReference *)reference)->wr_object; }

/* The identity of a C function, because methods are bound again for each call. NULL: it is not a C function. */
static inline const void *tt_c_function_key(PyObject *callable)
{
    if (PyCFunction_Check(callable)) return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

/* Whether an async generator yielded a value, rather than what it awaits. */
static inline int tt_is_yielded_value(PyObject *value)
{
    return !strcmp(Py_TYPE(value)->tp_name, "async_generator_wrapped_value");
}

/* At the bottom of a thread, where no Python code runs: NULL, or, from 3.14 on, a frame without code. */
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

/* The caller, skipping frames of the interpreter's own: below C code, at the bottom of a thread, and, from Python 3.13
 * on, between `__init__` and a specialised call of its class. */
static inline tt_pyframe *tt_pyframe_python_caller(tt_pyframe *frame)
{
    do frame = tt_pyframe_caller(frame);
    while (frame && _PyFrame_IsIncomplete(frame));
    return frame;
}

/* The call whose block a section covers: that of the running code, or, for a generator under @contextmanager, the call
 * with the `with` statement. */
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

/* The address of the running instruction, which differs for each call site. */
static inline uint64_t tt_pyframe_site(tt_pyframe *frame)
{
    return frame ? (uint64_t)(uintptr_t)TT_PYFRAME_INSTRUCTION(frame) : 1;
}

/* The byte offset of the instruction that a frame executes. */
static inline int tt_pyframe_offset(tt_pyframe *frame)
{
    return (int)((const char *)TT_PYFRAME_INSTRUCTION(frame) - (const char *)TT_PYFRAME_CODE_BEGIN(frame));
}

#endif
