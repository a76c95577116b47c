/* The function objects that programs call most, written to bind nothing.
 *
 * Most of a `with` statement's cost is binding `__enter__` and `__exit__`. A built-in function object is no
 * descriptor: as an attribute of a type it is found and called as it is, with the `self` it was made with. So
 * every section is the only instance of its type, whose two attributes carry that instance.
 */
#ifndef TICKTREE_BUILTINS_H
#define TICKTREE_BUILTINS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/hot.h"

/* How the Cython classes begin; checked when the module is imported. */
typedef struct {
    PyObject_HEAD
    tt_section core;
} tt_section_object;

typedef struct {
    PyObject_HEAD
    tt_recorder *core;
} tt_recorder_object;

typedef PyObject *const *tt_args;

/* In callbacks.pxi: makes a section, or finds one by more than its name. New reference. */
static TT_NOINLINE PyObject *tt_section_make(PyObject *recorder, PyObject *name);
static TT_NOINLINE PyObject *tt_section_ask(PyObject *recorder, tt_args args, Py_ssize_t count, PyObject *names);

/* What a frame is marked with when an exception of this type ends its call: not where an iterator is exhausted or a
 * generator closed, which is how these end. */
static inline uint32_t tt_raised(const PyObject *type)
{
    if (TT_LIKELY(!type || type == Py_None)) return 0;
    int ends = type == PyExc_StopIteration || type == PyExc_StopAsyncIteration || type == PyExc_GeneratorExit;
    return ends ? 0 : TT_FRAME_RAISED;
}

/* Takes any arguments: ExitStack calls what it finds on the type, with the section as an argument. */
static PyObject *tt_py_enter(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    tt_enter(&((tt_section_object *)self)->core);
    Py_INCREF(self);
    return self;
}

/* In section.pxi: enters a block's section and makes what its `with` gives. New reference. */
static TT_NOINLINE PyObject *tt_block_enter(PyObject *block);

static PyObject *tt_py_block_enter(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    return tt_block_enter(self);
}

static PyObject *tt_py_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    tt_leave_by(&((tt_section_object *)self)->core, count > 0 ? tt_raised(args[0]) : 0);
    Py_RETURN_NONE;
}

static TT_NOINLINE PyObject *tt_section_look_up(tt_recorder *recorder, PyObject *name,
                                                              tt_quick_name *quick)
{
    PyObject *section = PyDict_GetItemWithError(recorder->by_name, name);
    if (!section) PyErr_Clear();
    else if (((tt_section_object *)section)->core.name == name) *quick = (tt_quick_name){name, section};
    return section;
}

/* Borrowed, or NULL without an exception. */
static inline PyObject *tt_section_known(PyObject *self, PyObject *name)
{
    tt_recorder *recorder = ((tt_recorder_object *)self)->core;
    tt_quick_name *quick = &recorder->quick_names[((uintptr_t)name >> 4) % TT_QUICK_NAMES];
    return TT_LIKELY(quick->name == name) ? quick->section : tt_section_look_up(recorder, name, quick);
}

static PyObject *tt_py_section(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (TT_LIKELY(count == 1 && !names)) {
        PyObject *section = tt_section_known(self, args[0]);
        if (TT_LIKELY(section != NULL)) {
            Py_INCREF(section);
            return section;
        }
    }
    return tt_section_ask(self, args, count, names);
}

