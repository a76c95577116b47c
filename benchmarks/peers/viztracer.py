"""viztracer's logged events: one ring-buffer entry per section. Functions are not traced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from peers import Peer

DISTRIBUTION = "viztracer"


@contextmanager
def load() -> Iterator[list[Peer]]:
    tracer = import_module("viztracer").VizTracer(log_sparse=True, verbose=0)
    # Making a tracer installs a profile function, which slows down every call of the process. Stopping takes
    # it out of this thread, though not out of those to come; events are logged nevertheless.
    tracer.start()
    tracer.stop()
    threading.setprofile(None)
    section, forget = tracer.log_event, tracer.clear
    yield [Peer.of_section("viztracer log_event", DISTRIBUTION, section, "keeps every event", forget)]
    tracer.terminate()
