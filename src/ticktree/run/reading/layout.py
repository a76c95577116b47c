"""The records of a memory file, as `recorder/core/layout.h` lays them out; a test compares the two."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_double, c_int16, c_int64, c_uint32, c_uint64
from enum import IntFlag

from ticktree.profile.clock import DEVICE, HOST, REMOTE, Clock

MAGIC = int.from_bytes(b"TICKTREE", "little")
FORMAT = 1
LINE = 64
OCTAVES = 48
SUB_BUCKETS = 32
WINDOWS = 64
SHARES = 96
FIRST_TICKS = 64
MISSED_ROWS = 63
OCTAVE_BYTES = 8 * SUB_BUCKETS

CLOCKS = ("virtual", "tsc", "cntvct", "monotonic")

# In the order of `enum tt_loss`: what a reader calls each, said after its count.
LOSSES = (
    "unwound_sections",
    "unmatched_leaves",
    "calls_over_node_cap",
    "calls_nested_too_deep",
    "names_cut",
    "calls_over_name_cap",
    "records_without_memory",
    "bad_values",
    "foreign_leaves",
    "gauge_values_unfiled",
    "threads_ended_open",
    "signals_without_place",
    "wakes_unfiled",
    "device_times_not_known",
    "device_calls_captured",
)


class NodeFlag(IntFlag):
    """`enum tt_node_flag`."""

    WAIT = 1
    NS = 2
    ROOT = 4
    LOOP = 8
    PHASED = 16
    MANY_SITES = 32
    DEVICE = 64
    TIMED = 128
    ON_DEVICE = 256
    REMOTE = 512
    DEVICE_KNOWN = 1024
    NO_LIBRARY = 2048
    NO_DEVICE = 4096
    NO_DEVICE_CLOCK = 8192
    ONLY_HOST = 16384
    IN_GRAPH = 32768


_IN_GRAPH, _GRAPH = int(NodeFlag.IN_GRAPH), "calls were captured into a graph, which runs as a whole"
# Why device time that was asked for is not there, the first of these that a node's flags say.
_LACKS = (
    (int(NodeFlag.ONLY_HOST), "work on the CPU is done when the call returns: the host's time is its time"),
    (int(NodeFlag.NO_LIBRARY), "nothing that uses such a device was imported"),
    (int(NodeFlag.NO_DEVICE), "there is no such device here"),
    (int(NodeFlag.NO_DEVICE_CLOCK), "it has no clock that can be read without waiting for the device"),
    (_IN_GRAPH, _GRAPH),
)
_ON_DEVICE, _REMOTE = int(NodeFlag.ON_DEVICE), int(NodeFlag.REMOTE)
_DEVICE, _DEVICE_KNOWN = int(NodeFlag.DEVICE), int(NodeFlag.DEVICE_KNOWN)


def clock_of(flags: int) -> Clock:
    """What the time of a node with these flags was measured with."""
    return DEVICE if flags & _ON_DEVICE else REMOTE if flags & _REMOTE else HOST


def device_lack_of(flags: int) -> str | None:
    """Why device time is not there, by a node's flags; None where it is, or was not asked for."""
    if not flags & _DEVICE:
        return None
    if flags & _DEVICE_KNOWN:  # of most calls: what was not there yet is by now
        return _GRAPH if flags & _IN_GRAPH else None
    for flag, reason in _LACKS:
        if flags & flag:
            return reason
    return "no device clock was in use"


class HeaderFlag(IntFlag):
    """`enum tt_header_flag`."""

    PRIVATE = 1
    RECORDING = 2
    WAITED = 4


class Anchor(ctypes.LittleEndianStructure):
    """`tt_anchor`."""

    _fields_ = [("ticks", c_uint64), ("monotonic_ns", c_uint64), ("wall_ns", c_uint64)]


