/* The recorder's interface to the rest of the native module and the optional parts: its state in this process, the
 * table of functions that its host provides, and its own functions. The hot path is in hot.h, the file's bytes in
 * layout.h.
 *
 * The core is C. It uses of Python only what pyframe.h offers; a program without Python replaces that header.
 */
#ifndef TICKTREE_CORE_H
#define TICKTREE_CORE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* for RUSAGE_THREAD */
#endif
#ifndef TICKTREE_PYFRAME
#define TICKTREE_PYFRAME "pyframe.h"
#endif
#include TICKTREE_PYFRAME /* Python.h must come first */

#include <pthread.h>
#include <string.h>

#include "clock.h"
#include "layout.h"

#pragma GCC visibility push(hidden) /* so that calls within the module do not use a table */

#define TT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TT_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* For rare work on the hot path: there it is one call instruction. */
#define TT_NOINLINE __attribute__((noinline))

#define TT_FRAME_CAP 65536u
#define TT_NAME_CAP 4096u
#define TT_NAMELESS UINT32_MAX /* the name_id of sections past the cap of names: they have no nodes */
#define TT_EVENTS_MAX 2000000u /* 46 MiB of a file's 64 MiB of addresses */
#define TT_WARMUP_FOUND UINT64_MAX /* instead of a number of ticks: detect the warm-up */

typedef struct tt_recorder tt_recorder;
typedef struct tt_thread tt_thread;

typedef struct {
    uint8_t *base;
    uint64_t backed;       /* bytes that may be written */
    uint64_t file_limit;   /* bytes of tmpfs that this file may claim */
    int fd;                /* -1: private */
    uint32_t retries_to_skip; /* after the system refused room */
} tt_arena;

/* A hash table: open addressing, at most half full, a power of two. `tt_map_next` returns all entries of one key, so a
 * key may be the hash of something that the caller compares. */
typedef struct {
    uint64_t key, value; /* value 0: free */
} tt_entry;

typedef struct {
    tt_entry *entries;
    uint32_t count, room;
} tt_map;

/* A named piece of code. Its Python object lives as long as its recorder's process. */
typedef struct tt_section {
    tt_recorder *recorder;
    tt_ref cached_parent, cached_node; /* where it was entered last: most sections have one parent */
    uint32_t name_id;
    uint32_t node_flags;
    uint32_t frame_flags;
    uint32_t needs_site; /* whether `cached_node` lacks its call site: a call of @timed then reads its section only */
    PyObject *object, *name; /* borrowed: the Python section, and the string that first named it */
    struct tt_section *next, **link; /* all sections of the recorder; `link` points here */
} tt_section;

/* A path at one moment, as a signal carries it, and as a new thread or process receives it. */
typedef struct {
    uint64_t at_ns; /* since the run began: the sum of the shares */
    uint32_t count; /* 0: how the time until then was spent is unknown */
    tt_share shares[TT_SHARES];
} tt_snapshot;

typedef struct tt_channels tt_channels; /* critical_path/ */
typedef struct tt_growth tt_growth;
typedef struct tt_watch tt_watch; /* remote_parent/ */
typedef struct tt_sample tt_sample; /* memory_sampling/ */
typedef struct tt_experiment tt_experiment; /* experiments/ */

/* The parent of a task's first section: the call that created the task. */
typedef struct {
    tt_thread *thread;
    tt_frame *frame;
    uint64_t serial;
    tt_ref node;
    void *context; /* the task's own, once it has entered a section; copies of it inherit this record */
    uint32_t generation;
    uint64_t captured_at;
    tt_snapshot *path; /* of the thread that captured it, if requested; freed with the origin */
} tt_origin;

/* The parent of the lowest frame of a stack. */
typedef struct {
    tt_ref home;      /* the node */
    tt_frame *frame;  /* an open call of that node, which the frame covers while it is the call `serial`; or NULL */
    uint64_t serial;
    tt_frame *submitter; /* the call of another thread that this work is for, while it is the call `submitter_serial` */
    uint64_t submitter_serial;
} tt_parent;

