/* The byte layout of a memory file, which every reader relies on.
 *
 * History of the format
 *   1  first layout
 *
 * A file is one arena of 64-byte lines. A `ref` is a line number (offset / 64): 32 bits name a record, and 0 means
 * none, because line 0 is the header's. Records of one kind are chained through `next`, newest first, from the header.
 * The writer fills in a record before it links it, so a reader that follows the chain in a live file, or in that of a
 * dead process, finds complete records only.
 *
 *   header | name | node | histogram octave | frame | tree | loop | gauge | ...   in the order they are needed
 *
 * Times are ticks of the file's clock (`clock_kind`), except in nodes with TT_NODE_NS, which count nanoseconds.
 * Readers convert with the anchors: pairs of ticks and CLOCK_MONOTONIC read together.
 */
#ifndef TICKTREE_LAYOUT_H
#define TICKTREE_LAYOUT_H

#include <stdint.h>
#include <stddef.h>

#define TT_MAGIC 0x454552544B434954ULL /* "TICKTREE", little-endian */
#define TT_FORMAT 1u
#define TT_LINE 64u

#define TT_OCTAVES 48u     /* durations of 2^0 to 2^48 ns (3.2 days); longer ones are counted in the last */
#define TT_SUB_BUCKETS 32u /* per octave: each bucket is 2.2% wide, its middle within 1.1% */
#define TT_WINDOWS 64u
#define TT_WINDOW_NS 10000000ULL /* the first width; widths double */
#define TT_FIRST_TICKS 64u
#define TT_BINS 64u
#define TT_WARMUP_MAX 256u /* first ticks that are searched for the end of the warm-up */
#define TT_WORST_TICKS 8u
#define TT_WORST_ROWS 30u
#define TT_MISSED_ROWS 63u
#define TT_GAUGE_OCTAVES 28u
#define TT_NAME_LIMIT 255u /* bytes of UTF-8; longer names are cut and counted */
#define TT_THREAD_NAME 47u

#define TT_FOOTPRINT_CAP 4096u

#define TT_DEPTH_CAP 256u /* deeper calls have no node: recursion alone could fill the file with one path */

typedef uint32_t tt_ref;

enum tt_clock_kind { TT_CLOCK_VIRTUAL = 0, TT_CLOCK_TSC = 1, TT_CLOCK_CNTVCT = 2, TT_CLOCK_MONOTONIC = 3 };
static const char *const tt_clock_names[] = {"virtual", "tsc", "cntvct", "monotonic", NULL};

/* What the recorder lost, by cause, and the readers' name of it; readers print every count that is not 0. */
#define TT_LOSSES(X) \
    X(UNWOUND, "unwound_sections")                /* still open when a section around them was left */ \
    X(UNMATCHED, "unmatched_leaves")              /* exits without a matching frame */ \
    X(NODES, "calls_over_node_cap")               /* calls past the node cap: their time stays in the parent */ \
    X(FRAMES, "calls_nested_too_deep")            /* calls nested too deep for a frame */ \
    X(NAMES_CUT, "names_cut")                     /* names longer than TT_NAME_LIMIT */ \
    X(NAMES, "calls_over_name_cap")               /* calls of sections past the cap of distinct names */ \
    X(MEMORY, "records_without_memory")           /* calls, loops or gauges without memory */ \
    X(BAD_VALUES, "bad_values")                   /* not finite or negative: record(), gauge(), work() */ \
    X(FOREIGN, "foreign_leaves")                  /* sections left in a different context than they were entered in */ \
    X(GAUGE_BUCKETS, "gauge_values_out_of_range") /* gauge values outside the octaves that a gauge can hold */ \
    X(THREADS, "threads_ended_open")              /* trees of threads that ended with open sections */ \
    X(SIGNALS, "wakes_without_slot")              /* no slot, or it was reused before the wait */ \
    X(EDGES, "wakes_over_cap")                    /* waits without their signaller: past the cap, or without memory */ \
    X(DEVICE, "device_times_not_known")           /* device time unknown at the end, or no event was left */ \
    X(CAPTURED, "device_calls_captured")          /* device work captured into a graph: it did not run then */

#define TT_LOSS_ENUMERATOR(cause, name) TT_LOSS_##cause,
#define TT_LOSS_NAME(cause, name) name,
enum tt_loss { TT_LOSSES(TT_LOSS_ENUMERATOR) TT_LOSS_COUNT };
static const char *const tt_loss_names[TT_LOSS_COUNT + 1] = {TT_LOSSES(TT_LOSS_NAME) NULL};