class Header(ctypes.LittleEndianStructure):
    """`tt_header`."""

    _fields_ = [
        ("magic", c_uint64),
        ("format", c_uint32),
        ("header_bytes", c_uint32),
        ("node_bytes", c_uint32),
        ("frame_bytes", c_uint32),
        ("tree_bytes", c_uint32),
        ("loop_bytes", c_uint32),
        ("gauge_bytes", c_uint32),
        ("clock_kind", c_uint32),
        ("flags", c_uint32),
        ("node_cap", c_uint32),
        ("used_bytes", c_uint64),
        ("backed_bytes", c_uint64),
        ("pid", c_uint64),
        ("process_start", c_uint64),
        ("boot_id", c_char * 40),
        ("parent_pid", c_uint64),
        ("parent_start", c_uint64),
        ("parent_node", c_uint32),
        ("anchor_sequence", c_uint32),
        ("first", Anchor),
        ("last", Anchor),
        ("run_began_ns", c_uint64),
        ("ns_per_tick", c_uint64),
        ("inner_cost", c_uint64),
        ("outer_cost", c_uint64),
        ("gc_ticks", c_uint64),
        ("gc_pauses", c_uint64),
        ("times_enabled", c_uint64),
        ("nodes", c_uint32),
        ("frames", c_uint32),
        ("trees", c_uint32),
        ("loops", c_uint32),
        ("gauges", c_uint32),
        ("node_count", c_uint32),
        ("losses", c_uint64 * 16),
        ("incarnation", c_uint32),
        ("parent_incarnation", c_uint32),
        ("process_name", c_uint32),
        ("role", c_uint32),
        ("edges", c_uint32),
        ("edge_count", c_uint32),
        ("footprints", c_uint32),
        ("footprint_count", c_uint32),
        ("ring", c_uint32),
        ("lanes", c_uint32),
        ("lane_count", c_uint32),
    ]


class Stats(ctypes.LittleEndianStructure):
    """`tt_stats`."""

    _fields_ = [("count", c_uint64), ("sum", c_uint64), ("minimum", c_uint64), ("maximum", c_uint64)]


class Node(ctypes.LittleEndianStructure):
    """`tt_node`."""

    _fields_ = [
        ("sequence", c_uint32),
        ("flags", c_uint32),
        ("own", c_int64),
        ("concurrent", c_int64),
        ("stats", Stats),
        ("window_shift", c_uint32),
        ("tree", c_uint32),
        ("tick_epoch", c_uint64),
        ("tick_sum", c_uint64),
        ("site", c_uint64),
        ("parent", c_uint32),
        ("name", c_uint32),
        ("first_child", c_uint32),
        ("sibling", c_uint32),
        ("next", c_uint32),
        ("loop", c_uint32),
        ("site_file", c_uint32),
        ("site_function", c_uint32),
        ("site_line", c_uint32),
        ("cpu_samples", c_uint32),
        ("memory_samples", c_uint32),
        ("ticks", c_uint32),
        ("cpu_ns", c_uint64),
        ("cpu_wall", c_uint64),
        ("memory_change", c_int64),
        ("memory_peak", c_uint64),
        ("work_bytes", c_uint64),
        ("work_flops", c_uint64),
        ("work_items", c_uint64),
        ("warmup", Stats),
        ("depth", c_uint32),
        ("path_hint", c_uint32),
        ("marked_own", c_int64),
        ("marked_count", c_uint64),
        ("raised", c_uint64),
        ("running", c_uint64),
        ("reserved", c_uint64 * 7),
        ("octaves", c_uint32 * OCTAVES),
        ("warmup_octaves", c_uint32 * OCTAVES),
        ("windows", c_uint64 * (2 * WINDOWS)),
    ]


