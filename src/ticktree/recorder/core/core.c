/* The parts of entering and leaving a section that run rarely: the cold side of hot.h. */
#include "hot.h"

tt_stack_cache tt_cache;

/* -- nodes: a section at its position in the tree, found by (parent, name), created on first entry ----------------- */

tt_node *tt_node_new(tt_recorder *recorder, tt_ref name)
{
    tt_node *node = tt_allocate(recorder, sizeof *node);
    if (!node) return NULL;
    node->name = name;
    node->window_shift = recorder->window_shift;
    tt_stats_clear(&node->stats);
    tt_stats_clear(&node->warmup);
    return node;
}

void tt_node_link(tt_recorder *recorder, tt_node *node)
{
    TT_PREPEND(recorder, &recorder->header->nodes, node);
    recorder->header->node_count++;
}

/* 0: past the cap, or without memory. The call then has no node and its time stays in the parent. */
static tt_ref tt_node_make(tt_recorder *recorder, tt_ref parent, uint32_t name_id)
{
    tt_node *parent_node = tt_node_at(recorder, parent);
    if (recorder->header->node_count >= recorder->header->node_cap) return 0;
    if (parent_node->depth >= recorder->depth_cap || !tt_map_reserve(&recorder->nodes)) return 0;
    tt_ref name = tt_name_ref(recorder, name_id);
    tt_node *node = name ? tt_node_new(recorder, name) : NULL;
    if (!node) return 0;
    tt_ref ref = tt_ref_of(recorder, node);
    node->depth = parent_node->depth + 1;
    node->parent = parent;
    node->tree = parent_node->tree;
    node->loop = parent_node->flags & TT_NODE_LOOP ? parent : parent_node->loop; /* the innermost loop around it */
    node->sibling = parent_node->first_child;
    tt_node_link(recorder, node);
    parent_node->first_child = ref;
    tt_map_add(&recorder->nodes, (uint64_t)parent << 32 | name_id, ref);
    return ref;
}

/* The node of a section below `parent`, if there is one. */
tt_ref tt_node_get(const tt_section *section, tt_ref parent)
{
    if (section->name_id == TT_NAMELESS) return 0;
    return (tt_ref)tt_map_get(&section->recorder->nodes, (uint64_t)parent << 32 | section->name_id);
}

tt_ref tt_node_find_slowly(tt_section *section, tt_ref parent)
{
    tt_recorder *recorder = section->recorder;
    if (section->name_id == TT_NAMELESS) return 0;
    tt_ref node = tt_node_get(section, parent);
    if (!node) node = tt_node_make(recorder, parent, section->name_id);
    if (!node) return 0;
    tt_node *record = tt_node_at(recorder, node);
    record->flags |= section->node_flags;
    section->needs_site = !record->site;
    section->cached_parent = parent;
    section->cached_node = node;
    return node;
}

/* Counts a call without a node. */
void tt_lose_call(tt_recorder *recorder, const tt_section *section)
{
    enum tt_loss loss = recorder->memory_full ? TT_LOSS_MEMORY : TT_LOSS_NODES;
    tt_lose(recorder, section->name_id == TT_NAMELESS ? TT_LOSS_NAMES : loss);
}

/* -- windows ------------------------------------------------------------------------------------------------------ */

/* Merges pairs of windows: counts and totals add exactly. */
void tt_windows_coarsen(tt_node *node, uint32_t shift)
{
    for (; node->window_shift < shift; node->window_shift++) {
        for (unsigned i = 0; i < TT_WINDOWS / 2; i++) {
            tt_window even = node->windows[2 * i], odd = node->windows[2 * i + 1];
            node->windows[i] = (tt_window){even.count + odd.count, even.sum + odd.sum};
        }
        memset(&node->windows[TT_WINDOWS / 2], 0, TT_WINDOWS / 2 * sizeof(tt_window));
    }
}

void tt_anchor_renew(tt_recorder *recorder)
{
    tt_anchor anchor = {recorder->virtual_now, recorder->virtual_now, 0};
    if (recorder->clock != TT_CLOCK_VIRTUAL) anchor = tt_anchor_read(recorder->clock);
    tt_write_begin(&recorder->header->anchor_sequence);
    recorder->header->last = anchor;
    tt_write_end(&recorder->header->anchor_sequence);
}