/* The open sections of one context, newest first (`below`). */
typedef struct tt_stack {
    tt_thread *thread;
    PyObject *context; /* strong while frames are open: a freed context's address is reused at once */
    tt_frame *top;
    tt_origin *origin;
    tt_parent parent;
    uint32_t suspended; /* open frames entered in generators: any of them may sleep */
    tt_ref lane;        /* in the timeline; 0 without one */
    uint32_t number;    /* among the stacks of its thread; 0: the thread's own */
    uint64_t too_deep;  /* calls past the frame cap: LIFO, by count */
    struct tt_stack *next;
} tt_stack;

/* A tree in the file and the thread that may write it now. */
typedef struct tt_tree_slot {
    tt_ref tree, root, spawn, role;
    tt_thread *owner, *last_owner; /* last_owner: NULL once it has ended */
    struct tt_tree_slot *next;
} tt_tree_slot;

struct tt_thread {
    tt_recorder *recorder; /* NULL once the recorder is gone */
    tt_tree_slot *slot;
    tt_stack base;      /* of the thread's own context, never released */
    PyObject *own_context; /* in which the threading module runs the thread, from Python 3.14 on; also of `base` */
    tt_stack *stacks;   /* of other contexts with open frames */
    tt_stack *spare;
    tt_stack *last;     /* the stack used last */
    uint32_t stacks_numbered;
    uint32_t stacks_since_sweep, sweep_at; /* when to search for stacks whose contexts are gone */
    tt_path *path;      /* its critical path; NULL until first needed */
    uint64_t unblocked_ns, unblocked_serial; /* when it was last unblocked, and in which call */
    uint32_t wait_depth; /* recorded waits that the thread is in; waits within them have no row */
    pthread_t self;
    enum tt_clock_kind clock; /* the recorder's, which may be freed before the thread ends */
    int gone;                 /* TT_THREAD_ENDED, TT_RECORDER_GONE: setting the second of them frees the record */
    uint64_t ended_at;        /* set by the thread's destructor, which runs without the GIL; 0: unknown */
    struct tt_thread *next;   /* of the same recorder */
    struct tt_thread *next_record; /* of the same thread */
};

enum { TT_THREAD_ENDED = 1, TT_RECORDER_GONE = 2 };

/* The sections that were open when a process was forked: the child leaves them too. */
typedef struct {
    uint64_t *sections; /* as frames store them */
    uint32_t room;
    uint32_t noted;     /* at the last fork; its child inherits them */
    uint32_t inherited; /* by this process, and not left yet */
} tt_open_at_fork;

typedef struct {
    char *bytes;
    uint32_t length;
    tt_ref ref; /* in the file; 0 until a node needs it */
} tt_name;

/* Sections by the address of their name: a literal is always the same object. A power of two. */
#define TT_QUICK_NAMES 128u

typedef struct {
    PyObject *name, *section;
} tt_quick_name;

struct tt_recorder {
    int recording;
    uint32_t users; /* the Python recorder and its sections; a section that outlives the recorder does nothing */
    int forked; /* whether the process is a child without a file yet: it gets one when it first records */
    tt_ref fork_node; /* the node that was open at the fork, in the parent's file */
    int is_fork_noted; /* in the parent: `fork_node` is for the fork that `fork_thread` is about to make */
    pthread_t fork_thread;
    tt_ref new_role; /* of a thread that begins to record now; 0: none */
    int memory_full; /* whether a record found no room */
    uint32_t name_cap, frame_cap, depth_cap;
    uint32_t pid;        /* of this process: reading it costs a system call */
    uint32_t generation; /* of the memory: pointers and refs from an earlier one are invalid */
    enum tt_clock_kind clock;
    uint64_t virtual_now;
    uint64_t serial;
    uint64_t scale; /* nanoseconds per tick, by 2^32 */
    tt_arena arena;
    tt_header *header;
    uint64_t window_end; /* ticks at which the current window ends */
    uint32_t window_index, window_shift;
    tt_frame *free_frames;
    tt_frame *root_frame;
    uint32_t frame_count;
    tt_map nodes;              /* parent << 32 | name_id -> node */
    tt_name *names;
    uint32_t name_count, name_room;
    tt_section *sections;
    tt_thread *threads;
    tt_tree_slot *slots;
    tt_channels *shared, *own; /* the tables of signals: for all processes of the run, for this one's threads */
    tt_growth *growths;        /* scratch */
    uint32_t growth_room;
    tt_map edges;              /* hash of an edge's identity -> edge */
    tt_map footprints;         /* memory << 32 | node -> footprint */
    tt_ring *ring;             /* of the timeline; NULL without one */
    uint64_t event_index;      /* of the next event in the ring */
    uint64_t event_capacity;   /* how many events a file should hold */
    uint32_t default_flags;    /* frame flags of all sections that are no waits: what is sampled of them */
    tt_experiment *experiment; /* NULL in runs without experiments */
    tt_open_at_fork open_at_fork;
    tt_snapshot *fork_path;    /* the path of the thread that forked last, at the fork */
    tt_quick_name quick_names[TT_QUICK_NAMES];
    PyObject *by_name;    /* dict: name -> section object; keeps both alive */
    PyObject *origin_var; /* ContextVar: the origin of the running task */
    PyObject *watch_var;  /* ContextVar: the watch of the request being served; NULL: there never was one */
    PyObject *owner;      /* borrowed: the Python recorder; NULL once it is gone */
    struct tt_recorder *next;
};

