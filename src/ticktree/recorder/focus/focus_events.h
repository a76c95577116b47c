/* Reports of calls: sys.monitoring's callbacks (3.12 and later), and the profile function (before). */
#ifndef TICKTREE_FOCUS_EVENTS_H
#define TICKTREE_FOCUS_EVENTS_H

#include "focus.h"
#include "native/builtins.h"

static PyObject *tt_monitoring_disable; /* sys.monitoring.DISABLE: a callback returns it if it need not be called again */

static inline PyObject *tt_keep_event(void) { Py_RETURN_NONE; }

static inline PyObject *tt_disable_event(void)
{
    return Py_NewRef(tt_monitoring_disable);
}

/* A comprehension or generator expression begins. The first time under focus, its calls and callees are watched. */
static void tt_focus_comprehension_begin(PyObject *code, tt_code_info *info)
{
    if (info->state & TT_CODE_WATCHED || !tt_focus_is_recording()) return;
    info->state |= TT_CODE_WATCHED | TT_CODE_CALLEES_WATCHED;
    tt_focus_notify("watch_callees", code);
    tt_focus_notify("watch_calls", code);
}

/* A function begins or continues whose calls are not watched yet. A root's are from now on. */
static int tt_focus_check_and_begin(PyObject *code, tt_code_info *info, enum tt_focus_kind kind)
{
    if (!(info->state & TT_CODE_CHECKED) && tt_code_check(code, info)) {
        info->state |= TT_CODE_WATCHED;
        tt_focus_notify("watch_calls", code);
    }
    if (info->state & TT_CODE_COMPREHENSION) tt_focus_comprehension_begin(code, info);
    if (info->state & TT_CODE_TRANSPARENT) return 0;
    int is_recorded = tt_focus_begin(code, info, kind);
    if (is_recorded && !(info->state & TT_CODE_WATCHED)) {
        info->state |= TT_CODE_WATCHED;
        tt_focus_notify("watch_calls", code);
    }
    return is_recorded;
}

/* Events of every function that is not watched: one that is never called under focus is reported a few times; one that is
 * called under focus is watched from then on. */
static PyObject *tt_on_any(PyObject *const *args, Py_ssize_t count, enum tt_focus_kind kind)
{
    tt_code_info *info = count ? tt_code_info_of(args[0], 1) : NULL;
    if (!info || !tt_focus.recorder) return tt_keep_event();
    if (info->state & (TT_CODE_WATCHED | TT_CODE_OWN) && !tt_focus.watches_all) return tt_disable_event();
    if (tt_code_is_watched_call(info)) {
        tt_focus_begin(args[0], info, kind);
        return tt_keep_event();
    }
    tt_focus_check_and_begin(args[0], info, kind);
    if (tt_focus.watches_all) return info->state & TT_CODE_OWN ? tt_disable_event() : tt_keep_event();
    if (info->state & (TT_CODE_WATCHED | TT_CODE_OWN | TT_CODE_WOKEN | TT_CODE_IGNORED)) return tt_disable_event();
    if (++info->outside_calls < TT_FOCUS_OUTSIDE_CAP) return tt_keep_event();
    info->state |= TT_CODE_IGNORED;
    tt_focus_notify("ignore", args[0]);
    return tt_disable_event();
}

static PyObject *tt_on_any_start(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return tt_on_any(args, count, TT_FOCUS_START);
}

/* A generator that began unwatched may continue under focus. */
static PyObject *tt_on_any_resume(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return tt_on_any(args, count, TT_FOCUS_RESUME);
}

/* `create`: also of a code object that nothing is known about. */
static inline PyObject *tt_on_watched(PyObject *const *args, Py_ssize_t count, int create, enum tt_focus_kind kind)
{
    tt_code_info *info = count ? tt_code_info_of(args[0], create) : NULL;
    if (!info) return tt_keep_event();
    if (TT_LIKELY(tt_code_is_watched_call(info))) tt_focus_begin(args[0], info, kind);
    else tt_focus_check_and_begin(args[0], info, kind);
    return tt_keep_event();
}