/* Moves to the window of `now`. Its end is stored in ticks, so that a call costs one comparison. */
void tt_window_advance(tt_recorder *recorder, uint64_t now)
{
    const tt_anchor *first = &recorder->header->first;
    uint64_t ns = first->monotonic_ns - recorder->header->run_began_ns; /* since the run began */
    if (now > first->ticks) ns += tt_ticks_to_ns(recorder, now - first->ticks);
    while (ns / (TT_WINDOW_NS << recorder->window_shift) >= TT_WINDOWS) recorder->window_shift++;
    uint64_t width = TT_WINDOW_NS << recorder->window_shift;
    recorder->window_index = (uint32_t)(ns / width);
    uint64_t remaining_ns = (recorder->window_index + 1ULL) * width - ns;
    uint64_t ticks = tt_ns_to_ticks(recorder, remaining_ns);
    recorder->window_end = now + (ticks ? ticks : 1);
    tt_anchor_renew(recorder);
}

/* -- closing a call ----------------------------------------------------------------------------------------------- */

static void tt_detach_children(tt_recorder *recorder, tt_frame *frame, uint64_t now)
{
    tt_node *latest = tt_node_at(recorder, frame->last_child);
    uint64_t covered = now - frame->cover_start;
    frame->covered += covered;
    tt_write_begin(&latest->sequence);
    latest->concurrent -= (int64_t)covered;
    tt_write_end(&latest->sequence);
}

static tt_frame *tt_frame_if_open(const tt_recorder *recorder, tt_ref ref, uint64_t serial)
{
    tt_frame *frame = tt_at_or_null(recorder, ref);
    return frame && frame->serial == serial ? frame : NULL;
}

static tt_frame *tt_tick_of(const tt_recorder *recorder, const tt_frame *frame)
{
    return tt_frame_if_open(recorder, frame->tick, frame->epoch);
}

/* A tick's wait time is the time in which any wait was open, including those of inner loops: neither nested nor
 * simultaneous waits count twice. */
void tt_wait_begin(tt_recorder *recorder, tt_frame *frame)
{
    if (frame->flags & TT_FRAME_WAITING) return;
    frame->flags |= TT_FRAME_WAITING | TT_FRAME_WAIT;
    frame->wait_tick = frame->tick;
    frame->wait_serial = frame->epoch;
    for (tt_frame *tick = tt_tick_of(recorder, frame); tick; tick = tt_tick_of(recorder, tick))
        if (tick->waits_open++ == 0) tick->wait_start = frame->start;
}

static void tt_wait_end(tt_recorder *recorder, tt_frame *frame, uint64_t now)
{
    tt_frame *tick = tt_frame_if_open(recorder, frame->wait_tick, frame->wait_serial);
    for (; tick; tick = tt_tick_of(recorder, tick))
        if (--tick->waits_open == 0) tick->waited += now - tick->wait_start;
}

/* Waits that outlive their tick (a task's, a sleeping generator's) continue in the ticks around it. */
static void tt_waits_hand_over(tt_recorder *recorder, const tt_frame *tick)
{
    tt_ref tick_ref = tt_ref_of(recorder, tick);
    tt_frame *frame = tt_at_or_null(recorder, recorder->header->frames);
    for (; frame; frame = tt_at_or_null(recorder, frame->next)) {
        if (!frame->serial || !(frame->flags & TT_FRAME_WAIT) || frame->wait_tick != tick_ref) continue;
        if (frame->wait_serial != tick->serial) continue;
        frame->wait_tick = tick->tick;
        frame->wait_serial = tick->epoch;
    }
}

/* Whether a tick that did not happen, or a call within it, is the only call of its node: then its time stays in the
 * parent. */
static inline int tt_is_empty_call(const tt_frame *frame, const tt_node *node)
{
    return !frame->covered && !node->stats.count && !node->warmup.count;
}

