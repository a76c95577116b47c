/* The function objects that programs call most, which need no binding.
 *
 * Most of a `with` statement's cost is binding `__enter__` and `__exit__`. A built-in function object is no descriptor:
 * as an attribute of a type it is called as it is, with the `self` it was created with. So every section is the only
 * instance of its type, whose two attributes hold that instance.
 */
#ifndef TICKTREE_BUILTINS_H
#define TICKTREE_BUILTINS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/hot.h"

/* The beginning of the Cython classes; checked when the module is imported. */
typedef struct {
    PyObject_HEAD
    tt_section core;
} tt_section_object;

typedef struct {
    PyObject_HEAD
    tt_recorder *core;
} tt_recorder_object;

typedef PyObject *const *tt_args;

/* In callbacks.pxi: creates a section, or finds one by name and options. New reference. */
static TT_NOINLINE PyObject *tt_section_make(PyObject *recorder, PyObject *name);
static TT_NOINLINE PyObject *tt_section_request(PyObject *recorder, tt_args args, Py_ssize_t count, PyObject *names);

/* The flag of a frame whose call an exception of this type ends; 0 if an iterator is exhausted or a generator closed,
 * which is their normal end. */
static inline uint32_t tt_raised(const PyObject *type)
{
    if (TT_LIKELY(!type || type == Py_None)) return 0;
    int ends = type == PyExc_StopIteration || type == PyExc_StopAsyncIteration || type == PyExc_GeneratorExit;
    return ends ? 0 : TT_FRAME_RAISED;
}

/* Takes any arguments: ExitStack calls the type's attribute with the section as an argument. */
static PyObject *tt_py_enter(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count))
{
    tt_enter(&((tt_section_object *)self)->core);
    Py_INCREF(self);
    return self;
}

/* In section.pxi: enters a block's section and creates the value of its `with`. New reference. */
static TT_NOINLINE PyObject *tt_block_enter(PyObject *block, tt_args args, Py_ssize_t count);

static PyObject *tt_py_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    tt_leave_by(&((tt_section_object *)self)->core, count > 0 ? tt_raised(args[0]) : 0);
    Py_RETURN_NONE;
}

static TT_NOINLINE PyObject *tt_section_look_up(tt_recorder *recorder, PyObject *name, tt_quick_name *quick)
{
    PyObject *section = PyDict_GetItemWithError(recorder->by_name, name);
    if (!section) PyErr_Clear();
    else if (((tt_section_object *)section)->core.name == name) *quick = (tt_quick_name){name, section};
    return section;
}

/* Borrowed, or NULL without an exception. */
static inline PyObject *tt_section_get(PyObject *self, PyObject *name)
{
    tt_recorder *recorder = ((tt_recorder_object *)self)->core;
    tt_quick_name *quick = &recorder->quick_names[((uintptr_t)name >> 4) % TT_QUICK_NAMES];
    return TT_LIKELY(quick->name == name) ? quick->section : tt_section_look_up(recorder, name, quick);
}

static PyObject *tt_py_section(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (TT_LIKELY(count == 1 && !names)) {
        PyObject *section = tt_section_get(self, args[0]);
        if (TT_LIKELY(section != NULL)) {
            Py_INCREF(section);
            return section;
        }
    }
    return tt_section_request(self, args, count, names);
}

static PyObject *tt_py_stage(PyObject *self, PyObject *name)
{
    PyObject *section = tt_section_get(self, name), *new_section = NULL;
    if (TT_UNLIKELY(!section)) section = new_section = tt_section_make(self, name);
    if (TT_UNLIKELY(!section)) return NULL;
    tt_stage(&((tt_section_object *)section)->core);
    Py_XDECREF(new_section);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(tt_section_doc,
             "section($self, name, /, *, wait=False, cpu=False, memory=False, device=None)\n--\n\n"
             "A named piece of code, to be entered with `with`; the same name gives the same object.");
PyDoc_STRVAR(tt_stage_doc,
             "stage($self, name, /)\n--\n\n"
             "From here on `name`: ends the stage before it. Sections inside nest under it.");

static PyMethodDef tt_enter_def = {"__enter__", (PyCFunction)(void (*)(void))tt_py_enter, METH_FASTCALL, NULL};
static PyMethodDef tt_block_enter_def = {"__enter__", (PyCFunction)(void (*)(void))tt_block_enter, METH_FASTCALL, NULL};
static PyMethodDef tt_exit_def = {"__exit__", (PyCFunction)(void (*)(void))tt_py_exit, METH_FASTCALL, NULL};
static PyMethodDef tt_section_def = {"section", (PyCFunction)(void (*)(void))tt_py_section,
                                     METH_FASTCALL | METH_KEYWORDS, tt_section_doc};
static PyMethodDef tt_stage_def = {"stage", (PyCFunction)(void (*)(void))tt_py_stage, METH_O, tt_stage_doc};

/* Adds `section` and `stage` to the recorder's type: as attributes of a recorder they would hold it in a cycle that
 * nothing clears. 0: failed, with an exception set. */
static int tt_add_methods(PyTypeObject *type)
{
    PyMethodDef *methods[] = {&tt_section_def, &tt_stage_def};
    for (unsigned i = 0; i < 2; i++) {
        PyObject *method = PyDescr_NewMethod(type, methods[i]);
        int failed = !method || PyDict_SetItemString(type->tp_dict, methods[i]->ml_name, method);
        Py_XDECREF(method);
        if (failed) return 0;
    }
    PyType_Modified(type);
    return 1;
}

/* A wrapper of a function: called through the vectorcall protocol, without a Python frame of its own. */
typedef struct {
    vectorcallfunc vectorcall;
    vectorcallfunc call; /* the function's own; NULL: it has none */
    PyObject *function;
    tt_section *section; /* NULL for a root of focus */
} tt_timed;

/* The offset of tt_timed in the Cython class, measured once. */
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

/* The value that a loop yields: `kind(number)`, where `kind` is a subclass of int without attributes. Numbers of one
 * digit are created like int creates those of its subclasses, but without the call, which took most of an empty tick's
 * time. */
static PyObject *tt_number_make(PyTypeObject *kind, uint64_t number)
{
    if (number && number < (1ULL << PyLong_SHIFT)) {
        PyObject *number_object = kind->tp_alloc(kind, 1);
        if (number_object) tt_set_digit(number_object, (digit)number);
        return number_object;
    }
    PyObject *int_object = PyLong_FromUnsignedLongLong(number);
    if (!int_object) return NULL;
    PyObject *number_object = PyObject_CallFunctionObjArgs((PyObject *)kind, int_object, NULL);
    Py_DECREF(int_object);
    return number_object;
}

#endif
