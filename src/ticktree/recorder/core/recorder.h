/* What a recorder keeps in its process, beside the memory file it writes: no reader ever sees these. */
#ifndef TICKTREE_RECORDER_H
#define TICKTREE_RECORDER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>

#include "arena.h"
#include "clock.h"
#include "layout.h"

#define TT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define TT_FRAME_CAP 65536u
#define TT_NAME_CAP 4096u

typedef struct tt_recorder tt_recorder;
typedef struct tt_thread tt_thread;

/* A named stretch of code. Its Python object lives as long as its recorder's process. */
typedef struct tt_section {
    tt_recorder *recorder;
    tt_ref cached_parent, cached_node; /* the last place it was entered at: most are always entered there */
    uint32_t name_id;
    uint32_t node_flags;
    uint32_t frame_flags;
    uint32_t is_unnoted; /* the call site of `cached_node` is not known yet; so that a call of @timed asks its section alone */
    PyObject *object, *name; /* borrowed: the Python section, and the string it was first asked for by */
    struct tt_section *next, **link; /* all sections of the recorder; `link` points here */
} tt_section;

/* A path at one moment: what is handed over with a signal, and to a thread or process that is started. */
typedef struct {
    uint64_t at_ns; /* since the run began: what the shares add up to */
    uint32_t count; /* 0: nothing is known of how the time until then was spent */
    tt_share shares[TT_SHARES];
} tt_snapshot;

/* What one node has grown since a path was last brought up to date. */
typedef struct {
    tt_ref node;
    uint64_t ticks;
} tt_growth;

typedef struct tt_channels tt_channels;

/* Where a task was created: what its first section hangs under. */
typedef struct {
    tt_thread *thread;
    tt_frame *frame;
    uint64_t serial;
    tt_ref node;
    void *context; /* the task's own, once it has entered a section; copies of it inherit this record */
    uint32_t generation;
    uint64_t made; /* when */
    tt_snapshot *path; /* of the thread that captured it, where asked for; freed with the origin */
} tt_origin;

/* The open sections of one context, newest first (`below`). */
typedef struct tt_stack {
    tt_thread *thread;
    PyObject *context; /* strong while frames are open: a context's address is reused as soon as it is gone */
    tt_frame *top;
    tt_origin *origin;
    tt_frame *parent; /* what the lowest frame hangs under, if it is still the call `parent_serial` */
    uint64_t parent_serial;
    tt_ref home;        /* the node the lowest frame hangs under */
    tt_frame *afar;     /* of another thread: the call that this one's work is for, if it is still the call `afar_serial` */
    uint64_t afar_serial;
    uint32_t suspended; /* open frames that were entered in generators: any of them may sleep */
    tt_ref lane;        /* in the timeline; 0 where none is recorded */
    uint32_t number;    /* among the stacks of its thread; 0: the thread's own */
    uint64_t too_deep;  /* calls past the frame cap: LIFO, by count */
    struct tt_stack *next;
} tt_stack;

/* A tree in the file and the thread that may write it now. */
typedef struct tt_tree_slot {
    tt_ref tree, root, spawn, role;
    tt_thread *owner;
    struct tt_tree_slot *next;
} tt_tree_slot;

struct tt_thread {
    tt_recorder *recorder; /* NULL once the recorder is gone */
    tt_tree_slot *slot;
    tt_stack base;      /* of the thread's own context, kept open for good */
    PyObject *own_context; /* in which the threading module runs all of it, from Python 3.14 on: of `base`, too */
    tt_stack *stacks;   /* of other contexts with open frames */
    tt_stack *spare;
    tt_stack *last;     /* the stack used last */
    uint32_t stacks_numbered;
    uint32_t stacks_made, sweep_at; /* when to look for stacks whose contexts are gone */
    tt_path *path;      /* its critical path; NULL until first needed */
    uint64_t unblocked_ns, unblocked_serial; /* when it was last unblocked, and in which call */
    uint32_t hushed;    /* inside a wait that is recorded as a whole: what it waits for within is no wait of its own */
    pthread_t self;
    enum tt_clock_kind clock; /* of the recorder, which may be gone when the thread ends */
    int gone;                 /* TT_THREAD_ENDED, TT_RECORDER_GONE: who sets the second of them frees the record */
    uint64_t died;            /* set by the thread's destructor, which runs without the GIL; 0: not known */
    struct tt_thread *next;      /* of the same recorder */
    struct tt_thread *next_here; /* of the same thread */
};

enum { TT_THREAD_ENDED = 1, TT_RECORDER_GONE = 2 };

/* The sections that were open where a process was forked: the child leaves them too. */
typedef struct {
    uint64_t *sections; /* as frames hold them */
    uint32_t room;
    uint32_t noted;     /* at the last fork: what its child inherits */
    uint32_t inherited; /* by this process, and not left yet */
} tt_open_at_fork;

typedef struct {
    char *bytes;
    uint32_t length;
    tt_ref ref; /* in the file; 0 until a node needs it */
} tt_name;

