/* The host of the C tests, and the invariants of every memory, whatever a program does. */
#include "harness.h"

__thread PyThreadState virtual_state;
unsigned seed;
tt_ref spawn_of_next;
const caps WIDE = {1u << 30, NULL, 4096, 65536, 256, 4096, 0};

/* xorshift: the same programs on every machine. */
unsigned draw(unsigned limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % limit;
}

/* -- the host ----------------------------------------------------------------------------------------------------- */

static int rearm(tt_recorder *recorder)
{
    uint32_t cap = recorder->header->node_cap;
    recorder->forked = 0;
    tt_leave_memory(recorder);
    if (tt_arena_open(&recorder->arena, NULL, 0) != 1) return 0;
    tt_header_write(recorder, 1ULL << 32, 0, cap);
    return tt_enable(recorder);
}

static void describe_thread(tt_recorder *recorder, tt_thread_facts *facts)
{
    (void)recorder;
    facts->spawn_node = spawn_of_next;
    facts->native_id = 1 + (uintptr_t)&virtual_state % 100000;
    strcpy(facts->name, "thread");
}

static void note_site(tt_recorder *recorder, tt_node *node, tt_section *section)
{
    (void)recorder;
    (void)section;
    node->site_line = 1;
}

static tt_origin *origin_of(PyObject *value) { return value->handle_origin; }
static int sample_prepare(const tt_section *section) { return section->recorder->recording; }
static void do_nothing(void) {}
static void sample_done(const tt_section *section) { (void)section; }
static int sample_enter(tt_recorder *recorder, tt_frame *frame, uint32_t flags)
{
    (void)recorder;
    frame->flags |= flags;
    return 1;
}
static const tt_sample *sample_leave(const tt_frame *frame) { return (const tt_sample *)frame; }
static void sample_book(tt_recorder *recorder, const tt_frame *frame, tt_node *node, const tt_sample *sample,
                        uint64_t duration)
{
    (void)recorder, (void)frame, (void)sample;
    node->cpu_wall += duration;
    node->cpu_samples++;
}
static void watch_close(const tt_recorder *recorder, tt_frame *frame, uint64_t duration, uint64_t concurrent)
{
    (void)recorder, (void)frame, (void)duration, (void)concurrent;
}
static tt_frame *served_call(tt_recorder *recorder, PyObject *watch, const tt_thread *thread)
{
    (void)recorder, (void)watch, (void)thread;
    return NULL;
}
static void thread_began(tt_recorder *recorder, tt_thread *thread, const tt_snapshot *path)
{
    (void)recorder, (void)thread, (void)path;
}
static void thread_moves(tt_recorder *recorder, tt_thread *thread, const tt_tree_slot *to, const tt_snapshot *path)
{
    (void)recorder, (void)thread, (void)to, (void)path;
}
static void before_fork(tt_recorder *recorder, tt_thread *thread) { (void)recorder, (void)thread; }
static void part(tt_recorder *recorder) { (void)recorder; }

const tt_host tt_host_functions = {
    rearm, describe_thread, note_site, origin_of, sample_prepare, sample_done, sample_enter, sample_leave, sample_book, NULL,
    watch_close, served_call, thread_began, thread_moves, before_fork, do_nothing, part, part,
};

/* -- a recorder ----------------------------------------------------------------------------------------------------- */

void call_python(tt_pyframe *frame, int is_generator)
{
    *frame = (tt_pyframe){virtual_state.frame, 1 + draw(4), is_generator};
    virtual_state.frame = frame;
}

void return_python(tt_pyframe *frame)
{
    CHECK(virtual_state.frame == frame);
    virtual_state.frame = frame->previous;
}