/* Books a frame and frees it. The caller has unlinked it from its stack. */
void tt_close(tt_recorder *recorder, tt_frame *frame, uint64_t now, enum tt_ending ending)
{
    if (TT_UNLIKELY(!frame->node)) {
        tt_frame_free(recorder, frame);
        return;
    }
    tt_node *node = tt_node_at(recorder, frame->node);
    tt_book_prefetch(recorder, node);
    if (TT_UNLIKELY(now < frame->start)) now = frame->start; /* the counters of two cores may differ slightly */
    uint64_t duration = now - frame->start;
    if (TT_UNLIKELY(frame->active)) tt_detach_children(recorder, frame, now);
    tt_frame *parent = tt_parent_frame(recorder, frame);
    uint64_t parent_covered = parent ? tt_uncover(parent, now) : 0;
    uint32_t flags = frame->flags;
    if (TT_UNLIKELY(flags & TT_FRAME_WATCHED))
        tt_host_functions.watch_close(recorder, frame, duration, duration - parent_covered);
    if (TT_UNLIKELY(flags & TT_FRAME_EXPERIMENT)) tt_host_functions.experiment_leave(recorder, frame, now, ending);
    const tt_sample *sample = NULL;
    if (TT_UNLIKELY(flags & (TT_FRAME_CPU | TT_FRAME_MEMORY))) sample = tt_host_functions.sample_leave(frame);
    tt_write_begin(&node->sequence);
    if (TT_UNLIKELY(ending == TT_VOID) && tt_is_empty_call(frame, node)) {
        if (parent) parent->covered -= parent_covered;
    } else {
        tt_account(node, frame, duration, parent_covered);
    }
    if (TT_LIKELY(ending == TT_COMPLETE)) {
        int counted = tt_book(recorder, node, duration, tt_ticks_to_ns(recorder, duration), now);
        if (TT_UNLIKELY(flags & TT_FRAME_RAISED)) node->raised += (uint64_t)counted;
    }
    if (TT_UNLIKELY(sample != NULL)) tt_host_functions.sample_book(recorder, frame, node, sample, duration);
    tt_write_end(&node->sequence);
    if (TT_UNLIKELY(recorder->ring != NULL) && ending == TT_COMPLETE)
        tt_event_put(recorder, frame->lane, frame->node, frame->start, now);
    if (TT_UNLIKELY(flags & TT_FRAME_WAIT)) tt_wait_end(recorder, frame, now);
    if (TT_UNLIKELY(flags & TT_FRAME_TICK)) {
        if (frame->waits_open) tt_waits_hand_over(recorder, frame);
        tt_tick_end(recorder, frame, node, duration, ending);
    }
    tt_frame_free(recorder, frame);
}

/* Unlinks a frame from anywhere in its stack, and closes it. */
void tt_pop(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, uint64_t now, enum tt_ending ending)
{
    if (stack->top == frame) stack->top = tt_below(frame);
    else {
        tt_frame *newer = stack->top;
        while (tt_below(newer) != frame) newer = tt_below(newer);
        newer->below = frame->below;
    }
    if (frame->flags & TT_FRAME_GENERATOR) stack->suspended--;
    tt_close(recorder, frame, now, ending);
}

/* -- generators: which open calls are asleep ---------------------------------------------------------------------- */

#define TT_CHAIN_LIMIT 256 /* Python frames to search for one that is awake */

/* The distance of a Python frame from the innermost of the running calls; -1: it is not running. */
int tt_chain_depth(uint64_t python_frame, tt_pyframe *pyframe)
{
    for (int depth = 0; pyframe && depth < TT_CHAIN_LIMIT; depth++, pyframe = tt_pyframe_caller(pyframe))
        if (python_frame == (uint64_t)(uintptr_t)pyframe) return depth;
    return -1;
}

int tt_asleep(const tt_frame *frame, tt_pyframe *now)
{
    return frame->flags & TT_FRAME_GENERATOR && tt_chain_depth(frame->python_frame, now) < 0;
}

/* Whether a frame is asleep, or inside a call of this stack that is: a stage that a sleeping generator's helper
 * began. */
static int tt_is_inside_sleeper(const tt_recorder *recorder, const tt_stack *stack, const tt_frame *frame,
                                tt_pyframe *now)
{
    for (; frame && frame != stack->parent.frame; frame = tt_parent_frame(recorder, frame))
        if (tt_asleep(frame, now)) return 1;
    return 0;
}

