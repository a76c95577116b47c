"""Chrome traces: files of events, as torch.profiler, Ray, viztracer and ticktree itself write them, read as profiles.

What stands in which module, in the order in which a file goes through them:

    choosing    which of the file's events are read
    events      those as columns: which lane called what, from when to when
    nesting     which call was made inside which
    places      which node of the tree each call is of
    devices     what a GPU did, and which section launched it
    growing     nodes out of calls: self times, histograms, windows, shares
    ticks       which nodes are loops, and what their ticks took
    counters    gauges
    writers     the threads, and what they are called
    origin      what the file says of itself: when it began, what wrote it, what is missing
    reading     all of it together
"""

from __future__ import annotations

from ticktree.importers.chrome.reading import is_trace, profile_of, timeline_of

__all__ = ["is_trace", "profile_of", "timeline_of"]