class Frame(ctypes.LittleEndianStructure):
    """`tt_frame`."""

    _fields_ = [
        ("serial", c_uint64),
        ("parent_serial", c_uint64),
        ("start", c_uint64),
        ("covered", c_uint64),
        ("cover_start", c_uint64),
        ("epoch", c_uint64),
        ("node", c_uint32),
        ("parent", c_uint32),
        ("last_child", c_uint32),
        ("active", c_uint32),
        ("flags", c_uint32),
        ("next", c_uint32),
        ("tick", c_uint32),
        ("lane", c_uint32),
        ("waited", c_uint64),
        ("wait_start", c_uint64),
        ("waits_open", c_uint32),
        ("wait_tick", c_uint32),
        ("wait_serial", c_uint64),
        ("private", c_uint64 * 10),
    ]


class Tree(ctypes.LittleEndianStructure):
    """`tt_tree`."""

    _fields_ = [
        ("root", c_uint32),
        ("next", c_uint32),
        ("spawn_node", c_uint32),
        ("alive", c_uint32),
        ("thread_id", c_uint64),
        ("adoptions", c_uint64),
        ("thread_name", c_char * 48),
        ("role", c_uint32),
        ("path", c_uint32),
        ("reserved", c_uint64 * 5),
    ]


class Event(ctypes.LittleEndianStructure):
    """`tt_event`."""

    _fields_ = [("start", c_uint64), ("end", c_uint64), ("node", c_uint32), ("lane", c_uint32)]