void world_open(world *w, const caps *limits)
{
    static const char *names[SECTIONS] = {"a", "b", "c", "d", "e", "f", "loop", "wait"};
    *w = (world){.recorder = calloc(1, sizeof *w->recorder), .variable = virtual_object()};
    tt_recorder *recorder = w->recorder;
    recorder->users = 1;
    recorder->arena.fd = -1;
    recorder->clock = TT_CLOCK_VIRTUAL;
    recorder->name_cap = limits->name_cap;
    recorder->frame_cap = limits->frame_cap;
    recorder->depth_cap = limits->depth_cap;
    recorder->event_capacity = limits->events;
    recorder->origin_var = w->variable;
    recorder->next = tt_recorders;
    tt_recorders = recorder;
    CHECK(tt_arena_open(&recorder->arena, limits->path, limits->file_limit) == 1);
    tt_header_write(recorder, 1ULL << 32, 0, limits->node_cap);
    for (uint32_t i = 0; i < SECTIONS; i++) {
        int64_t id = tt_name_intern(recorder, names[i], (uint32_t)strlen(names[i]));
        w->sections[i] = (tt_section){.recorder = recorder, .name_id = id < 0 ? TT_NAMELESS : (uint32_t)id};
        if (i == SECTIONS - 1) w->sections[i].node_flags = TT_NODE_WAIT;
        if (i == 5) w->sections[i].frame_flags = TT_FRAME_CPU;
        tt_section_link(recorder, &w->sections[i]);
        recorder->users++;
    }
    call_python(&w->main_frame, 0);
    CHECK(tt_enable(recorder));
    note_open_calls(w);
}

void world_close(world *w)
{
    for (uint32_t i = 0; i < SECTIONS; i++) {
        tt_section_unlink(&w->sections[i]);
        w->sections[i].link = NULL;
    }
    return_python(&w->main_frame);
    tt_recorder_end(w->recorder);
    for (uint32_t i = 0; i < SECTIONS; i++) tt_recorder_release(w->recorder);
    Py_CLEAR(w->variable);
    Py_CLEAR(virtual_state.context);
    free(w->open);
    free(w->times);
}

/* -- the invariants ------------------------------------------------------------------------------------------------- */

static struct times *times_of(world *w, tt_ref node)
{
    if (node >= w->times_room) {
        uint32_t room = 2 * node + 64;
        w->times = realloc(w->times, room * sizeof *w->times);
        memset(w->times + w->times_room, 0, (room - w->times_room) * sizeof *w->times);
        w->times_room = room;
    }
    return &w->times[node];
}

static int is_covered(const world *w, const struct open_call *call)
{
    for (uint32_t i = 0; i < w->open_count; i++)
        if (w->open[i].node && w->open[i].parent_serial == call->serial) return 1;
    return 0;
}

/* Lets time pass: it counts for every open call, and as self time for those without an open child. */
void advance(world *w, uint64_t ns)
{
    note_open_calls(w);
    for (uint32_t i = 0; i < w->open_count; i++) {
        const struct open_call *call = &w->open[i];
        if (!call->node) continue;
        times_of(w, call->node)->total += ns;
        if (!is_covered(w, call)) times_of(w, call->node)->self_ticks += ns;
    }
    w->recorder->virtual_now += ns;
}

/* Records which calls are open now. */
void note_open_calls(world *w)
{
    tt_recorder *recorder = w->recorder;
    if (recorder->forked) return; /* it has no memory of its own yet */
    for (uint32_t i = 0; i < w->open_count;) {
        if (w->open[i].frame->serial == w->open[i].serial) i++;
        else w->open[i] = w->open[--w->open_count];
    }
    uint64_t newest = w->last_serial;
    for (tt_ref ref = recorder->header->frames; ref; ref = ((tt_frame *)tt_at(recorder, ref))->next) {
        tt_frame *frame = tt_at(recorder, ref);
        if (frame->serial <= w->last_serial) continue;
        if (w->open_count == w->open_room) {
            w->open_room = 2 * w->open_room + 16;
            w->open = realloc(w->open, w->open_room * sizeof *w->open);
        }
        CHECK(frame->start == recorder->virtual_now);
        w->open[w->open_count++] = (struct open_call){frame, frame->serial, frame->start, frame->parent_serial, frame->node};
        if (frame->serial > newest) newest = frame->serial;
    }
    w->last_serial = newest;
}