/* Sections by the address of their name: literals are the same object each time. A power of two. */
#define TT_QUICK_NAMES 128u

typedef struct {
    PyObject *name, *section;
} tt_quick_name;

struct tt_recorder {
    int recording;
    uint32_t users; /* the Python recorder and its sections: a section may be held for longer, and then does nothing */
    int forked; /* the process is a child that has no file of its own yet: it gets one when it first records */
    tt_ref fork_node; /* open where it was forked, in the parent's file */
    int fork_noted;   /* in the parent: `fork_node` is for the fork that `fork_thread` is about to make */
    pthread_t fork_thread;
    tt_ref role_of_new; /* of a thread that begins to record now; 0: it says none */
    int memory_full; /* a record was asked for that there was no room for */
    uint32_t name_cap, frame_cap, depth_cap;
    uint32_t pid;        /* of this process: asking for it costs a system call */
    uint32_t generation; /* of the memory: what was kept from an earlier one must not be followed */
    enum tt_clock_kind clock;
    uint64_t virtual_now;
    uint64_t serial;
    uint64_t scale; /* nanoseconds a tick, by 2^32 */
    tt_arena arena;
    tt_header *header;
    uint64_t window_end; /* ticks at which the current window ends */
    uint32_t window_index, window_shift;
    tt_frame *free_frames;
    tt_frame *root_frame;
    uint32_t frame_count;
    uint64_t *node_keys; /* open addressing: parent << 32 | name_id -> node */
    tt_ref *node_refs;
    uint32_t node_slots;
    tt_name *names;
    uint32_t name_count, name_room;
    tt_section *sections;
    tt_thread *threads;
    tt_tree_slot *slots;
    tt_channels *shared, *own; /* where signals are left: for all processes of the run, for this one's threads */
    tt_growth *growths;        /* scratch */
    uint32_t growth_room;
    tt_ref *edge_refs;         /* open addressing, by what an edge is of */
    tt_ref *footprint_refs;    /* open addressing, by node and memory */
    tt_ring *ring;             /* of the timeline; NULL where none is recorded */
    uint64_t event_at;         /* where in it the next event goes */
    uint64_t events_asked;     /* how many of them a file should hold */
    uint32_t always;           /* frame flags of all sections that work: what is sampled of each */
    tt_open_at_fork open_at_fork;
    tt_snapshot *forked_from;  /* the path of the thread that forked last, taken as it did */
    tt_quick_name quick_names[TT_QUICK_NAMES];
    PyObject *by_name;    /* dict: name -> section object; keeps both alive */
    PyObject *origin_var; /* ContextVar: where this task was created */
    PyObject *watch_var;  /* ContextVar: the watch of the request that is being served; NULL: there never was one */
    PyObject *owner;      /* borrowed: the Python recorder; NULL once that is gone */
    struct tt_recorder *next;
};

/* The stack used last, by whichever thread: threads take turns far less often than sections are entered, and a
 * variable of the thread's own would cost a call to find. Good while thread state and context are the same
 * objects, which they are as long as the stack holds its context. */
typedef struct {
    tt_recorder *recorder;
    PyThreadState *state;
    PyObject *context;
    tt_stack *stack;
} tt_here;

static tt_here tt_cached;
static __thread tt_thread *tt_threads_here;

static inline void tt_cache_clear(void) { tt_cached = (tt_here){NULL, NULL, NULL, NULL}; }

static inline uint64_t tt_now(const tt_recorder *recorder)
{
    if (TT_UNLIKELY(recorder->clock == TT_CLOCK_VIRTUAL)) return recorder->virtual_now;
    return tt_clock_ticks(recorder->clock);
}

static inline void *tt_at(const tt_recorder *recorder, tt_ref ref)
{
    return recorder->arena.base + (uint64_t)ref * TT_LINE;
}

static inline tt_ref tt_ref_of(const tt_recorder *recorder, const void *record)
{
    return (tt_ref)(((const uint8_t *)record - recorder->arena.base) / TT_LINE);
}

static inline tt_node *tt_node_at(const tt_recorder *recorder, tt_ref ref)
{
    return (tt_node *)tt_at(recorder, ref);
}

static inline void tt_lose(tt_recorder *recorder, enum tt_loss loss)
{
    if (recorder->header) recorder->header->losses[loss]++; /* no memory yet: nothing is recorded at all */
}

static inline uint64_t tt_ticks_to_ns(const tt_recorder *recorder, uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * recorder->scale) >> 32);
}

static inline uint64_t tt_ns_to_ticks(const tt_recorder *recorder, uint64_t ns)
{
    return (uint64_t)(((unsigned __int128)ns << 32) / recorder->scale);
}

/* Readers in other processes retry while the number is odd, and where it changed under them. */
static inline void tt_write_begin(uint32_t *sequence)
{
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void tt_write_end(uint32_t *sequence)
{
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

#endif
