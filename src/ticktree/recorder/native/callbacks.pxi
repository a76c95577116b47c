# Functions that C calls, with the names that native/host.h and native/builtins.h declare: off the hot path, and never
# raising into it.

cdef void describe_thread "tt_describe_thread"(tt_recorder* core, tt_thread_facts* facts) noexcept:
    """Reads from the threading module this thread's name, and where it was started."""
    cdef Origin origin
    try:
        thread = threading._active.get(threading.get_ident())
        facts.native_id = threading.get_native_id()
        if thread is None:
            return
        text = thread.name.encode("utf-8", "backslashreplace")[:TT_THREAD_NAME]
        memcpy(facts.name, <const char*>text, len(text))
        thread_context = getattr(thread, "_context", None)
        facts.own_context = NULL if thread_context is None else <PyObject*>thread_context
        for value in getattr(thread, "_ticktree_origins", ()):
            origin = <Origin?>value
            if origin.recorder.core == core and origin.core.generation == core.generation:
                facts.spawn_node = origin.core.node
                facts.path = origin.core.path
    except Exception:
        pass


cdef void note_site "tt_note_site"(tt_recorder* core, tt_node* node, tt_section* section) noexcept:
    """Stores the call site of a section: file, line and function, once per node."""
    cdef PyObject* frame
    try:
        site = (<Section>section.object).site
        if site is None:
            frame = tt_calling_frame()
            if frame == NULL or is_instruments(<object>frame):
                return
            code = (<object>frame).f_code
            site = (code.co_filename, (<object>frame).f_lineno, getattr(code, "co_qualname", code.co_name))
        keep_site(core, node, site)
    except Exception:
        pass


cdef keep_site(tt_recorder* core, tt_node* node, tuple site):
    """Stores file, line and function; without a file the call site is unknown, and nothing is stored."""
    cdef Recorder recorder = <Recorder>core.owner
    if site[0]:
        node.site_file = store_text(core, recorder.texts, site[0])
        node.site_function = store_text(core, recorder.texts, site[2])
        node.site_line = site[1] or 0


cdef bint is_instruments(object frame):
    """Whether a frame is an instrument's, which enters a section for a library: it is no line of the program."""
    return str(frame.f_globals.get("__name__")).startswith("ticktree.instruments")


cdef PyObject* section_make "tt_section_make"(PyObject* recorder, PyObject* name) noexcept:
    try:
        section = (<Recorder>recorder)._make(<object>name)
        Py_INCREF(section)
        return <PyObject*>section
    except BaseException as error:
        return set_error(error)


cdef PyObject* section_request "tt_section_request"(PyObject* recorder, tt_args args, Py_ssize_t count,
                                                    PyObject* names) noexcept:
    """`section(...)` with options, or with a new name."""
    try:
        options = {}
        if names != NULL:
            for i, key in enumerate(<tuple>names):
                options[key] = <object>args[count + i]
        section = (<Recorder>recorder)._section(*[<object>args[i] for i in range(count)], **options)
        Py_INCREF(section)
        return <PyObject*>section
    except TypeError as error:
        return set_error(TypeError(str(error).replace("_section()", "section()")))
    except BaseException as error:
        return set_error(error)


cdef PyObject* set_error(object error) noexcept:
    PyErr_SetObject(type(error), error)
    return NULL


cdef tt_origin* origin_of_object "tt_origin_of_object"(PyObject* value) noexcept:
    return &(<Origin>value).core if isinstance(<object>value, Origin) else NULL


cdef tt_watch* watch_of_object "tt_watch_of_object"(PyObject* value) noexcept:
    return &(<Watch>value).core if isinstance(<object>value, Watch) else NULL


cdef bint rearm "tt_rearm"(tt_recorder* core) noexcept:
    try:
        return open_child_memory(<Recorder>core.owner)
    except Exception:
        core.forked = False
        core.recording = False
        return False


cdef void before_fork() noexcept nogil:
    tt_before_fork()


cdef void after_fork() noexcept nogil:
    tt_after_fork()


def _note_manager(int index, kind, name):
    code = getattr(getattr(kind, name, None), "__code__", None)
    tt_manager_codes[index] = <const void*><PyObject*>code if code is not None else NULL


def _install():
    _note_manager(0, contextlib._GeneratorContextManager, "__enter__")
    _note_manager(1, contextlib._AsyncGeneratorContextManager, "__aenter__")
    if tt_register_thread_key() != 0:
        raise ImportError("ticktree: no thread-specific data left in this process")
    # Before any Python hook: one of another library may already enter a section.
    pthread_atfork(before_fork, NULL, after_fork)


def _check_layout():
    """Refuses a compiler that lays these classes out differently from the beginnings in native/builtins.h."""
    cdef Recorder recorder = Recorder(virtual_clock=True)
    cdef Section section = recorder.section("check")
    if <void*>&section.core != <void*>&(<tt_section_object*><PyObject*>section).core:
        raise ImportError("ticktree: Section is not laid out as native/builtins.h says")
    if recorder.core != (<tt_recorder_object*><PyObject*>recorder).core:
        raise ImportError("ticktree: Recorder is not laid out as native/builtins.h says")


# Tracebacks of the program, without ticktree's calls between the program's.


def drop_own_frames():
    """Removes ticktree's calls from the traceback of the exception that an `except` clause handles.

    If a wrapper then raises it again, by a bare `raise`, it shows only the program's own calls.
    """
    cdef PyObject* error = PyErr_GetHandledException()
    if error != NULL:
        if error != <PyObject*>None:
            tt_drop_own_entries(error)
        Py_DECREF(<object>error)


def _prepare_tracebacks():
    global tt_package_folder, tt_module_globals
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
    module_globals = globals()
    Py_INCREF(folder)
    Py_INCREF(module_globals)
    tt_package_folder, tt_module_globals = <PyObject*>folder, <PyObject*>module_globals
    tt_clean_tracebacks(<PyTypeObject*>Loop, <PyTypeObject*>SubmittedCall)


_install()
_prepare_tracebacks()
tt_add_methods(<PyTypeObject*>Recorder)
_check_layout()
_prepare_timed()
_prepare_focus()
_prepare_outermost()
_prepare_piping()