/* What the host knows about the running thread. */
typedef struct {
    tt_ref spawn_node; /* the node that started the thread; 0: unknown */
    const tt_snapshot *path; /* of its starter at that moment; NULL: unknown */
    uint64_t native_id;
    char name[TT_THREAD_NAME + 1];
    PyObject *own_context; /* in which the threading module runs it, from Python 3.14 on; borrowed, or NULL */
} tt_thread_facts;

/* The position of the running code. */
typedef struct {
    tt_stack *stack;
    tt_pyframe *pyframe;
    uint64_t now; /* set where a section is entered or left */
} tt_here;

/* The tree and parent of a thread before it began to work for another thread. */
typedef struct {
    tt_thread *thread; /* NULL: nothing to restore */
    tt_tree_slot *slot;
    tt_parent parent;
    uint32_t generation;
} tt_saved_parent;

/* A call of @timed, which is left on the stack it was entered on without a search. */
typedef struct {
    tt_stack *stack;
    tt_frame *frame;
    uint64_t serial;
    uint32_t generation;
} tt_call;

/* Work that a program declares. */
typedef struct {
    uint64_t bytes, flops, items;
} tt_amounts;

enum tt_ending {
    TT_COMPLETE, /* counted */
    TT_OPEN,     /* its time is booked, but not as a completed call: cut short, or still open */
    TT_VOID      /* as TT_OPEN, of a tick that did not happen: its iterable was exhausted */
};

/* What the core needs from its user: the Cython side and the optional parts, which the core does not include. */
typedef struct {
    int (*rearm)(tt_recorder *); /* gives a forked child its own file; 0: failed */
    void (*describe_thread)(tt_recorder *, tt_thread_facts *);
    void (*note_site)(tt_recorder *, tt_node *, tt_section *); /* the call site, once per node; may run any code */
    tt_origin *(*origin_of)(PyObject *);
    /* sampled calls: memory_sampling/, experiments/ */
    int (*sample_prepare)(const tt_section *); /* may run any code; 0: recording has stopped */
    void (*sample_done)(const tt_section *); /* may run any code */
    int (*sample_enter)(tt_recorder *, tt_frame *, uint32_t flags); /* 1: it took time that is not the call's */
    const tt_sample *(*sample_leave)(const tt_frame *);
    void (*sample_book)(tt_recorder *, const tt_frame *, tt_node *, const tt_sample *, uint64_t duration);
    void (*experiment_leave)(tt_recorder *, const tt_frame *, uint64_t now, enum tt_ending ending);
    /* watched calls: remote_parent/ */
    void (*watch_close)(const tt_recorder *, tt_frame *, uint64_t duration, uint64_t concurrent);
    tt_frame *(*served_call)(tt_recorder *, PyObject *watch, const tt_thread *); /* of another thread, or NULL */
    /* the lifecycle of threads and recorders, for each optional part in turn */
    void (*thread_began)(tt_recorder *, tt_thread *, const tt_snapshot *);
    void (*thread_moves)(tt_recorder *, tt_thread *, const tt_tree_slot *to, const tt_snapshot *path);
    void (*before_fork)(tt_recorder *, tt_thread *); /* the thread that forks; NULL: it has no record */
    void (*after_fork)(void);
    void (*was_reset)(tt_recorder *);
    void (*ends)(tt_recorder *);
} tt_host;