/* The open call around the running code, where generators are open: the newest frame need not be it. Among frames
 * entered in plain calls it is the newest; among those entered in generators, the one whose generator runs innermost;
 * of these two, the one with the inner Python call. A section entered through a call that has returned (ExitStack) is
 * in no chain, unless another call has reused its address: either way it is chosen only if it is the newer one. */
tt_frame *tt_frame_awake(const tt_recorder *recorder, const tt_stack *stack, tt_pyframe *now)
{
    tt_frame *plain = NULL, *generator = NULL;
    int plain_depth = -1, generator_depth = TT_CHAIN_LIMIT;
    /* The newest and the innermost: nothing to compare. A plain call that has returned may have had `now`'s address. */
    if (stack->top && stack->top->flags & TT_FRAME_GENERATOR && tt_entered_in(stack->top, now)) return stack->top;
    for (tt_frame *frame = stack->top; frame; frame = tt_below(frame)) {
        if (!(frame->flags & TT_FRAME_GENERATOR)) {
            if (plain || tt_is_inside_sleeper(recorder, stack, frame, now)) continue;
            plain = frame;
            plain_depth = tt_chain_depth(frame->python_frame, now);
        } else {
            int depth = tt_chain_depth(frame->python_frame, now);
            if (depth < 0 || depth >= generator_depth) continue;
            generator = frame;
            generator_depth = depth;
        }
    }
    if (!plain || !generator) return plain ? plain : generator;
    /* A call that runs inside the generator cannot have entered anything before the generator did. */
    return plain_depth <= generator_depth && plain->serial > generator->serial ? plain : generator;
}

/* -- entering ---------------------------------------------------------------------------------------------------- */

/* A call without a node: its time stays in its parent's node. */
void tt_lose_frame(tt_recorder *recorder, const tt_section *section, const tt_stack *stack, tt_frame *frame,
                   const tt_frame *parent)
{
    tt_lose_call(recorder, section);
    frame->home = parent ? tt_home_of(parent) : stack->parent.home;
}

/* A call at the bottom of its stack, for work that a call of another thread submitted: if that is watched, so is
 * this. */
void tt_open_submitted(const tt_stack *stack, tt_frame *frame)
{
    const tt_parent *parent = &stack->parent;
    if (parent->submitter->serial != parent->submitter_serial || !(parent->submitter->flags & TT_FRAME_WATCHED)) return;
    frame->flags |= TT_FRAME_SUBMITTED | TT_FRAME_WATCHED;
    frame->submitter = (uint64_t)(uintptr_t)parent->submitter;
    frame->submitter_serial = parent->submitter_serial;
}

/* A call without a frame: counts it until it is left, and all calls entered until then. */
void tt_count_too_deep(tt_stack *stack)
{
    if (stack->too_deep++ == 0) stack->suspended++; /* makes exits take the slow way */
}

/* Only calls of @timed have a site: instruments enter the others. */
void tt_call_site(tt_section *section, const tt_frame *frame)
{
    section->needs_site = 0;
    if (section->node_flags & TT_NODE_TIMED && frame && frame->node) tt_site_check(section, frame->node, NULL);
}

/* -- leaving ------------------------------------------------------------------------------------------------------ */

/* Whether leaving `frame` ends `inner`: it does unless a section between them is asleep, and `inner` with it. */
static int tt_is_ended_by(const tt_recorder *recorder, const tt_frame *inner, const tt_frame *frame, tt_pyframe *now)
{
    while (inner && inner != frame) {
        /* nothing else ends a soft frame, except a loop object's tick */
        int is_stage_only = (inner->flags & (TT_FRAME_SOFT | TT_FRAME_LOOP_OBJECT)) == TT_FRAME_SOFT;
        if (!is_stage_only && tt_asleep(inner, now)) return 0;
        inner = tt_parent_frame(recorder, inner);
    }
    return inner == frame;
}

/* Ends what is still open inside `frame`, which ends next: stages normally, ticks as incomplete, sections as unwound,
 * unless they are in a tick that did not happen. Generators asleep inside it stay asleep. */