static PyObject *tt_py_stage(PyObject *self, PyObject *name)
{
    PyObject *section = tt_section_known(self, name);
    if (TT_LIKELY(section != NULL)) {
        tt_stage(&((tt_section_object *)section)->core);
        Py_RETURN_NONE;
    }
    section = tt_section_make(self, name);
    if (!section) return NULL;
    tt_stage(&((tt_section_object *)section)->core);
    Py_DECREF(section);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(tt_section_doc,
             "section($self, name, /, *, wait=False, cpu=False, memory=False, device=None)\n--\n\n"
             "A named piece of code, to be entered with `with`; the same name gives the same object.");
PyDoc_STRVAR(tt_stage_doc,
             "stage($self, name, /)\n--\n\n"
             "From here on `name`: ends the stage before it. Sections inside nest under it.");

static PyMethodDef tt_enter_def = {"__enter__", (PyCFunction)(void (*)(void))tt_py_enter, METH_FASTCALL, NULL};
static PyMethodDef tt_block_enter_def = {"__enter__", (PyCFunction)(void (*)(void))tt_py_block_enter, METH_FASTCALL,
                                         NULL};
static PyMethodDef tt_exit_def = {"__exit__", (PyCFunction)(void (*)(void))tt_py_exit, METH_FASTCALL, NULL};
static PyMethodDef tt_section_def = {"section", (PyCFunction)(void (*)(void))tt_py_section,
                                     METH_FASTCALL | METH_KEYWORDS, tt_section_doc};
static PyMethodDef tt_stage_def = {"stage", (PyCFunction)(void (*)(void))tt_py_stage, METH_O, tt_stage_doc};

/* Puts `section` and `stage` on the recorder's type: as attributes of each recorder they would hold it in a cycle
 * that nothing clears. 0 with an exception set. */
static int tt_add_methods(PyTypeObject *type)
{
    PyMethodDef *methods[] = {&tt_section_def, &tt_stage_def};
    for (unsigned at = 0; at < 2; at++) {
        PyObject *method = PyDescr_NewMethod(type, methods[at]);
        int failed = !method || PyDict_SetItemString(type->tp_dict, methods[at]->ml_name, method);
        Py_XDECREF(method);
        if (failed) return 0;
    }
    PyType_Modified(type);
    return 1;
}

/* What stands for a function: called through the vectorcall protocol, without an own Python frame. */
typedef struct {
    vectorcallfunc vectorcall;
    vectorcallfunc call; /* the function's own, NULL where it has none */
    PyObject *function;
    tt_section *section; /* NULL of a root of focus */
} tt_timed;

/* Where the Cython class keeps its tt_timed, measured once. */
static Py_ssize_t tt_timed_offset;

static PyObject *tt_timed_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    tt_timed *timed = (tt_timed *)((char *)self + tt_timed_offset);
    tt_call timing = tt_call_begin(timed->section);
    PyObject *result = TT_LIKELY(timed->call != NULL) ? timed->call(timed->function, args, count, names)
                                                      : PyObject_Vectorcall(timed->function, args, count, names);
    tt_call_end(timed->section, &timing, TT_LIKELY(result != NULL) ? 0 : tt_raised(PyErr_Occurred()));
    return result;
}

/* Lets the interpreter call the class's instances directly, as functions and as methods. */
static void tt_vectorcall_prepare(PyTypeObject *type, size_t offset)
{
    type->tp_vectorcall_offset = (Py_ssize_t)offset;
    type->tp_call = PyVectorcall_Call;
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(type);
}

static void tt_timed_prepare(PyTypeObject *type, Py_ssize_t offset)
{
    tt_timed_offset = offset;
    tt_vectorcall_prepare(type, (size_t)offset + offsetof(tt_timed, vectorcall));
}

/* What loops yield: `kind(number)`, where `kind` is a subclass of int without attributes. Numbers of one digit are made
 * as int itself makes those of its subclasses, without the call: it took most of an empty tick's time. */
static PyObject *tt_number_make(PyTypeObject *kind, uint64_t number)
{
    if (number && number < (1ULL << PyLong_SHIFT)) {
        PyObject *made = kind->tp_alloc(kind, 1);
        if (made) tt_set_digit(made, (digit)number);
        return made;
    }
    PyObject *plain = PyLong_FromUnsignedLongLong(number);
    if (!plain) return NULL;
    PyObject *made = PyObject_CallFunctionObjArgs((PyObject *)kind, plain, NULL);
    Py_DECREF(plain);
    return made;
}

#endif
