/* What reports calls: sys.monitoring's callbacks (3.12 and later), and the profile function (before). */
#ifndef TICKTREE_FOCUS_EVENTS_H
#define TICKTREE_FOCUS_EVENTS_H

#include "focus.h"
#include "native/builtins.h"

static PyObject *tt_monitoring_disable; /* what a callback returns where it need not be called again */

static inline PyObject *tt_again(void) { Py_RETURN_NONE; }

static inline PyObject *tt_never_again(void)
{
    Py_INCREF(tt_monitoring_disable);
    return tt_monitoring_disable;
}

/* A comprehension or generator expression begins. Under focus for the first time: what it may call is looked at. */
static void tt_focus_part_begins(PyObject *code, tt_code_info *info)
{
    if (info->state & TT_CODE_MET || !tt_focus_is_below()) return;
    info->state |= TT_CODE_MET | TT_CODE_NAMED;
    tt_focus_tell("want", code);
    tt_focus_tell("meet", code);
}

/* A function begins, or continues, that does not yet report its calls by itself. A root does so from now on. */
static int tt_focus_first_calls(PyObject *code, tt_code_info *info, enum tt_focus_kind kind)
{
    if (!(info->state & TT_CODE_CHECKED) && tt_code_check(code, info)) {
        info->state |= TT_CODE_MET;
        tt_focus_tell("meet", code);
    }
    if (info->state & TT_CODE_PART) tt_focus_part_begins(code, info);
    if (info->state & TT_CODE_NO_CALL) return 0;
    int recorded = tt_focus_begin(code, info, kind);
    if (recorded && !(info->state & TT_CODE_MET)) {
        info->state |= TT_CODE_MET;
        tt_focus_tell("meet", code);
    }
    return recorded;
}

/* Of every function until it is known: a function that is never called under focus is reported a few times, one that is
 * reports by itself from then on. */
static PyObject *tt_on_any(PyObject *const *args, Py_ssize_t count, enum tt_focus_kind kind)
{
    tt_code_info *info = count ? tt_code_info_of(args[0], 1) : NULL;
    if (!info || !tt_focus.recorder) return tt_again();
    if (info->state & (TT_CODE_MET | TT_CODE_OWN) && !tt_focus.keeps_looking) return tt_never_again();
    if ((info->state & (TT_CODE_MET | TT_CODE_PART)) == TT_CODE_MET) {
        tt_focus_begin(args[0], info, kind);
        return tt_again();
    }
    tt_focus_first_calls(args[0], info, kind);
    if (tt_focus.keeps_looking) return info->state & TT_CODE_OWN ? tt_never_again() : tt_again();
    if (info->state & (TT_CODE_MET | TT_CODE_OWN | TT_CODE_SLEEPY | TT_CODE_ASLEEP)) return tt_never_again();
    if (++info->outside < TT_FOCUS_OUTSIDE_CAP) return tt_again();
    info->state |= TT_CODE_ASLEEP;
    tt_focus_tell("sleep", args[0]);
    return tt_never_again();
}

static PyObject *tt_on_any_start(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return tt_on_any(args, count, TT_FOCUS_START);
}

/* A generator that was begun unwatched may continue under focus. */
static PyObject *tt_on_any_resume(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    return tt_on_any(args, count, TT_FOCUS_RESUME);
}

static PyObject *tt_on_start(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    tt_code_info *info = count ? tt_code_info_of(args[0], 0) : NULL;
    if (!info) return tt_again();
    if (TT_LIKELY((info->state & (TT_CODE_MET | TT_CODE_PART)) == TT_CODE_MET))
        tt_focus_begin(args[0], info, TT_FOCUS_START);
    else tt_focus_first_calls(args[0], info, TT_FOCUS_START);
    return tt_again();
}

/* PY_RESUME of what tells of it by itself, and every PY_THROW there is. */
static PyObject *tt_on_resume(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    tt_code_info *info = count ? tt_code_info_of(args[0], tt_focus.open != 0) : NULL;
    if (!info) return tt_again();
    if (TT_LIKELY((info->state & (TT_CODE_MET | TT_CODE_PART)) == TT_CODE_MET))
        tt_focus_begin(args[0], info, TT_FOCUS_RESUME);
    else tt_focus_first_calls(args[0], info, TT_FOCUS_RESUME);
    return tt_again();
}

static PyObject *tt_on_end(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count) tt_focus_end(args[0]);
    return tt_again();
}

static PyObject *tt_on_yield(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count > 2 && tt_focus_yield_ends(args[0], args[2])) tt_focus_end(args[0]);
    return tt_again();
}

static void tt_focus_wake(PyObject *code)
{
    tt_code_info *info = tt_code_info_of(code, 0);
    if (!info || !(info->state & TT_CODE_ASLEEP)) return;
    info->state = (info->state & ~(uint32_t)TT_CODE_ASLEEP) | TT_CODE_SLEEPY;
    tt_focus_tell("meet", code);
}

/* `next(generator)` and the like, whose code no name leads to. */
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

/* CALL: what is called under another name than its own is woken here; and C functions begin, if requested. */
static PyObject *tt_on_call(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t count)
{
    if (count < 3) return tt_again();
    PyObject *callable = args[2];
    if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (PyFunction_Check(callable)) {
        tt_focus_wake(PyFunction_GET_CODE(callable));
    } else {
        if (count > 3 && PyGen_CheckExact(args[3])) tt_focus_wake_generator(args[3]);
        if (tt_focus.c_functions) tt_focus_c_begin(callable);
    }
    return tt_focus.c_functions ? tt_again() : tt_never_again();
}