void tt_unwind_to(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, tt_pyframe *pyframe, uint64_t now,
                  enum tt_ending ending)
{
    enum tt_ending call_ending = ending == TT_VOID ? TT_VOID : TT_OPEN;
    for (tt_frame *inner = stack->top, *next; inner && inner != frame; inner = next) {
        next = tt_below(inner);
        if (!tt_is_ended_by(recorder, inner, frame, pyframe)) continue;
        int is_soft = inner->flags & TT_FRAME_SOFT, is_stage = is_soft && !(inner->flags & TT_FRAME_TICK);
        if (!is_soft && ending != TT_VOID) tt_lose(recorder, TT_LOSS_UNWOUND);
        tt_pop(recorder, stack, inner, now, is_stage ? TT_COMPLETE : is_soft ? TT_OPEN : call_ending);
    }
}

/* Ends a call and what is open inside it. */
void tt_end(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, tt_pyframe *pyframe, uint64_t now,
            enum tt_ending ending)
{
    tt_unwind_to(recorder, stack, frame, pyframe, now, ending);
    tt_pop(recorder, stack, frame, now, ending);
}

/* The newest call of `section` in a stack that was entered in this Python call. */
static tt_frame *tt_frame_in_call(const tt_stack *stack, const tt_section *section, tt_pyframe *pyframe)
{
    tt_frame *frame = stack->top;
    while (frame && !(tt_is_call_of(frame, section) && tt_entered_in(frame, pyframe))) frame = tt_below(frame);
    return frame;
}

/* The call of `section` that this exit ends: the newest one entered in the same Python call, or else the newest that is
 * awake. */
tt_frame *tt_frame_of(const tt_recorder *recorder, const tt_stack *stack, const tt_section *section,
                      tt_pyframe *pyframe)
{
    tt_frame *frame = tt_frame_in_call(stack, section, pyframe);
    if (frame) return frame;
    frame = stack->top;
    while (frame && !(tt_is_call_of(frame, section) && !tt_is_inside_sleeper(recorder, stack, frame, pyframe)))
        frame = tt_below(frame);
    return frame;
}

/* A generator that another context finalises leaves there the sections it entered in this one. */
static tt_frame *tt_frame_in_other_stack(tt_thread *thread, const tt_section *section, tt_pyframe *pyframe,
                                         tt_stack **holder)
{
    tt_frame *frame = NULL;
    for (tt_stack *stack = &thread->base; stack && !frame; stack = tt_stack_after(thread, stack)) {
        frame = tt_frame_in_call(stack, section, pyframe);
        if (frame) *holder = stack;
    }
    return frame;
}

/* Whether a section that this process leaves was entered in its parent, before the fork. */
static int tt_is_inherited(tt_open_at_fork *open, const tt_section *section)
{
    for (uint32_t i = open->inherited; i-- > 0;)
        if (open->sections[i] == (uint64_t)(uintptr_t)section) {
            open->sections[i] = open->sections[--open->inherited];
            return 1;
        }
    return 0;
}

void tt_leave_slowly(tt_section *section, const tt_here *here, uint32_t raised)
{
    tt_recorder *recorder = section->recorder;
    tt_stack *stack = here->stack, *holder = stack;
    if (stack->too_deep) {
        if (--stack->too_deep == 0) stack->suspended--;
        tt_done(section);
        return;
    }
    tt_frame *frame = tt_frame_of(recorder, stack, section, here->pyframe);
    if (!frame) {
        frame = tt_frame_in_other_stack(stack->thread, section, here->pyframe, &holder);
        if (frame) tt_lose(recorder, TT_LOSS_FOREIGN);
        else if (!tt_is_inherited(&recorder->open_at_fork, section)) tt_lose(recorder, TT_LOSS_UNMATCHED);
    }
    if (frame) {
        frame->flags |= raised;
        tt_end(recorder, holder, frame, here->pyframe, here->now, TT_COMPLETE);
    }
    tt_done(section);
    if (holder != stack) tt_stack_rest(holder);
    tt_stack_rest(stack);
}

void tt_call_end_slowly(tt_section *section, uint32_t raised) { tt_leave_by(section, raised); }
