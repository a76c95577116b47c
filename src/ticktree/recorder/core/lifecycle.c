/* A recorder's lifecycle: enabled, disabled, reset, forked, freed. */
#include "hot.h"
#include "description.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

tt_recorder *tt_recorders;

/* Writes the header of an empty file into the arena: for a new recorder, and in a forked child. */
void tt_header_write(tt_recorder *recorder, uint64_t scale, uint64_t run_began_ns, uint32_t node_cap)
{
    tt_header *header = recorder->header = (tt_header *)recorder->arena.base;
    header->format = TT_FORMAT;
    header->layout = tt_layout_sum();
    header->header_bytes = TT_HEADER_BYTES;
    header->clock_kind = recorder->clock;
    header->flags = recorder->arena.fd < 0 ? TT_HEADER_PRIVATE : 0;
    header->node_cap = node_cap;
    header->used_bytes = TT_HEADER_BYTES;
    header->backed_bytes = recorder->arena.backed;
    header->ns_per_tick = recorder->scale = scale;
    if (recorder->clock != TT_CLOCK_VIRTUAL) header->first = tt_anchor_read(recorder->clock);
    header->last = header->first;
    header->run_began_ns = run_began_ns ? run_began_ns : header->first.monotonic_ns;
    if (header->run_began_ns > header->first.monotonic_ns) header->run_began_ns = header->first.monotonic_ns;
    recorder->pid = (uint32_t)getpid();
    recorder->window_shift = recorder->window_index = 0;
    recorder->window_end = 0;
    recorder->ring = NULL;
    tt_timeline_begin(recorder);
    __atomic_store_n(&header->magic, TT_MAGIC, __ATOMIC_RELEASE); /* last: only then is it a memory file */
}

/* The tree of threads with an unknown starter: its root is the run's root, whichever thread enables the recorder. */
static tt_tree_slot *tt_run_tree(tt_recorder *recorder)
{
    tt_tree_slot *slot = recorder->slots;
    while (slot && slot->spawn) slot = slot->next;
    return slot ? slot : tt_tree_make(recorder, 0);
}

/* Opens the root's frame on this thread: the run's self time starts. */
int tt_enable(tt_recorder *recorder)
{
    if (recorder->recording) return 1;
    tt_thread *thread = tt_thread_here(recorder);
    tt_tree_slot *slot = thread ? tt_run_tree(recorder) : NULL;
    tt_frame *frame = slot ? tt_frame_take(recorder) : NULL;
    if (!frame) return 0;
    tt_ref next = frame->next;
    *frame = (tt_frame){.node = slot->root, .next = next};
    tt_open(recorder, frame, NULL, tt_now(recorder));
    recorder->root_frame = frame;
    thread->base.parent.frame = frame;
    thread->base.parent.serial = frame->serial;
    recorder->header->times_enabled++;
    recorder->header->flags |= TT_HEADER_RECORDING;
    recorder->recording = 1;
    return 1;
}

static int tt_compare_newest_first(const void *left, const void *right)
{
    uint64_t a = (*(tt_frame *const *)left)->serial, b = (*(tt_frame *const *)right)->serial;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* All open frames, children before parents; returns how many, and the array in `*frames` (to be freed). */
static uint32_t tt_open_frames(tt_recorder *recorder, tt_frame ***frames)
{
    uint32_t count = 0;
    *frames = malloc((recorder->frame_count + 1) * sizeof **frames);
    if (!*frames) return 0;
    tt_frame *frame = tt_at_or_null(recorder, recorder->header->frames);
    for (; frame; frame = tt_at_or_null(recorder, frame->next))
        if (frame->serial) (*frames)[count++] = frame;
    qsort(*frames, count, sizeof **frames, tt_compare_newest_first);
    return count;
}

/* Removes all frames from all stacks; contexts are dropped last, because that may run any code. */
static void tt_stacks_empty(tt_recorder *recorder)
{
    tt_cache_clear();
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next) {
        thread->base.top = NULL;
        thread->base.parent.frame = NULL;
        thread->base.suspended = 0;
        thread->base.too_deep = 0;
        thread->last = &thread->base;
        while (thread->stacks) {
            tt_stack *stack = thread->stacks;
            stack->top = NULL;
            tt_stack_release(stack);
        }
    }
}

void tt_disable(tt_recorder *recorder)
{
    tt_threads_reap(recorder);
    if (!recorder->recording) return;
    uint64_t now = tt_now(recorder);
    tt_frame **frames;
    uint32_t count = tt_open_frames(recorder, &frames);
    for (uint32_t i = 0; i < count; i++) tt_close(recorder, frames[i], now, TT_OPEN);
    free(frames);
    recorder->recording = 0;
    recorder->root_frame = NULL;
    recorder->header->flags &= ~(uint32_t)TT_HEADER_RECORDING;
    tt_anchor_renew(recorder);
    tt_stacks_empty(recorder);
}