typedef struct { /* ticks and clocks read together */
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t wall_ns;
} tt_anchor;

enum tt_header_flag {
    TT_HEADER_PRIVATE = 1,
    TT_HEADER_RECORDING = 2,
    TT_HEADER_WAITED = 4 /* sections waited for their device, which changed the program's schedule */
};

typedef struct {
    uint64_t magic;
    uint32_t format;
    uint32_t layout; /* the writer's `tt_layout_sum`: a different sum means different records, whatever the format */
    uint32_t header_bytes;
    uint32_t clock_kind;
    uint32_t flags;
    uint32_t node_cap;
    uint64_t used_bytes;   /* of the file; all bytes after them are zero */
    uint64_t backed_bytes; /* reserved so far: writing there cannot fail */
    /* the writer: a pid alone may be reused */
    uint64_t pid;
    uint64_t process_start; /* in clock ticks after boot, as the kernel reports it */
    char boot_id[40];
    /* the node that started this process; 0: unknown */
    uint64_t parent_pid;
    uint64_t parent_start;
    tt_ref parent_node;
    uint32_t anchor_sequence; /* odd while `last` is being written */
    tt_anchor first, last;
    uint64_t run_began_ns;  /* CLOCK_MONOTONIC when the run began: where windows count from */
    uint64_t ns_per_tick;   /* scaled by 2^32; measured at the start, for histograms and short runs */
    uint64_t inner_cost;    /* ticks that an empty section records of its own cost, scaled by 2^8 */
    uint64_t outer_cost;    /* ticks of its cost that land in its parent, scaled by 2^8 */
    uint64_t gc_ticks, gc_pauses;
    uint64_t times_enabled;
    tt_ref nodes, frames, trees, loops, gauges; /* newest of each */
    uint32_t node_count;
    uint64_t losses[16];
    /* A process that runs another program (exec) keeps its pid and start and begins its next incarnation: 1, 2, ... */
    uint32_t incarnation, parent_incarnation;
    tt_ref process_name, role; /* texts; role: of the main thread, as the program declared it */
    tt_ref edges; /* newest */
    uint32_t edge_count;
    tt_ref footprints; /* newest */
    uint32_t footprint_count;
    tt_ref ring;  /* of the timeline; 0: not requested, or no room */
    tt_ref lanes; /* newest */
    uint32_t lane_count;
} tt_header;

enum tt_node_flag {
    TT_NODE_WAIT = 1,       /* the program declared it a wait */
    TT_NODE_NS = 2,         /* record(): nanoseconds, never ticks */
    TT_NODE_ROOT = 4,       /* a tree's root: represents `parent` in another tree */
    TT_NODE_LOOP = 8,       /* its calls are ticks */
    TT_NODE_PHASED = 16,    /* `warmup` holds the warm-up's calls */
    TT_NODE_MANY_SITES = 32,
    TT_NODE_DEVICE = 64,    /* the program requested its device time */
    TT_NODE_TIMED = 128,    /* entered by @timed, which costs a different amount */
    TT_NODE_ON_DEVICE = 256,       /* measured by a device's clock */
    TT_NODE_REMOTE = 512,          /* measured by another program's clock */
    TT_NODE_DEVICE_KNOWN = 1024,   /* the requested device time is in nodes below */
    /* why it is not, for at least one call: */
    TT_NODE_NO_LIBRARY = 2048,
    TT_NODE_NO_DEVICE = 4096,
    TT_NODE_NO_DEVICE_CLOCK = 8192,
    TT_NODE_ONLY_HOST = 16384,
    TT_NODE_IN_GRAPH = 32768
};

typedef struct { /* of the completed calls of one phase */
    uint64_t count;
    uint64_t sum;
    uint64_t minimum; /* UINT64_MAX before the first */
    uint64_t maximum;
} tt_stats;

typedef struct {
    uint64_t count;
    uint64_t sum;
} tt_window;