static PyObject *tt_on_c_end(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    tt_focus_c_end();
    return tt_again();
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
/* In focus.pxi: a root was found at this call of it; 0: it is called in other ways than can be wrapped. */
static int tt_focus_wrap(PyObject *code, int root);

static uint32_t tt_profile_extents; /* wrapped roots that are open, in all threads */

static int tt_profile(PyObject *Py_UNUSED(self), PyFrameObject *Py_UNUSED(frame), int what, PyObject *arg);

/* A thread may have its own profile function, which stays. */
static inline int tt_profile_is_free(PyThreadState *state) { return tt_profile_function(state) == NULL; }

static void tt_profile_off(PyThreadState *state)
{
    if (tt_profile_function(state) == tt_profile) PyEval_SetProfile(NULL, NULL);
}

static void tt_profile_begin(tt_pyframe *pyframe)
{
    PyObject *code = (PyObject *)tt_pyframe_code(pyframe);
    tt_code_info *info = tt_code_info_of(code, 1);
    if (!info || info->state & TT_CODE_NO_CALL) return;
    int sleeps_or_generates = ((PyCodeObject *)code)->co_flags &
                              (CO_GENERATOR | CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR);
    int resumes = sleeps_or_generates && !tt_pyframe_is_fresh(pyframe);
    if (!(info->state & TT_CODE_CHECKED)) {
        info->state |= TT_CODE_MET | TT_CODE_NAMED;
        tt_focus.keeps_looking++; /* until it is wrapped, other threads look too */
        if (tt_code_check(code, info) && !tt_focus_wrap(code, info->root)) tt_focus.keeps_looking++;
        tt_focus.keeps_looking--;
        if (info->state & TT_CODE_NO_CALL) return;
    }
    tt_focus_begin(code, info, resumes ? TT_FOCUS_RESUME : TT_FOCUS_START);
}

static void tt_profile_end(tt_pyframe *pyframe, PyObject *value)
{
    PyObject *code = (PyObject *)tt_pyframe_code(pyframe);
    if (value && tt_code_sleeps(code) && tt_pyframe_has_yielded(pyframe) && !tt_focus_yield_ends(code, value)) return;
    tt_focus_end(code);
}

/* Whether there is anything to see outside the wrapped roots: roots that are not found yet, or cannot be wrapped. */
static inline int tt_profile_looks(void) { return tt_focus.unfound > 0 || tt_focus.keeps_looking; }

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
    /* All roots are found and wrapped, and none is open: a function that is still watched need not be any more. */
    if (TT_UNLIKELY(!tt_focus.open && !tt_profile_looks() && !tt_profile_extents)) tt_profile_off(state);
    return 0;
}

/* From here on this thread's calls are recorded. 0: it has another profile function, which stays. */
static int tt_profile_on(int displace)
{
    PyThreadState *state = tt_thread_state();
    if (tt_profile_function(state) == tt_profile) return 1;
    if (!displace && !tt_profile_is_free(state)) return 0;
    PyEval_SetProfile(tt_profile, NULL);
    return 1;
}

/* Displaced by another, which may have gone again meanwhile: calls since then were not recorded. */
static int tt_profile_is_gone(void)
{
    return tt_focus.recorder && tt_profile_looks() && tt_profile_function(tt_thread_state()) != tt_profile;
}

static void tt_profile_off_here(void) { tt_profile_off(tt_thread_state()); }

#else /* there is sys.monitoring */
static int tt_profile_on(int Py_UNUSED(displace)) { return 0; }
static int tt_profile_is_gone(void) { return 0; }
static void tt_profile_off_here(void) {}
#endif

#if PY_VERSION_HEX < 0x030C0000
/* Another profiler was started while a wrapped root ran. */
static TT_NOINLINE void tt_opening_was_displaced(tt_recorder *recorder)
{
    PyObject *type, *value, *trace;
    tt_focus_settle(recorder);
    PyErr_Fetch(&type, &value, &trace);
    tt_focus_tell("alone", NULL);
    PyErr_Restore(type, value, trace);
}
#endif

/* A root that is wrapped: while it runs, the calls of its thread are recorded. */
static PyObject *tt_opening_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    PyObject *function = ((tt_timed *)((char *)self + tt_timed_offset))->function;
#if PY_VERSION_HEX < 0x030C0000
    tt_recorder *recorder = tt_focus.recorder;
    PyThreadState *state = tt_thread_state();
    if (recorder && recorder->recording && tt_profile_function(state) != tt_profile) {
        if (tt_profile_function(state)) tt_focus_tell("alone", NULL);
        else {
            if (tt_focus.open) tt_focus_settle(recorder);
            PyEval_SetProfile(tt_profile, NULL);
            tt_profile_extents++;
            PyObject *result = PyObject_Vectorcall(function, args, count, names);
            tt_profile_extents--;
            if (tt_profile_function(state) != tt_profile && tt_focus.recorder == recorder) tt_opening_was_displaced(recorder);
            if (!tt_profile_looks()) tt_profile_off(state); /* PyEval_SetProfile keeps the exception */
            return result;
        }
    }
#endif
    return PyObject_Vectorcall(function, args, count, names);
}

#endif