static void tt_node_reset(tt_recorder *recorder, tt_node *node)
{
    tt_write_begin(&node->sequence);
    node->own = node->concurrent = 0;
    tt_stats_clear(&node->stats);
    tt_stats_clear(&node->warmup);
    node->tick_epoch = node->tick_sum = 0;
    node->cpu_samples = node->memory_samples = 0;
    const size_t sums = offsetof(tt_node, cpu_ns);
    memset((char *)node + sums, 0, offsetof(tt_node, warmup) - sums);
    node->flags &= ~(uint32_t)TT_NODE_PHASED;
    memset(node->windows, 0, sizeof node->windows);
    tt_octaves_clear(recorder, node->octaves);
    tt_octaves_clear(recorder, node->warmup_octaves);
    tt_write_end(&node->sequence);
}

static void tt_gauge_reset(tt_recorder *recorder, tt_gauge *gauge)
{
    tt_write_begin(&gauge->sequence);
    gauge->count = gauge->zeros = gauge->last_wall_ns = 0;
    gauge->last = 0;
    gauge->minimum = INFINITY;
    gauge->maximum = -INFINITY;
    memset(gauge->windows, 0, sizeof gauge->windows);
    for (uint32_t i = 0; i < gauge->octave_count; i++)
        memset(tt_at(recorder, gauge->octaves[i].counts), 0, sizeof(tt_octave));
    tt_write_end(&gauge->sequence);
}

/* Discards everything recorded so far; what is open starts again now. */
void tt_reset(tt_recorder *recorder)
{
    tt_threads_reap(recorder);
    uint64_t now = tt_now(recorder);
    tt_header *header = recorder->header;
    for (tt_node *node = tt_at_or_null(recorder, header->nodes); node; node = tt_at_or_null(recorder, node->next))
        tt_node_reset(recorder, node);
    for (tt_loop *loop = tt_at_or_null(recorder, header->loops); loop; loop = tt_at_or_null(recorder, loop->next))
        tt_loop_reset(recorder, loop);
    for (tt_gauge *gauge = tt_at_or_null(recorder, header->gauges); gauge; gauge = tt_at_or_null(recorder, gauge->next))
        tt_gauge_reset(recorder, gauge);
    for (tt_frame *frame = tt_at_or_null(recorder, header->frames); frame; frame = tt_at_or_null(recorder, frame->next)) {
        frame->start = frame->cover_start = frame->wait_start = now;
        frame->covered = frame->waited = 0;
        frame->flags &= ~(uint32_t)TT_FRAME_CPU; /* it began before the reset, and another thread's clock cannot be read */
    }
    if (recorder->ring) __atomic_store_n(&recorder->ring->forgotten, recorder->ring->done, __ATOMIC_RELEASE);
    tt_host_functions.was_reset(recorder);
    memset(header->losses, 0, sizeof header->losses);
    header->gc_ticks = header->gc_pauses = 0;
    header->times_enabled = recorder->recording ? 1 : 0;
}

/* Records the sections that the running thread has open, and those it has inherited itself. */
static void tt_note_open_sections(tt_recorder *recorder, const tt_thread *thread)
{
    tt_open_at_fork *open = &recorder->open_at_fork;
    open->noted = open->inherited;
    const tt_stack *stack = thread ? &thread->base : NULL;
    for (; stack; stack = tt_stack_after((tt_thread *)thread, stack))
        for (const tt_frame *frame = stack->top; frame; frame = tt_below(frame)) {
            if (frame->flags & TT_FRAME_SOFT) continue; /* no `__exit__` leaves these */
            uint64_t *sections = tt_grown(open->sections, open->noted, &open->room, 16, sizeof *sections);
            if (!sections) return;
            open->sections = sections;
            open->sections[open->noted++] = frame->section;
        }
}

/* In the parent, before it forks: records the state from which the child continues. */
void tt_before_fork(void)
{
    if (!tt_holds_gil()) return; /* forked from outside of Python: other threads may write */
    for (tt_recorder *recorder = tt_recorders; recorder; recorder = recorder->next) {
        tt_thread *thread = recorder->recording && !recorder->forked ? tt_thread_known(recorder) : NULL;
        tt_note_open_sections(recorder, thread);
        tt_host_functions.before_fork(recorder, thread);
    }
}

static void tt_slots_free(tt_recorder *recorder)
{
    for (tt_tree_slot *slot = recorder->slots, *next; slot; slot = next) {
        next = slot->next;
        free(slot);
    }
    recorder->slots = NULL;
}

