# cython: language_level=3, boundscheck=False, wraparound=False, binding=True
"""The native recorder: the Python interface of core/, which has the hot path and the accounting.

One module in several files: arguments.pxi (checks of what programs pass), section.pxi, recorder.pxi (a memory file and
its writer), signals.pxi (wake edges), experiments.pxi (sections made faster or slower), ages.pxi (of the data that loops
act on), loop.pxi, timed.pxi, choice.pxi (sections of libraries' functions), outermost.pxi (those functions), unmarked.pxi
(ticks of programs without marks), origin.pxi (parents in other tasks and threads), place.pxi (durations booked later),
remote.pxi (calls to and from other programs), remote_work.pxi (work for other processes' sections), attended.pxi
(sections with attendants), devices.pxi (memory that others read), process.pxi (parents in other processes, and a child's
own memory), copying.pxi (for readers), focus.pxi (a program's own call tree), callbacks.pxi (what C calls in Python).
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.math cimport isfinite
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import contextlib
import contextvars
import copy
import operator
import os
import sys
import threading
import time
from _weakref import ref

include "native/arguments.pxi"
include "native/section.pxi"
include "native/recorder.pxi"
include "critical_path/signals.pxi"
include "experiments/experiments.pxi"
include "native/ages.pxi"
include "native/loop.pxi"
include "native/timed.pxi"
include "wrapping/choice.pxi"
include "wrapping/outermost.pxi"
include "wrapping/unmarked.pxi"
include "native/origin.pxi"
include "device_time/place.pxi"
include "remote_parent/remote.pxi"
include "remote_parent/remote_work.pxi"
include "device_time/attended.pxi"
include "memory_sampling/devices.pxi"
include "native/process.pxi"
include "native/copying.pxi"
include "focus/focus.pxi"
include "native/callbacks.pxi"
