"""The native part of the sampler (sampler.h), as Python sees it."""

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
        pthread_mutex_t guard
        tt_codes codes
        unsigned char *buffer
        uint32_t used
        uint64_t instants, late, samples, cpu_ns
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
    """Where this interpreter's runtime and its type of code objects are."""
    return <uint64_t>&_PyRuntime, <uint64_t>&PyCode_Type


def read_error(int pid, uint64_t address):
    """The errno with which the system refuses to read a process; 0 where it does not."""
    cdef uint64_t word
    return 0 if tt_remote_read(pid, address, &word, sizeof(word)) else errno


def sample_self(bytes ring, bytes path, double interval_s, double most_share, uint64_t seed):
    """Samples this process from now on, on a thread of its own that never takes the GIL.

    Args:
        ring: the file to make, through which it hands over its samples.
        path: where its memory file is, or will be.
        interval_s: the mean of the intervals.
        most_share: how much of a core the thread may take.
        seed: of the intervals.

    Raises:
        OSError: There is no room, or no thread to be had.
    """
    cdef int failed = tt_sample_self(ring, path, interval_s, most_share, seed, <uint64_t>&_PyRuntime, <uint64_t>&PyCode_Type)
    if failed:
        raise OSError(failed, "cannot sample")


cdef str _text(const tt_text *text):
    cdef uint32_t size = <uint32_t>min(text.length * text.kind, TT_TEXT_LIMIT)
    return PyBytes_FromStringAndSize(<char *>text.bytes, size).decode(_ENCODINGS[text.kind], "replace")


cdef class NativeSampler:
    """Samples processes on a thread of its own, at intervals that grow where it would take more of a core than its share."""

    cdef tt_sampler *_sampler
    cdef uint32_t _codes_taken

    def __cinit__(self, double interval_s, double most_share, uint64_t seed):
        self._sampler = tt_sampler_make(interval_s, most_share, seed)
        if not self._sampler:
            raise MemoryError

    def __dealloc__(self):
        if self._sampler:
            with nogil:
                tt_sampler_stop(self._sampler)
            tt_sampler_free(self._sampler)

    def start(self):
        """Starts the thread; an OSError where there is none to be had."""
        cdef int failed = tt_sampler_start(self._sampler)
        if failed:
            raise OSError(failed, "cannot start a thread")

    def stop(self):
        """Stops the thread; what it has sampled can still be taken."""
        with nogil:
            tt_sampler_stop(self._sampler)

    def set_interval(self, double interval_s):
        """Changes the mean of the intervals."""
        tt_sampler_set_interval(self._sampler, interval_s)

    def add(self, int pid, bytes path, uint64_t runtime, uint64_t code_type):
        """Samples a process from now on, whose memory file is at `path`, or will be once it records.

        Returns:
            What records call it; 0 where it is gone, or no room is left.
        """
        return tt_sampler_add(self._sampler, pid, path, runtime, code_type)

    def take(self):
        """What was sampled since the last time.

        Returns:
            The records, as sampler.h has them; the code objects met for the first time, as (name, file, first line, table
            of lines); and (instants, how many of them came late, dropped by cause, CPU nanoseconds) since the start.
        """
        cdef tt_sampler *sampler = self._sampler
        cdef tt_code *code
        codes = []
        with nogil:
            pthread_mutex_lock(&sampler.guard)
        try:
            records = PyBytes_FromStringAndSize(<char *>sampler.buffer, sampler.used)
            sampler.used = 0
            while self._codes_taken < sampler.codes.count:
                code = sampler.codes.items[self._codes_taken]
                self._codes_taken += 1
                table = PyBytes_FromStringAndSize(<char *>code.table, code.table_length)
                codes.append((_text(&code.name), _text(&code.file), code.first_line, table))
            drops = tuple([sampler.drops[at] for at in range(4)])
            counts = (sampler.instants, sampler.late, drops, sampler.cpu_ns)
        finally:
            pthread_mutex_unlock(&sampler.guard)
        return records, codes, counts
