"""Python's interface to the native part of the sampler (sampler.h)."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.errno cimport errno

cdef extern from "pthread.h" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    int pthread_mutex_lock(pthread_mutex_t *)
    int pthread_mutex_unlock(pthread_mutex_t *)

cdef extern from "sampler.h" nogil:
    ctypedef struct tt_text:
        long length
        uint32_t kind
        unsigned char *bytes
    ctypedef struct tt_code:
        tt_text name, file
        int first_line
        uint32_t table_length
        unsigned char *table
    ctypedef struct tt_codes:
        tt_code **items
        uint32_t count
    ctypedef struct tt_sampler:
        pthread_mutex_t mutex
        tt_codes codes
        unsigned char *buffer
        uint32_t buffer_bytes
        uint64_t instants, late_instants, samples, cpu_ns
        uint64_t drops[4]
    uint32_t TT_TEXT_LIMIT
    tt_sampler *tt_sampler_make(double, double, uint64_t)
    int tt_sampler_start(tt_sampler *)
    void tt_sampler_stop(tt_sampler *)
    void tt_sampler_free(tt_sampler *)
    uint32_t tt_sampler_add(tt_sampler *, int, const char *, uint64_t, uint64_t)
    void tt_sampler_set_interval(tt_sampler *, double)
    int tt_sample_self(const char *, const char *, double, double, uint64_t, uint64_t, uint64_t)
    int tt_remote_read(int, uint64_t, void *, size_t)
    int _PyRuntime
    int PyCode_Type

_ENCODINGS = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}


def own_addresses():
    """Return the addresses of this interpreter's `_PyRuntime` and `PyCode_Type`."""
    return <uint64_t>&_PyRuntime, <uint64_t>&PyCode_Type


def read_error(int pid, uint64_t address):
    """Return the errno with which the system refuses to read a process; 0 if it does not refuse."""
    cdef uint64_t word
    return 0 if tt_remote_read(pid, address, &word, sizeof(word)) else errno


def sample_self(bytes ring, bytes path, double interval_s, double max_share, uint64_t seed):
    """Sample this process from now on, on a thread that never takes the GIL.

    Args:
        ring: the file to create, through which it shares its samples.
        path: where its memory file is, or will be.
        interval_s: mean interval between samples.
        max_share: how much of a core the thread may take.
        seed: seed of the random intervals.

    Raises:
        OSError: There is no memory, or no thread can be started.
    """
    cdef int error = tt_sample_self(ring, path, interval_s, max_share, seed, <uint64_t>&_PyRuntime, <uint64_t>&PyCode_Type)
    if error:
        raise OSError(error, "cannot sample")


cdef str _text(const tt_text *text):
    cdef uint32_t size = <uint32_t>min(text.length * text.kind, TT_TEXT_LIMIT)
    return PyBytes_FromStringAndSize(<char *>text.bytes, size).decode(_ENCODINGS[text.kind], "replace")


cdef class NativeSampler:
    """Samples processes on a thread, at intervals that grow if it would take more than its share of a core."""

    cdef tt_sampler *_sampler
    cdef uint32_t _next_code

    def __cinit__(self, double interval_s, double max_share, uint64_t seed):
        self._sampler = tt_sampler_make(interval_s, max_share, seed)
        if not self._sampler:
            raise MemoryError

    def __dealloc__(self):
        if self._sampler:
            with nogil:
                tt_sampler_stop(self._sampler)
            tt_sampler_free(self._sampler)

    def start(self):
        """Start the thread; an OSError if the system refuses."""
        cdef int error = tt_sampler_start(self._sampler)
        if error:
            raise OSError(error, "cannot start a thread")

    def stop(self):
        """Stop the thread; its samples can still be taken."""
        with nogil:
            tt_sampler_stop(self._sampler)

    def set_interval(self, double interval_s):
        """Change the mean interval."""
        tt_sampler_set_interval(self._sampler, interval_s)

    def add(self, int pid, bytes path, uint64_t runtime, uint64_t code_type):
        """Sample a process from now on; its memory file is at `path`, or will be once it records.

        Returns:
            Its id in records; 0 if it has ended, or there is no space for another.
        """
        return tt_sampler_add(self._sampler, pid, path, runtime, code_type)

    def take(self):
        """Return the samples since the last call.

        Returns:
            The records, as in sampler.h; the new code objects, as (name, file, first line, line table); and (instants, late
            instants, drops by cause, CPU nanoseconds) since the start.
        """
        cdef tt_sampler *sampler = self._sampler
        cdef tt_code *code
        codes = []
        with nogil:
            pthread_mutex_lock(&sampler.mutex)
        try:
            records = PyBytes_FromStringAndSize(<char *>sampler.buffer, sampler.buffer_bytes)
            sampler.buffer_bytes = 0
            while self._next_code < sampler.codes.count:
                code = sampler.codes.items[self._next_code]
                self._next_code += 1
                table = PyBytes_FromStringAndSize(<char *>code.table, code.table_length)
                codes.append((_text(&code.name), _text(&code.file), code.first_line, table))
            drops = tuple([sampler.drops[i] for i in range(4)])
            counts = (sampler.instants, sampler.late_instants, drops, sampler.cpu_ns)
        finally:
            pthread_mutex_unlock(&sampler.mutex)
        return records, codes, counts