extern const tt_host tt_host_functions;

/* The stack that any thread used last: threads alternate far less often than sections are entered, and a thread-local
 * variable would cost a call. Valid while thread state and context are the same objects, which they are as long as the
 * stack holds its context. */
typedef struct {
    tt_recorder *recorder;
    PyThreadState *state;
    PyObject *context;
    tt_stack *stack;
} tt_stack_cache;

extern tt_stack_cache tt_cache;
extern __thread tt_thread *tt_thread_records;
extern tt_recorder *tt_recorders; /* all recorders of this process */

static inline void tt_cache_clear(void) { tt_cache = (tt_stack_cache){NULL, NULL, NULL, NULL}; }

static inline uint64_t tt_now(const tt_recorder *recorder)
{
    if (TT_UNLIKELY(recorder->clock == TT_CLOCK_VIRTUAL)) return recorder->virtual_now;
    return tt_clock_ticks(recorder->clock);
}

/* The time of a clock in ns; the virtual one stands for all of them. */
static inline uint64_t tt_now_ns(const tt_recorder *recorder, clockid_t id)
{
    return recorder->clock == TT_CLOCK_VIRTUAL ? recorder->virtual_now : tt_clock_ns(id);
}

static inline void *tt_at(const tt_recorder *recorder, tt_ref ref)
{
    return recorder->arena.base + (uint64_t)ref * TT_LINE;
}

static inline void *tt_at_or_null(const tt_recorder *recorder, tt_ref ref) { return ref ? tt_at(recorder, ref) : NULL; }

static inline tt_ref tt_ref_of(const tt_recorder *recorder, const void *record)
{
    return (tt_ref)(((const uint8_t *)record - recorder->arena.base) / TT_LINE);
}

static inline tt_node *tt_node_at(const tt_recorder *recorder, tt_ref ref)
{
    return (tt_node *)tt_at(recorder, ref);
}

static inline void tt_stats_clear(tt_stats *stats) { *stats = (tt_stats){0, 0, UINT64_MAX, 0}; }

static inline void tt_lose(tt_recorder *recorder, enum tt_loss loss)
{
    if (recorder->header) recorder->header->losses[loss]++; /* without memory yet, nothing is recorded at all */
}

static inline uint64_t tt_ticks_to_ns(const tt_recorder *recorder, uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * recorder->scale) >> 32);
}

static inline uint64_t tt_ns_to_ticks(const tt_recorder *recorder, uint64_t ns)
{
    return (uint64_t)(((unsigned __int128)ns << 32) / recorder->scale);
}

