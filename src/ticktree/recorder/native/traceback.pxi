# Tracebacks of the program, without what stands between its calls.

def drop_own_frames():
    """In an `except` clause: takes ticktree's calls out of the traceback of what is handled there.

    So what a wrapper then raises again, by a bare `raise`, has the program's own calls only.
    """
    cdef PyObject* error = PyErr_GetHandledException()
    if error != NULL:
        if error != <PyObject*>None:
            tt_drop_own_entries(error)
        Py_DECREF(<object>error)


def _prepare_tracebacks():
    global tt_own_folder, tt_own_globals
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
    own = globals()
    Py_INCREF(folder)
    Py_INCREF(own)
    tt_own_folder, tt_own_globals = <PyObject*>folder, <PyObject*>own
    tt_keep_entries_inside(<PyTypeObject*>Loop, <PyTypeObject*>SubmittedCall)