static void tt_forget_nodes(tt_recorder *recorder)
{
    for (tt_section *section = recorder->sections; section; section = section->next)
        section->cached_parent = section->cached_node = 0;
    tt_map_clear(&recorder->nodes);
    tt_map_clear(&recorder->edges);
    tt_map_clear(&recorder->footprints);
    for (uint32_t i = 0; i < recorder->name_count; i++) recorder->names[i].ref = 0;
    tt_slots_free(recorder);
    recorder->free_frames = NULL;
    recorder->frame_count = 0;
    recorder->generation++;
    recorder->open_at_fork.inherited = recorder->open_at_fork.noted;
}

/* The node that was open on this thread at the fork, in the parent's file, as far as it is known without running any
 * code: in the stack that the thread used last. */
tt_ref tt_node_open_here(tt_recorder *recorder)
{
    const tt_thread *thread = tt_thread_known(recorder);
    if (!thread) return 0;
    const tt_stack *last = thread->last;
    return last->top ? tt_home_of(last->top) : last->parent.home;
}

/* In the child, before any other code runs: the parent's file must never be written again. */
void tt_after_fork(void)
{
    tt_cache_clear();
    tt_host_functions.after_fork();
    for (tt_recorder *recorder = tt_recorders; recorder; recorder = recorder->next) {
        int is_noted = recorder->is_fork_noted && pthread_equal(recorder->fork_thread, pthread_self());
        if (!recorder->forked && !is_noted) recorder->fork_node = tt_node_open_here(recorder);
        recorder->is_fork_noted = 0;
        recorder->forked = 1;
        for (tt_thread *thread = recorder->threads; thread; thread = thread->next) /* only this thread was forked */
            if (!thread->gone && !pthread_equal(thread->self, pthread_self())) {
                thread->gone = TT_THREAD_ENDED;
                thread->ended_at = tt_now(recorder);
            }
        recorder->pid = (uint32_t)getpid();
    }
}

/* The recorder's memory is about to be freed or replaced: what threads have open there is not closed. Releasing their
 * contexts may run any code, which must find every thread's record consistent. */
static void tt_forget_threads(tt_recorder *recorder)
{
    tt_thread *threads = recorder->threads;
    tt_cache_clear();
    recorder->threads = NULL;
    recorder->root_frame = NULL;
    for (tt_thread *thread = threads; thread; thread = thread->next) tt_thread_free_stacks(thread);
    for (tt_thread *thread = threads, *next; thread; thread = next) {
        next = thread->next;
        thread->recorder = NULL;
        if (__atomic_fetch_or(&thread->gone, TT_RECORDER_GONE, __ATOMIC_ACQ_REL)) free(thread);
    }
}

/* Gives up the memory, which is the parent's: afterwards nothing points into it. */
void tt_leave_memory(tt_recorder *recorder)
{
    recorder->recording = 0; /* first: forgetting threads releases contexts, which may run any code */
    recorder->ring = NULL;
    recorder->header = NULL;
    tt_forget_threads(recorder);
    tt_forget_nodes(recorder);
}

void tt_section_link(tt_recorder *recorder, tt_section *section)
{
    section->next = recorder->sections;
    section->link = &recorder->sections;
    if (section->next) section->next->link = &section->next;
    recorder->sections = section;
}

void tt_section_unlink(tt_section *section)
{
    if (!section->link) return;
    *section->link = section->next;
    if (section->next) section->next->link = section->link;
}

void tt_recorder_release(tt_recorder *recorder)
{
    if (--recorder->users == 0) free(recorder);
}

/* The Python recorder is gone: frees what it owned; the record itself is freed with the last section. */
void tt_recorder_end(tt_recorder *recorder)
{
    tt_recorder **link = &tt_recorders;
    while (*link && *link != recorder) link = &(*link)->next;
    if (*link) *link = recorder->next;
    recorder->owner = recorder->by_name = NULL;
    if (recorder->recording && !recorder->forked) tt_disable(recorder);
    recorder->recording = recorder->forked = 0;
    tt_forget_threads(recorder);
    tt_host_functions.ends(recorder);
    tt_arena_close(&recorder->arena);
    recorder->header = NULL;
    tt_slots_free(recorder);
    for (uint32_t i = 0; i < recorder->name_count; i++) free(recorder->names[i].bytes);
    free(recorder->names);
    tt_map_free(&recorder->nodes);
    tt_map_free(&recorder->edges);
    tt_map_free(&recorder->footprints);
    free(recorder->open_at_fork.sections);
    tt_recorder_release(recorder);
}