static PyObject *tt_on_start(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return tt_on_watched(args, count, 0, TT_FOCUS_START);
}

/* PY_RESUME of a watched function, and PY_THROW of every function. */
static PyObject *tt_on_resume(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return tt_on_watched(args, count, tt_focus.open_calls != 0, TT_FOCUS_RESUME);
}

static PyObject *tt_on_end(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count) tt_focus_end(args[0]);
    return tt_keep_event();
}

static PyObject *tt_on_yield(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count > 2 && tt_focus_yield_ends(args[0], args[2])) tt_focus_end(args[0]);
    return tt_keep_event();
}

static void tt_focus_wake(PyObject *code)
{
    if (tt_code_wake(code)) tt_focus_notify("watch_calls", code);
}

/* `next(generator)` and the like: no name leads to the generator's code. */
static void tt_focus_wake_generator(PyObject *generator)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *code = (PyObject *)PyGen_GetCode((PyGenObject *)generator);
    tt_focus_wake(code);
    Py_DECREF(code);
#else
    (void)generator; /* CALL is not reported there */
#endif
}

/* CALL: wakes functions that are called under another name than their own; begins calls of C functions, if requested. */
static PyObject *tt_on_call(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count < 3) return tt_keep_event();
    PyObject *callable = args[2];
    if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (PyFunction_Check(callable)) {
        tt_focus_wake(PyFunction_GET_CODE(callable));
    } else {
        if (count > 3 && PyGen_CheckExact(args[3])) tt_focus_wake_generator(args[3]);
        if (tt_focus.c_functions) tt_focus_c_begin(callable);
    }
    return tt_focus.c_functions ? tt_keep_event() : tt_disable_event();
}

static PyObject *tt_on_c_end(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    tt_focus_c_end();
    return tt_keep_event();
}

#define TT_CALLBACK(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef tt_focus_callbacks[] = {
    TT_CALLBACK("any_start", tt_on_any_start), TT_CALLBACK("any_resume", tt_on_any_resume),
    TT_CALLBACK("start", tt_on_start),         TT_CALLBACK("resume", tt_on_resume),
    TT_CALLBACK("end", tt_on_end),             TT_CALLBACK("yielded", tt_on_yield), TT_CALLBACK("call", tt_on_call),
    TT_CALLBACK("c_end", tt_on_c_end),
};
#define TT_FOCUS_CALLBACKS (sizeof tt_focus_callbacks / sizeof *tt_focus_callbacks)

#if PY_VERSION_HEX < 0x030C0000
/* In focus.pxi: wraps a root that was found at this call; 0: not all ways to call it can be wrapped. */
static int tt_focus_wrap(PyObject *code, int root);

static uint32_t tt_profile_open_roots; /* open calls of wrapped roots, in all threads */

static int tt_profile(PyObject *Py_UNUSED(self), PyFrameObject *Py_UNUSED(frame), int what, PyObject *arg);
static void tt_profile_off(PyThreadState *state)
{
    if (tt_profile_function(state) == tt_profile) PyEval_SetProfile(NULL, NULL);
}

static void tt_profile_begin(tt_pyframe *pyframe)
{
    PyObject *code = (PyObject *)tt_pyframe_code(pyframe);
    tt_code_info *info = tt_code_info_of(code, 1);
    if (!info || info->state & TT_CODE_TRANSPARENT) return;
    int is_generator = ((PyCodeObject *)code)->co_flags &
                              (CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR);
    int is_resumed = is_generator && !tt_pyframe_is_fresh(pyframe);
    if (!(info->state & TT_CODE_CHECKED)) {
        info->state |= TT_CODE_WATCHED | TT_CODE_CALLEES_WATCHED;
        tt_focus.watches_all++; /* until it is wrapped, other threads watch, too */
        if (tt_code_check(code, info) && !tt_focus_wrap(code, info->root)) tt_focus.watches_all++;
        tt_focus.watches_all--;
        if (info->state & TT_CODE_TRANSPARENT) return;
    }
    tt_focus_begin(code, info, is_resumed ? TT_FOCUS_RESUME : TT_FOCUS_START);
}