typedef struct {
    /* line 0: every call writes it */
    uint32_t sequence; /* odd while the record is being written */
    uint32_t flags;
    int64_t own;
    int64_t concurrent;
    tt_stats stats;
    uint32_t window_shift; /* windows are TT_WINDOW_NS << window_shift wide */
    tt_ref tree;
    /* line 1 */
    uint64_t tick_epoch; /* the serial of the tick that tick_sum belongs to */
    uint64_t tick_sum;
    uint64_t site; /* private: the calling instruction, to detect a second call site */
    tt_ref parent, name, first_child, sibling, next, loop;
    tt_ref site_file, site_function;
    uint32_t site_line;
    uint32_t cpu_samples;
    uint32_t memory_samples;
    tt_ref ticks; /* of a loop: its tick record */
    /* from here to `warmup`: sums over calls, all zero after a reset */
    uint64_t cpu_ns, cpu_wall;
    int64_t memory_change;
    uint64_t memory_peak;
    uint64_t work_bytes, work_flops, work_items;
    uint64_t raised; /* completed calls that an exception ended */
    tt_stats warmup;
    uint32_t depth; /* below its tree's root, which has the depth of the node that started its thread */
    uint32_t path_hint;  /* private: the index of its share in its thread's path */
    int64_t marked_own;  /* self time, including that of open calls, at the last update of its thread's path */
    uint64_t marked_count;
    uint64_t running;    /* private: ticks of open calls plus one, during an update of the path; else 0 */
    uint64_t reserved[7];
    tt_ref octaves[TT_OCTAVES], warmup_octaves[TT_OCTAVES];
    tt_window windows[TT_WINDOWS];
} tt_node;

enum tt_frame_flag {
    TT_FRAME_SOFT = 1,      /* a stage or a tick: its successor or the enclosing section ends it */
    TT_FRAME_TICK = 2,      /* one iteration of a loop */
    TT_FRAME_GENERATOR = 4, /* entered in a generator's or coroutine's own frame, which may be suspended */
    TT_FRAME_WAITING = 16,  /* this or a frame around it waits */
    TT_FRAME_CPU = 32,      /* this call samples thread CPU time */
    TT_FRAME_MEMORY = 64,   /* this call samples resident memory */
    TT_FRAME_LOOP_OBJECT = 512, /* a tick that a loop object ends, even after its generator slept */
    TT_FRAME_WAIT = 256,    /* an outermost wait of a tick, which counts it */
    TT_FRAME_WATCH = 1 << 16,   /* a request: its sections are summed separately (remote_parent/watch.h) */
    TT_FRAME_WATCHED = 1 << 17, /* this or a frame around it is */
    TT_FRAME_SUBMITTED = 1 << 18, /* works for a watched call of another thread */
    TT_FRAME_CALLING = 1 << 19, /* this or a frame around it waits for another program */
    TT_FRAME_RAISED = 1 << 20,  /* an exception ends it */
    TT_FRAME_EXPERIMENT = 1 << 21, /* of a run with experiments (experiments/) */
    TT_FRAME_INHERITED = TT_FRAME_WAITING | TT_FRAME_WATCHED | TT_FRAME_CALLING,
    /* closing it takes more than booking its time */
    TT_FRAME_RARE = TT_FRAME_CPU | TT_FRAME_MEMORY | TT_FRAME_WAIT | TT_FRAME_TICK | TT_FRAME_WATCHED |
                    TT_FRAME_RAISED | TT_FRAME_EXPERIMENT,
    TT_FRAME_CALL = 128     /* a C call of @timed: it ends when it returns, so it cannot sleep, even if its caller can */
};

typedef struct { /* one open call; free when serial is 0 */
    uint64_t serial;
    uint64_t parent_serial;
    uint64_t start;
    uint64_t covered;     /* ticks that its children covered */
    uint64_t cover_start; /* when `active` last rose from 0 */
    uint64_t epoch;       /* serial of the innermost tick around it */
    tt_ref node, parent, last_child; /* parent: a frame on the same thread; last_child: a node */
    uint32_t active;                 /* children open now */
    uint32_t flags;
    tt_ref next, tick; /* tick: the innermost tick's frame */
    tt_ref lane; /* in the timeline */
    uint64_t waited;         /* of a tick: how long it had a wait open */
    uint64_t wait_start;
    uint32_t waits_open;
    tt_ref wait_tick; /* of a wait: the innermost tick that still counts it */
    uint64_t wait_serial;
    /* private to the process: pointers */
    uint64_t below, section, python_frame, cpu_start;
    uint64_t measured; /* of a call whose memory is measured: the process's handle of that measurement; else 0 */
    uint64_t watch; /* of a watched call */
    uint64_t submitter, submitter_serial; /* the call of another thread that it works for */
    uint64_t focus;    /* of a call under focus: its roots, and how many levels below it are recorded */
    tt_ref home; /* of a call without a node: the node that keeps its time */
    uint32_t reserved1;
} tt_frame;

