/* The least that a wrapper in C can be: what no `@timed` can undercut. Built and measured by ../wrapper_floor.py.
 *
 * `Through` calls its function and nothing else. `Clocked` also reads the clock before and after, and adds the difference
 * and one call to a struct: the least that tells a total. Neither knows of nesting, threads, exceptions or forks. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stddef.h>
#include <time.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall, call;
    PyObject *function;
    unsigned long long count, total;
} Wrapper;

static inline unsigned long long now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (unsigned long long)at.tv_sec * 1000000000ull + (unsigned long long)at.tv_nsec;
#endif
}

static PyObject *through(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    Wrapper *wrapper = (Wrapper *)self;
    return wrapper->call(wrapper->function, args, count, names);
}

static PyObject *clocked(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    Wrapper *wrapper = (Wrapper *)self;
    unsigned long long began = now();
    PyObject *result = wrapper->call(wrapper->function, args, count, names);
    wrapper->total += now() - began;
    wrapper->count++;
    return result;
}

static PyObject *wrap(PyTypeObject *type, PyObject *args, vectorcallfunc vectorcall)
{
    PyObject *function;
    if (!PyArg_ParseTuple(args, "O!", &PyFunction_Type, &function)) return NULL;
    Wrapper *made = (Wrapper *)type->tp_alloc(type, 0);
    if (!made) return NULL;
    made->vectorcall = vectorcall;
    made->call = PyVectorcall_Function(function);
    made->function = Py_NewRef(function);
    return (PyObject *)made;
}

static PyObject *through_new(PyTypeObject *type, PyObject *args, PyObject *names) { (void)names; return wrap(type, args, through); }
static PyObject *clocked_new(PyTypeObject *type, PyObject *args, PyObject *names) { (void)names; return wrap(type, args, clocked); }

static void gone(PyObject *self)
{
    Py_XDECREF(((Wrapper *)self)->function);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef members[] = {
    {"count", T_ULONGLONG, offsetof(Wrapper, count), READONLY, NULL},
    {"total", T_ULONGLONG, offsetof(Wrapper, total), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define WRAPPER(NAME, NEW)                                                                                          \
    {                                                                                                               \
        PyVarObject_HEAD_INIT(NULL, 0).tp_name = NAME, .tp_basicsize = sizeof(Wrapper), .tp_dealloc = gone,          \
        .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,                  \
        .tp_vectorcall_offset = offsetof(Wrapper, vectorcall), .tp_call = PyVectorcall_Call, .tp_members = members, \
        .tp_new = NEW                                                                                               \
    }

static PyTypeObject Through = WRAPPER("wrapper_floor.Through", through_new);
static PyTypeObject Clocked = WRAPPER("wrapper_floor.Clocked", clocked_new);

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "wrapper_floor", .m_size = -1};

PyMODINIT_FUNC PyInit_wrapper_floor(void)
{
    PyObject *made = PyModule_Create(&module);
    if (!made || PyModule_AddType(made, &Through) < 0 || PyModule_AddType(made, &Clocked) < 0) return NULL;
    return made;
}