/* Readers in other processes retry while the number is odd, and if it changed during their copy. */
static inline void tt_write_begin(uint32_t *sequence)
{
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void tt_write_end(uint32_t *sequence)
{
    __atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

/* Links a finished record: a reader that follows the chain finds it complete or not at all. */
static inline void tt_link(tt_recorder *recorder, tt_ref *newest, const void *record)
{
    __atomic_store_n(newest, tt_ref_of(recorder, record), __ATOMIC_RELEASE);
}

/* Links a finished record as the newest of its chain. */
#define TT_PREPEND(recorder, newest, record) ((record)->next = *(newest), tt_link(recorder, newest, record))

/* -- memory.c --------------------------------------------------------------------------------------------------- */

#define TT_HASH_BEGIN 0xCBF29CE484222325ULL
uint64_t tt_hash(uint64_t hash, const void *bytes, size_t length);
uint64_t tt_hash_end(uint64_t hash); /* never 0 */
uint64_t tt_map_next(const tt_map *map, uint64_t key, uint32_t *step); /* `*step` 0 at first; returns 0 after the last */
uint64_t tt_map_get(const tt_map *map, uint64_t key);
int tt_map_reserve(tt_map *map);                                    /* room for one more; 0: no memory */
void tt_map_add(tt_map *map, uint64_t key, uint64_t value);         /* after a successful reserve */
void tt_map_clear(tt_map *map);
void tt_map_free(tt_map *map);
void *tt_grown(void *items, uint32_t count, uint32_t *room, uint32_t min_room, size_t bytes); /* room for one more; or NULL */
int tt_reserve_blocks(int fd, uint64_t offset, uint64_t bytes);
void *tt_map_file(int fd, size_t bytes); /* shared; without a file (fd -1), private memory; or NULL */
void *tt_join_file(const char *path, size_t bytes, uint64_t magic, uint64_t format);
int tt_arena_open(tt_arena *arena, const char *path, uint64_t file_limit);
void tt_arena_close(tt_arena *arena);
void *tt_allocate(tt_recorder *recorder, uint64_t bytes);
uint64_t *tt_missed_sum(tt_recorder *recorder, tt_ref *table_ref, tt_ref node);
tt_ref tt_store_text(tt_recorder *recorder, const char *bytes, uint32_t length);
tt_ref tt_name_ref(tt_recorder *recorder, uint32_t name_id);
int64_t tt_name_intern(tt_recorder *recorder, const char *bytes, uint32_t length);
tt_frame *tt_frame_make(tt_recorder *recorder);
tt_ref tt_lane_of(tt_recorder *recorder, uint64_t thread_id, const char *thread_name, uint32_t number);
tt_ref tt_lane_of_stack(tt_recorder *recorder, const tt_thread *thread, tt_ref last_lane, uint32_t number);
void tt_timeline_begin(tt_recorder *recorder);
void tt_event_put(tt_recorder *recorder, tt_ref lane, tt_ref node, uint64_t start, uint64_t end);

/* -- core.c: the cold side of hot.h ------------------------------------------------------------------------------ */

tt_node *tt_node_new(tt_recorder *recorder, tt_ref name);
void tt_node_link(tt_recorder *recorder, tt_node *node);
tt_ref tt_node_get(const tt_section *section, tt_ref parent);
tt_ref tt_node_find_slowly(tt_section *section, tt_ref parent);
void tt_lose_call(tt_recorder *recorder, const tt_section *section);
void tt_windows_coarsen(tt_node *node, uint32_t shift);
void tt_anchor_renew(tt_recorder *recorder);
void tt_window_advance(tt_recorder *recorder, uint64_t now);
void tt_wait_begin(tt_recorder *recorder, tt_frame *frame);
void tt_close(tt_recorder *recorder, tt_frame *frame, uint64_t now, enum tt_ending ending);
void tt_pop(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, uint64_t now, enum tt_ending ending);
int tt_chain_depth(uint64_t python_frame, tt_pyframe *pyframe);
int tt_asleep(const tt_frame *frame, tt_pyframe *now);
tt_frame *tt_frame_awake(const tt_recorder *recorder, const tt_stack *stack, tt_pyframe *now);
void tt_lose_frame(tt_recorder *recorder, const tt_section *section, const tt_stack *stack, tt_frame *frame,
                   const tt_frame *parent);
void tt_open_submitted(const tt_stack *stack, tt_frame *frame);
void tt_count_too_deep(tt_stack *stack);
void tt_call_site(tt_section *section, const tt_frame *frame);
void tt_unwind_to(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, tt_pyframe *pyframe, uint64_t now,
                  enum tt_ending ending);
void tt_end(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, tt_pyframe *pyframe, uint64_t now,
            enum tt_ending ending);
tt_frame *tt_frame_of(const tt_recorder *recorder, const tt_stack *stack, const tt_section *section,
                      tt_pyframe *pyframe);
void tt_leave_slowly(tt_section *section, const tt_here *here, uint32_t raised);
void tt_call_end_slowly(tt_section *section, uint32_t raised);

/* -- threads.c --------------------------------------------------------------------------------------------------- */

int tt_register_thread_key(void);
void tt_threads_reap(tt_recorder *recorder);
void tt_thread_free_stacks(tt_thread *thread);
tt_tree_slot *tt_tree_make(tt_recorder *recorder, tt_ref spawn);
tt_tree_slot *tt_tree_find_unclaimed(tt_recorder *recorder, const tt_thread *thread, tt_ref spawn, tt_ref role);
tt_tree_slot *tt_tree_claim(tt_recorder *recorder, tt_thread *thread, tt_ref spawn, tt_ref role,
                            const tt_thread_facts *facts);
tt_tree_slot *tt_tree_claim_here(tt_recorder *recorder, tt_thread *thread, tt_ref spawn);
void tt_tree_release(tt_recorder *recorder, tt_tree_slot *slot);
tt_thread *tt_thread_here(tt_recorder *recorder);
tt_thread *tt_thread_known(const tt_recorder *recorder);
tt_stack *tt_stack_search(tt_recorder *recorder, PyThreadState *state);
tt_stack *tt_stack_of_frame(tt_thread *thread, const tt_frame *target);
void tt_stack_release(tt_stack *stack);

/* -- ticks.c, loops.c --------------------------------------------------------------------------------------------- */

tt_loop *tt_loop_of(tt_recorder *recorder, tt_ref node_ref);
void tt_octaves_clear(tt_recorder *recorder, const tt_ref *octaves);
void tt_loop_ask(tt_recorder *recorder, tt_loop *loop, double hz, uint64_t warmup);
void tt_loop_look(tt_recorder *recorder, tt_loop *loop);
void tt_loop_reset(tt_recorder *recorder, tt_loop *loop);
void tt_warmup_end_if_due(tt_recorder *recorder, tt_loop *loop);
void tt_tick_end(tt_recorder *recorder, tt_frame *tick, tt_node *node, uint64_t duration, enum tt_ending ending);
void tt_tick(tt_section *section, double hz, uint64_t warmup);
void tt_loop_end_tick(tt_section *section, tt_frame *tick, uint64_t serial, enum tt_ending ending);
void tt_loop_end_stages(tt_section *section, tt_frame *tick, uint64_t serial);
tt_frame *tt_loop_boundary(tt_section *section, tt_frame *tick, uint64_t *serial, double hz, uint64_t warmup);
void tt_loop_has_item(tt_section *section, const tt_frame *tick, uint64_t serial);
int tt_record_age(tt_section *age, uint64_t ns, tt_section *loop, tt_frame *loop_tick, uint64_t serial);

/* -- values.c ----------------------------------------------------------------------------------------------------- */

void tt_record(tt_section *section, uint64_t ns, const tt_amounts *amounts);
tt_ref tt_record_under(tt_stack *stack, tt_frame *parent, tt_section *section, uint64_t ns, const tt_amounts *amounts);
void tt_work(tt_section *section, const tt_amounts *amounts);
tt_gauge *tt_gauge_make(tt_recorder *recorder, uint32_t name_id);
void tt_gauge_set(tt_recorder *recorder, tt_gauge *gauge, double value);

/* -- origins.c ---------------------------------------------------------------------------------------------------- */

void tt_origin_capture(tt_recorder *recorder, tt_origin *origin);
void tt_note_fork(tt_recorder *recorder);
tt_saved_parent tt_thread_reparent(tt_recorder *recorder, tt_thread *thread, tt_tree_slot *slot, tt_parent parent,
                                 const tt_snapshot *given);
int tt_thread_restore(tt_recorder *recorder, const tt_saved_parent *before);
tt_saved_parent tt_submitted_begin(tt_recorder *recorder, const tt_origin *origin);
void tt_thread_role(tt_recorder *recorder, tt_thread *thread, tt_ref role);

/* -- lifecycle.c -------------------------------------------------------------------------------------------------- */

void tt_header_write(tt_recorder *recorder, uint64_t scale, uint64_t run_began_ns, uint32_t node_cap);
int tt_enable(tt_recorder *recorder);
void tt_disable(tt_recorder *recorder);
void tt_reset(tt_recorder *recorder);
void tt_before_fork(void);
void tt_after_fork(void);
tt_ref tt_node_open_here(tt_recorder *recorder);
void tt_leave_memory(tt_recorder *recorder);
void tt_section_link(tt_recorder *recorder, tt_section *section);
void tt_section_unlink(tt_section *section);
void tt_recorder_release(tt_recorder *recorder);
void tt_recorder_end(tt_recorder *recorder);

#pragma GCC visibility pop

#endif