typedef struct { /* the nodes that one thread writes; another thread adopts them once it has ended */
    tt_ref root, next, spawn_node; /* spawn_node: where the thread was started; 0: unknown */
    uint32_t alive;
    uint64_t thread_id; /* the kernel's */
    uint64_t adoptions;
    char thread_name[TT_THREAD_NAME + 1];
    tt_ref role; /* a text: what the thread does, as the program declared it */
    tt_ref path; /* of the thread that writes it; 0: never needed */
    uint64_t writer; /* private: the address of the thread's record, for sampling from outside; 0: none */
    uint64_t reserved[4];
} tt_tree;

/* One completed call, in ticks. */
typedef struct {
    uint64_t start, end;
    tt_ref node, lane; /* lane 0: past the cap of lanes */
} tt_event;

/* The timeline: `capacity` events follow. Event number n, from 0, lies at n modulo capacity. An event is complete if it
 * is older than `done` and not older than `begun` less capacity. */
typedef struct {
    uint64_t begun, done; /* events whose writing began, and ended */
    uint64_t forgotten;   /* events before the last reset: neither shown nor lost */
    uint64_t capacity;
    uint64_t reserved[4];
} tt_ring;

typedef struct { /* one row of the timeline: the calls of a thread, or of a context within it */
    tt_ref next;
    uint32_t number; /* 0: the thread's own; 1, 2, ...: of contexts that were in use at the same time */
    uint64_t thread_id; /* the kernel's */
    char thread_name[TT_THREAD_NAME + 1];
} tt_lane;

#define TT_SHARES 96u
#define TT_EDGE_CAP 1024u

typedef struct { /* how much of the time one node of the run took, in any of its processes */
    uint64_t start; /* the process: its start, its pid, its incarnation */
    uint32_t pid, incarnation;
    tt_ref node; /* in that process's file; 0: all nodes that are too small to keep */
    uint32_t reserved;
    uint64_t ns;
} tt_share;

/* A thread's critical path so far: how the time since the run began was spent along the chain of events that led to the
 * thread's present. The shares always sum to `mark_ns`. The first is of the nodes that are too small to keep. */
typedef struct {
    uint32_t sequence;
    tt_ref tree; /* its nodes' marks are of the same moment: add what the nodes have grown since */
    uint64_t mark_ticks, mark_ns; /* the moment; mark_ns: since the run began, by CLOCK_MONOTONIC */
    uint64_t signals, unblocks;
    uint32_t count, reserved0;
    uint64_t reserved1[2];
    tt_share shares[TT_SHARES];
} tt_path;

typedef struct { /* one signaller that ended waits of one node, through one channel; in nanoseconds */
    uint32_t sequence;
    tt_ref node, next, channel; /* channel: a text */
    uint64_t start; /* the signaller: its process */
    uint32_t pid, incarnation;
    tt_ref by_node; /* and the node that was open there, in its file */
    uint32_t reserved;
    uint64_t count, waited_ns, latency_ns; /* latency: the part of the wait after the signal */
} tt_edge;

/* How much of one memory, the process's or a device's, the sampled calls of one node needed. A peak that could not be
 * read lies between the value and its bound; if the two are equal, it is exact. */
typedef struct {
    uint32_t sequence;
    tt_ref node, next, device; /* device: a text; 0: resident memory */
    uint32_t samples;
    uint32_t memory; /* private: its index among the memories of the process */
    int64_t change;
    uint64_t peak, peak_bound;
    uint64_t growth, growth_bound; /* of one call: its peak less the use when it began */
} tt_footprint;

typedef struct {
    tt_ref node;
    uint32_t reserved;
    uint64_t sum;
} tt_worst_row;

typedef struct {
    uint64_t duration, tick, start;
    uint64_t gc_ticks;
    uint32_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
    uint32_t causes_known, row_count;
    tt_worst_row rows[TT_WORST_ROWS];
    uint64_t reserved;
} tt_worst_tick;

typedef struct { /* system events in ticks, over the ticks for which all of them are known */
    uint64_t ticks, gc_ticks, voluntary_switches, involuntary_switches, minor_faults, major_faults;
} tt_causes;

typedef struct { /* time of nodes in missed ticks; a node's ref leads to its row, in this table or a later one */
    tt_ref next;
    uint32_t reserved[3];
    tt_worst_row rows[TT_MISSED_ROWS];
} tt_missed_rows;

