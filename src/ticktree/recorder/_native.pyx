# cython: language_level=3, boundscheck=False, wraparound=False, binding=True
"""The native recorder: the Python face of core/, where the hot path and the accounts are.

One module in several files, each with one noun: arguments.pxi (what programs pass), recorder.pxi (a memory file and
what writes it), section.pxi, timed.pxi, outermost.pxi (functions of libraries), choice.pxi (their sections), call_sites.pxi (where they are called
from), idle.pxi (calls of them that do nothing), piping.pxi (messages through pipes), unmarked.pxi (ticks of programs that mark nothing), loop.pxi, gauges.pxi, pace.pxi (loops that hold their rate),
ages.pxi (of what they act on), signals.pxi (wake edges), experiments.pxi (sections made faster or slower), origin.pxi
(places carried to other tasks and threads), process.pxi (and to other processes), place.pxi (durations booked later),
remote.pxi (the far side of calls), abroad.pxi (work for other processes' sections), attended.pxi (sections with
attendants), forked.pxi (a child's own memory), devices.pxi (whose memory others read), copying.pxi (for readers),
focus.pxi (a program's own call tree), traceback.pxi (what tracebacks show).
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

include "native/names.pxi"
include "native/arguments.pxi"
include "native/section.pxi"
include "native/recorder.pxi"
include "critical_path/signals.pxi"
include "experiments/experiments.pxi"
include "native/pace.pxi"
include "native/ages.pxi"
include "native/loop.pxi"
include "native/timed.pxi"
include "wrapping/choice.pxi"
include "wrapping/call_sites.pxi"
include "wrapping/idle.pxi"
include "wrapping/outermost.pxi"
include "wrapping/piping.pxi"
include "wrapping/unmarked.pxi"
include "native/origin.pxi"
include "native/gauges.pxi"
include "device_time/place.pxi"
include "remote_parent/remote.pxi"
include "remote_parent/abroad.pxi"
include "device_time/attended.pxi"
include "native/forked.pxi"
include "native/block.pxi"
include "memory_sampling/devices.pxi"
include "native/process.pxi"
include "native/copying.pxi"
include "focus/focus.pxi"
include "native/traceback.pxi"
include "native/callbacks.pxi"