static void tt_profile_end(tt_pyframe *pyframe, PyObject *value)
{
    PyObject *code = (PyObject *)tt_pyframe_code(pyframe);
    if (value && tt_code_can_suspend(code) && tt_pyframe_has_yielded(pyframe) && !tt_focus_yield_ends(code, value)) return;
    tt_focus_end(code);
}

/* Whether roots outside the wrapped ones must be watched: some are not found yet, or cannot be wrapped. */
static inline int tt_profile_is_needed(void) { return tt_focus.missing_roots > 0 || tt_focus.watches_all; }

static int tt_profile(PyObject *Py_UNUSED(self), PyFrameObject *Py_UNUSED(frame), int what, PyObject *arg)
{
    PyThreadState *state = tt_thread_state();
    if (TT_UNLIKELY(!tt_focus.recorder)) {
        tt_profile_off(state);
        return 0;
    }
    switch (what) {
    case PyTrace_CALL:
        tt_profile_begin(tt_pyframe_now(state));
        break;
    case PyTrace_RETURN:
        tt_profile_end(tt_pyframe_now(state), arg);
        break;
    case PyTrace_C_CALL:
        if (tt_focus.c_functions) tt_focus_c_begin(arg);
        return 0;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (tt_focus.c_functions) tt_focus_c_end();
        return 0;
    default:
        return 0;
    }
    /* All roots are found and wrapped, and none is open: this thread need not be watched any more. */
    if (TT_UNLIKELY(!tt_focus.open_calls && !tt_profile_is_needed() && !tt_profile_open_roots)) tt_profile_off(state);
    return 0;
}

/* Begins to record this thread's calls. 0: it has another profile function, which stays. */
static int tt_profile_on(int displace)
{
    PyThreadState *state = tt_thread_state();
    if (tt_profile_function(state) == tt_profile) return 1;
    if (!displace && tt_profile_function(state)) return 0;
    PyEval_SetProfile(tt_profile, NULL);
    return 1;
}

/* Whether another profiler displaced the profile function, and may have ended since: calls were missed. */
static int tt_profile_was_displaced(void)
{
    return tt_focus.recorder && tt_profile_is_needed() && tt_profile_function(tt_thread_state()) != tt_profile;
}

static void tt_profile_off_here(void) { tt_profile_off(tt_thread_state()); }

/* Another profiler was started while a wrapped root ran. */
static TT_NOINLINE void tt_opening_was_displaced(tt_recorder *recorder)
{
    PyObject *type, *value, *trace;
    tt_focus_close_returned(recorder);
    PyErr_Fetch(&type, &value, &trace);
    tt_focus_notify("note_displaced", NULL);
    PyErr_Restore(type, value, trace);
}

#else /* there is sys.monitoring */
static int tt_profile_on(int Py_UNUSED(displace)) { return 0; }
static int tt_profile_was_displaced(void) { return 0; }
static void tt_profile_off_here(void) {}
#endif

/* Calls a wrapped root: while it runs, the calls of its thread are recorded. */
static PyObject *tt_opening_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    PyObject *function = ((tt_timed *)((char *)self + tt_timed_offset))->function;
#if PY_VERSION_HEX < 0x030C0000
    tt_recorder *recorder = tt_focus.recorder;
    PyThreadState *state = tt_thread_state();
    if (recorder && recorder->recording && tt_profile_function(state) != tt_profile) {
        if (tt_profile_function(state)) tt_focus_notify("note_displaced", NULL);
        else {
            if (tt_focus.open_calls) tt_focus_close_returned(recorder);
            PyEval_SetProfile(tt_profile, NULL);
            tt_profile_open_roots++;
            PyObject *result = PyObject_Vectorcall(function, args, count, names);
            tt_profile_open_roots--;
            if (tt_profile_function(state) != tt_profile && tt_focus.recorder == recorder)
                tt_opening_was_displaced(recorder);
            if (!tt_profile_is_needed()) tt_profile_off(state); /* PyEval_SetProfile keeps the exception */
            return result;
        }
    }
#endif
    return PyObject_Vectorcall(function, args, count, names);
}

#endif