enum tt_sums_flag {
    TT_SUMS_DECLARED = 1, /* the program declared how long the warm-up lasts */
    TT_SUMS_WARM = 2,    /* the declared ticks are over */
    TT_SUMS_DUE = 4      /* all ticks so far are warm-up: set aside once the next begins */
};

/* Sums over the steady ticks of a loop, in addition to its record and written under its sequence. `ticks` and `missed`
 * count the ticks summed: if they differ from the loop's, the sums do not cover all of its ticks. */
typedef struct {
    uint32_t flags;
    tt_ref missed_rows; /* the first table */
    uint64_t ticks, waited;
    uint64_t missed, missed_sum; /* missed_sum: the durations of missed ticks */
    tt_causes causes, missed_causes;
    tt_ref late_octaves[TT_OCTAVES], jitter_octaves[TT_OCTAVES]; /* histograms of lateness, of jitter */
    uint64_t bins[TT_BINS], bins_waited[TT_BINS];                /* of the loop's first TT_WARMUP_MAX ticks */
    uint64_t reserved[7];
} tt_loop_sums;

typedef struct {
    uint32_t sequence;
    tt_ref node, next;
    tt_ref sums;
    double hz;       /* 0: none */
    double other_hz; /* a second target rate: then there is no budget */
    uint64_t budget_ticks;
    uint64_t ticks, incomplete, busy; /* the whole run */
    uint64_t warmup_ticks, warmup_target;
    /* the steady phase */
    uint64_t missed, miss_run, longest_miss_run;
    uint64_t late_sum, late_maximum;
    uint64_t jitter_count, jitter_sum;
    uint64_t previous_plus_one; /* the previous tick's duration plus one; 0: there is no previous tick */
    uint64_t first_wall_ns;
    uint64_t first_count;
    uint64_t first[TT_FIRST_TICKS];
    /* the counts at the last boundary, to count what happened since */
    uint64_t boundary_gc_ticks;
    uint32_t boundary_known, boundary_voluntary, boundary_involuntary, boundary_minor, boundary_major;
    uint32_t worst_count;
    tt_worst_tick worst[TT_WORST_TICKS];
} tt_loop;

typedef struct {
    int16_t octave; /* of the value's magnitude */
    int16_t sign;
    tt_ref counts;
} tt_gauge_octave;

typedef struct { /* all zero without readings */
    uint64_t count;
    double minimum, maximum;
} tt_gauge_window;

typedef struct {
    uint32_t sequence;
    tt_ref name, next;
    uint32_t octave_count;
    double last, minimum, maximum;
    uint64_t last_wall_ns;
    uint64_t count, zeros;
    uint64_t window_shift; /* as in a node */
    tt_gauge_octave octaves[TT_GAUGE_OCTAVES];
    tt_gauge_window windows[TT_WINDOWS];
} tt_gauge;

typedef struct { /* one octave of a histogram: the smallest unit that is allocated */
    uint64_t counts[TT_SUB_BUCKETS];
} tt_octave;

_Static_assert(sizeof(tt_header) <= 1024, "the header fits its 1,024 bytes");
_Static_assert(offsetof(tt_node, tick_epoch) == 64, "every call writes one cache line");
_Static_assert(offsetof(tt_node, memory_samples) == 128, "most calls write two cache lines");
_Static_assert(sizeof(tt_node) == 27 * TT_LINE, "a node is 27 lines");
_Static_assert(sizeof(tt_frame) == 3 * TT_LINE, "a frame is three lines");
_Static_assert(sizeof(tt_event) == 24, "an event is 24 bytes");
_Static_assert(sizeof(tt_ring) == TT_LINE && sizeof(tt_lane) == TT_LINE, "a ring's head and a lane are one line");
_Static_assert(sizeof(tt_tree) == 128, "a tree is two lines");
_Static_assert(sizeof(tt_edge) == TT_LINE, "an edge is one line");
_Static_assert(sizeof(tt_footprint) == TT_LINE, "a footprint is one line");
_Static_assert(sizeof(tt_share) == 32 && sizeof(tt_path) == 49 * TT_LINE, "a path is 49 lines");
_Static_assert(sizeof(tt_worst_tick) == 544, "a worst tick is 544 bytes");
_Static_assert(sizeof(tt_missed_rows) == 16 * TT_LINE, "a table of missed rows is 16 lines");
_Static_assert(sizeof(tt_loop_sums) == 25 * TT_LINE, "a loop's sums are 25 lines");
_Static_assert(sizeof(tt_octave) == 256, "an octave is four lines");

#define TT_HEADER_BYTES 1024u

#endif