class Ring(ctypes.LittleEndianStructure):
    """`tt_ring`."""

    _fields_ = [
        ("begun", c_uint64),
        ("done", c_uint64),
        ("forgotten", c_uint64),
        ("capacity", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


class Lane(ctypes.LittleEndianStructure):
    """`tt_lane`."""

    _fields_ = [
        ("next", c_uint32),
        ("number", c_uint32),
        ("thread_id", c_uint64),
        ("thread_name", c_char * 48),
    ]


class Share(ctypes.LittleEndianStructure):
    """`tt_share`."""

    _fields_ = [
        ("start", c_uint64),
        ("pid", c_uint32),
        ("incarnation", c_uint32),
        ("node", c_uint32),
        ("reserved", c_uint32),
        ("ns", c_uint64),
    ]


class Path(ctypes.LittleEndianStructure):
    """`tt_path`."""

    _fields_ = [
        ("sequence", c_uint32),
        ("tree", c_uint32),
        ("mark_ticks", c_uint64),
        ("mark_ns", c_uint64),
        ("signals", c_uint64),
        ("unblocks", c_uint64),
        ("count", c_uint32),
        ("reserved0", c_uint32),
        ("reserved1", c_uint64 * 2),
        ("shares", Share * SHARES),
    ]


class Edge(ctypes.LittleEndianStructure):
    """`tt_edge`."""

    _fields_ = [
        ("sequence", c_uint32),
        ("node", c_uint32),
        ("next", c_uint32),
        ("channel", c_uint32),
        ("start", c_uint64),
        ("pid", c_uint32),
        ("incarnation", c_uint32),
        ("by_node", c_uint32),
        ("reserved", c_uint32),
        ("count", c_uint64),
        ("waited_ns", c_uint64),
        ("handover_ns", c_uint64),
    ]


class Footprint(ctypes.LittleEndianStructure):
    """`tt_footprint`."""

    _fields_ = [
        ("sequence", c_uint32),
        ("node", c_uint32),
        ("next", c_uint32),
        ("device", c_uint32),
        ("samples", c_uint32),
        ("memory", c_uint32),
        ("change", c_int64),
        ("peak", c_uint64),
        ("peak_bound", c_uint64),
        ("growth", c_uint64),
        ("growth_bound", c_uint64),
    ]


class WorstRow(ctypes.LittleEndianStructure):
    """`tt_worst_row`."""

    _fields_ = [("node", c_uint32), ("reserved", c_uint32), ("sum", c_uint64)]


class WorstTick(ctypes.LittleEndianStructure):
    """`tt_worst_tick`."""

    _fields_ = [
        ("duration", c_uint64),
        ("tick", c_uint64),
        ("start", c_uint64),
        ("gc_ticks", c_uint64),
        ("voluntary_switches", c_uint32),
        ("involuntary_switches", c_uint32),
        ("minor_faults", c_uint32),
        ("major_faults", c_uint32),
        ("causes_known", c_uint32),
        ("row_count", c_uint32),
        ("rows", WorstRow * 30),
        ("reserved", c_uint64),
    ]


class Causes(ctypes.LittleEndianStructure):
    """`tt_causes`."""

    _fields_ = [
        ("ticks", c_uint64),
        ("gc_ticks", c_uint64),
        ("voluntary_switches", c_uint64),
        ("involuntary_switches", c_uint64),
        ("minor_faults", c_uint64),
        ("major_faults", c_uint64),
    ]


class MissedRows(ctypes.LittleEndianStructure):
    """`tt_missed_rows`."""

    _fields_ = [("next", c_uint32), ("reserved", c_uint32 * 3), ("rows", WorstRow * MISSED_ROWS)]


class LoopSums(ctypes.LittleEndianStructure):
    """`tt_loop_sums`."""

    _fields_ = [
        ("flags", c_uint32),
        ("missed_rows", c_uint32),
        ("ticks", c_uint64),
        ("waited", c_uint64),
        ("missed", c_uint64),
        ("missed_sum", c_uint64),
        ("causes", Causes),
        ("missed_causes", Causes),
        ("late_octaves", c_uint32 * OCTAVES),
        ("jitter_octaves", c_uint32 * OCTAVES),
        ("first_waited", c_uint64 * FIRST_TICKS),
        ("reserved", c_uint64 * 7),
    ]


class Loop(ctypes.LittleEndianStructure):
    """`tt_loop`."""

    _fields_ = [
        ("sequence", c_uint32),
        ("node", c_uint32),
        ("next", c_uint32),
        ("sums", c_uint32),
        ("hz", c_double),
        ("other_hz", c_double),
        ("budget_ticks", c_uint64),
        ("ticks", c_uint64),
        ("incomplete", c_uint64),
        ("busy", c_uint64),
        ("warmup_ticks", c_uint64),
        ("warmup_asked", c_uint64),
        ("missed", c_uint64),
        ("miss_run", c_uint64),
        ("longest_miss_run", c_uint64),
        ("late_sum", c_uint64),
        ("late_maximum", c_uint64),
        ("jitter_count", c_uint64),
        ("jitter_sum", c_uint64),
        ("previous_plus_one", c_uint64),
        ("first_wall_ns", c_uint64),
        ("first_count", c_uint64),
        ("first", c_uint64 * FIRST_TICKS),
        ("boundary_gc_ticks", c_uint64),
        ("boundary_known", c_uint32),
        ("boundary_voluntary", c_uint32),
        ("boundary_involuntary", c_uint32),
        ("boundary_minor", c_uint32),
        ("boundary_major", c_uint32),
        ("worst_count", c_uint32),
        ("worst", WorstTick * 8),
    ]


class GaugeOctave(ctypes.LittleEndianStructure):
    """`tt_gauge_octave`."""

    _fields_ = [("octave", c_int16), ("sign", c_int16), ("counts", c_uint32)]


class Gauge(ctypes.LittleEndianStructure):
    """`tt_gauge`."""

    _fields_ = [
        ("sequence", c_uint32),
        ("name", c_uint32),
        ("next", c_uint32),
        ("octave_count", c_uint32),
        ("last", c_double),
        ("minimum", c_double),
        ("maximum", c_double),
        ("last_wall_ns", c_uint64),
        ("count", c_uint64),
        ("zeros", c_uint64),
        ("octaves", GaugeOctave * 28),
    ]


RECORD_BYTES = {
    "node_bytes": ctypes.sizeof(Node),
    "frame_bytes": ctypes.sizeof(Frame),
    "tree_bytes": ctypes.sizeof(Tree),
    "loop_bytes": ctypes.sizeof(Loop),
    "gauge_bytes": ctypes.sizeof(Gauge),
}