void world_reset(world *w)
{
    tt_reset(w->recorder);
    if (w->times) memset(w->times, 0, w->times_room * sizeof *w->times);
}

/* A duration measured elsewhere, below the call that is open here. */
void record(world *w, tt_section *section, uint64_t ns)
{
    tt_here here;
    if (!tt_arrive(w->recorder, &here)) return;
    tt_frame *parent = tt_frame_around(w->recorder, here.stack, here.pyframe);
    tt_ref node = tt_record_under(here.stack, parent, section, ns, &(tt_amounts){1, 2, 3});
    if (node) {
        times_of(w, node)->total += ns;
        times_of(w, node)->self_ticks += ns;
    }
    tt_stack_rest(here.stack);
}

static uint64_t histogram_count(const tt_recorder *recorder, const tt_ref *octaves)
{
    uint64_t count = 0;
    for (unsigned octave = 0; octave < TT_OCTAVES; octave++)
        for (unsigned sub = 0; octaves[octave] && sub < TT_SUB_BUCKETS; sub++)
            count += ((tt_octave *)tt_at(recorder, octaves[octave]))->counts[sub];
    return count;
}

static void check_node(world *w, const tt_node *node)
{
    const tt_recorder *recorder = w->recorder;
    tt_ref ref = tt_ref_of(recorder, node);
    uint64_t child_ticks = 0, windows = 0, total = times_of(w, ref)->total;
    for (tt_ref at = node->first_child; at; at = tt_node_at(recorder, at)->sibling) {
        const tt_node *child = tt_node_at(recorder, at);
        CHECK(child->parent == ref && child->depth == node->depth + 1);
        child_ticks += times_of(w, at)->total - (uint64_t)child->concurrent;
    }
    CHECK(total == (uint64_t)node->own + child_ticks);
    CHECK(node->own == (int64_t)times_of(w, ref)->self_ticks);
    for (unsigned at = 0; at < TT_WINDOWS; at++) windows += node->windows[at].count;
    CHECK(!(node->sequence & 1));
    CHECK(node->stats.sum + node->warmup.sum <= total);
    CHECK(histogram_count(recorder, node->octaves) == node->stats.count);
    CHECK(histogram_count(recorder, node->warmup_octaves) == node->warmup.count);
    CHECK(windows == node->stats.count + node->warmup.count);
    CHECK(!node->stats.count || node->stats.minimum <= node->stats.maximum);
}

/* With only the run's own call open, whose time so far is booked during the check. */
void check_memory(world *w)
{
    tt_recorder *recorder = w->recorder;
    note_open_calls(w);
    CHECK(w->open_count == 1 && recorder->root_frame);
    const tt_frame *frame = recorder->root_frame;
    tt_node *root = tt_node_at(recorder, frame->node);
    uint64_t now = recorder->virtual_now, covered = frame->covered + (frame->active ? now - frame->cover_start : 0);
    root->own += (int64_t)(now - frame->start - covered);
    for (tt_ref ref = recorder->header->nodes; ref; ref = tt_node_at(recorder, ref)->next)
        check_node(w, tt_node_at(recorder, ref));
    root->own -= (int64_t)(now - frame->start - covered);
    for (tt_ref ref = recorder->header->loops; ref;) {
        const tt_loop *loop = tt_at(recorder, ref);
        const tt_node *node = tt_node_at(recorder, loop->node);
        CHECK(loop->ticks == node->stats.count + node->warmup.count);
        CHECK(loop->missed <= loop->ticks && loop->worst_count <= TT_WORST_TICKS);
        ref = loop->next;
    }
}

uint64_t losses(const world *w, enum tt_loss loss) { return w->recorder->header->losses[loss]; }

/* The node of a section below another (0: below the run's root), or NULL. */
tt_node *node_of(const world *w, const tt_section *section, tt_ref parent)
{
    tt_ref ref = tt_node_get(section, parent ? parent : w->recorder->root_frame->node);
    return ref ? tt_node_at(w->recorder, ref) : NULL;
}
