/* Entering and leaving a section: the hot path, always inlined. core.c is its cold side. */
#ifndef TICKTREE_HOT_H
#define TICKTREE_HOT_H

#include "core.h"

/* In a large module the compiler would not inline these by itself. */
#define TT_INLINE static inline __attribute__((always_inline))

/* -- booking a completed call ------------------------------------------------------------------------------------ */

/* Exponential buckets of base 2^(1/32): OpenTelemetry's at scale 5.
 *
 * Bucket i holds the values with floor(32 * log2(v)) == i. The octave is the position of the highest bit; within
 * it, the value shifted to the left is compared with TT_THRESHOLD[k] = floor(2^(63 + k/32)). */

static const uint64_t TT_THRESHOLD[TT_SUB_BUCKETS + 1] = {
    0x8000000000000000ULL, 0x82CD8698AC2BA1D7ULL, 0x85AAC367CC487B14ULL, 0x88980E8092DA8527ULL,
    0x8B95C1E3EA8BD6E6ULL, 0x8EA4398B45CD53C0ULL, 0x91C3D373AB11C336ULL, 0x94F4EFA8FEF70961ULL,
    0x9837F0518DB8A96FULL, 0x9B8D39B9D54E5538ULL, 0x9EF5326091A111ADULL, 0xA27043030C496818ULL,
    0xA5FED6A9B15138EAULL, 0xA9A15AB4EA7C0EF8ULL, 0xAD583EEA42A14AC6ULL, 0xB123F581D2AC258FULL,
    0xB504F333F9DE6484ULL, 0xB8FBAF4762FB9EE9ULL, 0xBD08A39F580C36BEULL, 0xC12C4CCA66709456ULL,
    0xC5672A115506DADDULL, 0xC9B9BD866E2F27A2ULL, 0xCE248C151F8480E3ULL, 0xD2A81D91F12AE45AULL,
    0xD744FCCAD69D6AF4ULL, 0xDBFBB797DAF23755ULL, 0xE0CCDEEC2A94E111ULL, 0xE5B906E77C8348A8ULL,
    0xEAC0C6E7DD24392EULL, 0xEFE4B99BDCDAF5CBULL, 0xF5257D152486CC2CULL, 0xFA83B2DB722A033AULL,
    UINT64_MAX, /* the next octave: never reached, because a value shifted left that far ends in zeros */
};

/* The first guess from the six bits below the highest: a sixty-fourth of an octave is narrower than any bucket, so one
 * comparison corrects it. */
static const uint8_t TT_GUESS[64] = {
    0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 7, 8, 9, 9,
    10, 10, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17, 17, 18,
    18, 19, 19, 20, 20, 21, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25,
    25, 26, 26, 27, 27, 27, 28, 28, 29, 29, 29, 30, 30, 30, 31, 31,
};

static inline unsigned tt_sub_bucket(uint64_t leftmost)
{
    unsigned guess = TT_GUESS[(leftmost >> 57) & 63];
    return guess + (leftmost >= TT_THRESHOLD[guess + 1]);
}

static inline void tt_bucket_of(uint64_t ns, unsigned *octave, unsigned *sub)
{
    if (ns < 1) ns = 1;
    unsigned zeros = (unsigned)__builtin_clzll(ns);
    *octave = 63 - zeros;
    *sub = tt_sub_bucket(ns << zeros);
    if (__builtin_expect(*octave >= TT_OCTAVES, 0)) {
        *octave = TT_OCTAVES - 1;
        *sub = TT_SUB_BUCKETS - 1;
    }
}

static inline uint64_t *tt_octave_counts(tt_recorder *recorder, tt_ref *octave)
{
    if (TT_UNLIKELY(!*octave)) {
        void *counts = tt_allocate(recorder, sizeof(tt_octave));
        if (!counts) return NULL;
        tt_link(recorder, octave, counts);
    }
    return ((tt_octave *)tt_at(recorder, *octave))->counts;
}

/* A section's body evicts the node's lines from the caches: fetched together, they cost one cache miss. */
static inline void tt_book_prefetch(const tt_recorder *recorder, const tt_node *node)
{
    __builtin_prefetch(node, 1);
    __builtin_prefetch(&node->tick_epoch, 1);
    __builtin_prefetch(&node->windows[recorder->window_index], 1);
    __builtin_prefetch(&node->octaves[8]); /* 256 ns to 16 ms */
}

/* The caller has made the node's sequence odd. `duration` is in the node's own unit. If the histogram has no memory for
 * a call, nothing counts it, so that all counts of a node are of the same calls. 0: not counted. */
static inline int tt_book(tt_recorder *recorder, tt_node *node, uint64_t duration, uint64_t ns, uint64_t now)
{
    unsigned octave, sub;
    tt_bucket_of(ns, &octave, &sub);
    uint64_t *counts = tt_octave_counts(recorder, &node->octaves[octave]);
    if (TT_UNLIKELY(!counts)) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return 0;
    }
    counts[sub]++;
    node->stats.count++;
    node->stats.sum += duration;
    if (duration < node->stats.minimum) node->stats.minimum = duration;
    if (duration > node->stats.maximum) node->stats.maximum = duration;
    if (TT_UNLIKELY(now >= recorder->window_end)) tt_window_advance(recorder, now);
    if (TT_UNLIKELY(node->window_shift != recorder->window_shift))
        tt_windows_coarsen(node, recorder->window_shift);
    tt_window *window = &node->windows[recorder->window_index];
    window->count++;
    window->sum += duration;
    return 1;
}

/* A tick's breakdown: one sum per node, reset by the first call of each tick. */
static inline void tt_book_in_tick(tt_node *node, uint64_t epoch, uint64_t duration)
{
    if (node->tick_epoch != epoch) {
        node->tick_epoch = epoch;
        node->tick_sum = 0;
    }
    node->tick_sum += duration;
}

static inline tt_frame *tt_frame_take(tt_recorder *recorder)
{
    tt_frame *frame = recorder->free_frames;
    if (TT_UNLIKELY(!frame)) return tt_frame_make(recorder);
    recorder->free_frames = (tt_frame *)(uintptr_t)frame->below;
    return frame;
}

static inline void tt_frame_free(tt_recorder *recorder, tt_frame *frame)
{
    __atomic_store_n(&frame->serial, 0, __ATOMIC_RELEASE);
    frame->below = (uint64_t)(uintptr_t)recorder->free_frames;
    recorder->free_frames = frame;
}

/* -- accounting: what a call adds to its node and subtracts from its parent ----------------------------------------
 *
 * A frame counts its open children. While it has one, its self time stands still; when the last one leaves, the covered
 * interval is subtracted from the frame once and credited to that child, and the time of the other children is
 * `concurrent`. A call that ends with open children subtracts the interval then, charged to the child entered last. So
 * for every node, always:
 *
 *     total == own + sum(child.total - child.concurrent)
 */

static inline tt_frame *tt_parent_frame(const tt_recorder *recorder, const tt_frame *frame)
{
    if (!frame->parent) return NULL;
    tt_frame *parent = tt_at(recorder, frame->parent);
    return TT_LIKELY(parent->serial == frame->parent_serial) ? parent : NULL;
}

/* The innermost frame at or around this one that has a node, and so keeps this one's time. */
static inline tt_frame *tt_frame_with_node(const tt_recorder *recorder, tt_frame *frame)
{
    while (frame && !frame->node) frame = tt_parent_frame(recorder, frame);
    return frame;
}

/* The node that keeps a frame's time. */
static inline tt_ref tt_home_of(const tt_frame *frame) { return frame->node ? frame->node : frame->home; }

/* How much of its parent a leaving call covered; the rest of its duration was concurrent. */
static inline uint64_t tt_uncover(tt_frame *parent, uint64_t now)
{
    if (--parent->active) return 0;
    uint64_t covered = now - parent->cover_start;
    parent->covered += covered;
    return covered;
}

/* Adds a frame's time to its node, whether its call is complete or not. */
static inline void tt_account(tt_node *node, const tt_frame *frame, uint64_t duration, uint64_t parent_covered)
{
    node->own += (int64_t)(duration - frame->covered);
    node->concurrent += (int64_t)(duration - parent_covered);
    if (frame->epoch) tt_book_in_tick(node, frame->epoch, duration);
}

/* Closes a complete call. Inlined where sections are left: nearly all calls only book their time. */
TT_INLINE void tt_complete(tt_recorder *recorder, tt_frame *frame, uint64_t now)
{
    if (TT_UNLIKELY(!frame->node || frame->active || frame->flags & TT_FRAME_RARE || recorder->ring)) {
        tt_close(recorder, frame, now, TT_COMPLETE);
        return;
    }
    tt_node *node = tt_node_at(recorder, frame->node);
    tt_book_prefetch(recorder, node);
    uint64_t duration = TT_LIKELY(now > frame->start) ? now - frame->start : 0;
    tt_frame *parent = tt_parent_frame(recorder, frame);
    uint64_t parent_covered = parent ? tt_uncover(parent, frame->start + duration) : 0;
    tt_write_begin(&node->sequence);
    tt_account(node, frame, duration, parent_covered);
    tt_book(recorder, node, duration, tt_ticks_to_ns(recorder, duration), frame->start + duration);
    tt_write_end(&node->sequence);
    tt_frame_free(recorder, frame);
}

/* -- the position of the running code ----------------------------------------------------------------------------- */

static inline tt_frame *tt_below(const tt_frame *frame) { return (tt_frame *)(uintptr_t)frame->below; }

/* A frame's value of its section. Soft frames are marked, so that leaving a section never finds a stage of its name. */
static inline uint64_t tt_section_mark(const tt_section *section, uint32_t flags)
{
    return (uint64_t)(uintptr_t)section | (flags & TT_FRAME_SOFT);
}

static inline int tt_is_call_of(const tt_frame *frame, const tt_section *section)
{
    return frame->section == tt_section_mark(section, 0);
}

static inline int tt_entered_in(const tt_frame *frame, const tt_pyframe *pyframe)
{
    return frame->python_frame == (uint64_t)(uintptr_t)pyframe;
}

static inline int tt_is_tick_of(const tt_frame *frame, const tt_section *section)
{
    return frame->flags & TT_FRAME_TICK && frame->section == tt_section_mark(section, TT_FRAME_SOFT);
}

static inline tt_stack *tt_stack_now(tt_recorder *recorder, PyThreadState *state)
{
    if (TT_LIKELY(tt_cache.state == state && tt_cache.context == tt_context_now(state) &&
                  tt_cache.recorder == recorder))
        return tt_cache.stack;
    return tt_stack_search(recorder, state);
}

static inline void tt_stack_rest(tt_stack *stack)
{
    if (TT_UNLIKELY(!stack->top && stack != &stack->thread->base)) tt_stack_release(stack);
}

/* The next of all stacks of a thread, its own first. */
static inline tt_stack *tt_stack_after(tt_thread *thread, const tt_stack *stack)
{
    return stack == &thread->base ? thread->stacks : stack->next;
}

/* The open call of this stack around the running code, or NULL. */
static inline tt_frame *tt_frame_around(const tt_recorder *recorder, const tt_stack *stack, tt_pyframe *now)
{
    return TT_LIKELY(!stack->suspended) ? stack->top : tt_frame_awake(recorder, stack, now);
}

/* Finds the running code's stack and Python frame. 0: nothing can be recorded here. */
TT_INLINE int tt_arrive(tt_recorder *recorder, tt_here *here)
{
    if (!recorder->recording) return 0;
    PyThreadState *state = tt_thread_state();
    here->stack = tt_stack_now(recorder, state);
    if (TT_UNLIKELY(!here->stack)) return 0;
    here->pyframe = tt_pyframe_now(state);
    return 1;
}

static inline int tt_is_measured(const tt_section *section)
{
    return TT_UNLIKELY(section->frame_flags & (TT_FRAME_MEMORY | TT_FRAME_EXPERIMENT));
}

/* Comes first where a call of `section` begins or ends; after a 1, the caller must call `tt_done`. `now` NULL: do not
 * read the clock yet. */
TT_INLINE int tt_prepare(const tt_section *section, uint64_t *now)
{
    if (!section->recorder->recording) return 0;
    if (now) *now = tt_now(section->recorder);
    return !tt_is_measured(section) || tt_host_functions.sample_prepare(section);
}

static inline void tt_done(const tt_section *section)
{
    if (tt_is_measured(section)) tt_host_functions.sample_done(section);
}

/* `tt_prepare` and `tt_arrive`. The clock is read first where a call ends, and last where one begins: a new process may
 * just have received its file, which takes a millisecond. */
TT_INLINE int tt_begin(const tt_section *section, tt_here *here, int ends)
{
    if (!tt_prepare(section, ends ? &here->now : NULL)) return 0;
    if (TT_UNLIKELY(!tt_arrive(section->recorder, here))) {
        tt_done(section);
        return 0;
    }
    if (!ends) here->now = tt_now(section->recorder);
    return 1;
}

/* -- entering ---------------------------------------------------------------------------------------------------- */

static inline tt_ref tt_node_find(tt_section *section, tt_ref parent)
{
    return TT_LIKELY(section->cached_parent == parent) ? section->cached_node : tt_node_find_slowly(section, parent);
}

/* The node of a section below `parent`; NULL: below the stack's own parent. */
static inline tt_ref tt_node_under(const tt_stack *stack, tt_section *section, const tt_frame *parent)
{
    tt_ref parent_node = parent ? parent->node : stack->parent.home;
    return parent_node ? tt_node_find(section, parent_node) : 0;
}

static inline tt_frame *tt_bottom_parent(const tt_stack *stack)
{
    const tt_parent *parent = &stack->parent;
    return parent->frame && parent->frame->serial == parent->serial ? parent->frame : NULL;
}

/* Links a frame to its parent and so opens it. A frame with a node covers its parent from `now`; a frame without one is
 * linked and left like any other, but it covers no call and is not booked. */
static inline void tt_open(tt_recorder *recorder, tt_frame *frame, tt_frame *parent, uint64_t now)
{
    frame->start = now;
    if (TT_LIKELY(parent != NULL)) {
        if (TT_LIKELY(frame->node)) {
            if (TT_LIKELY(parent->active++ == 0)) parent->cover_start = now;
            parent->last_child = frame->node;
        }
        frame->parent = tt_ref_of(recorder, parent);
        frame->parent_serial = parent->serial;
        int is_tick = parent->flags & TT_FRAME_TICK;
        frame->tick = is_tick ? frame->parent : parent->tick;
        frame->epoch = is_tick ? parent->serial : parent->epoch;
        frame->flags |= parent->flags & TT_FRAME_INHERITED;
    } else {
        frame->parent = frame->tick = 0;
        frame->parent_serial = frame->epoch = 0;
    }
    __atomic_store_n(&frame->serial, ++recorder->serial, __ATOMIC_RELEASE);
}

/* Pushes a call of `section` below `parent` (NULL: the stack's own parent). `mark` and the Python frame it is entered
 * in identify it later. Only what this and `tt_open` set is read of any frame. `now` 0: read the clock last. NULL:
 * there are too many frames. */
TT_INLINE tt_frame *tt_push_as(tt_recorder *recorder, tt_stack *stack, tt_frame *parent, tt_section *section,
                               uint64_t mark, const tt_pyframe *entered_in, uint32_t flags, uint64_t now)
{
    tt_ref node = tt_node_under(stack, section, parent);
    tt_frame *frame = tt_frame_take(recorder);
    if (TT_UNLIKELY(!frame)) return NULL;
    frame->node = node;
    frame->covered = frame->waited = 0;
    frame->active = frame->waits_open = 0;
    frame->flags = flags;
    frame->lane = stack->lane;
    frame->section = mark;
    frame->python_frame = (uint64_t)(uintptr_t)entered_in;
    frame->below = (uint64_t)(uintptr_t)stack->top;
    stack->top = frame;
    if (TT_UNLIKELY(flags & TT_FRAME_GENERATOR)) stack->suspended++;
    if (TT_UNLIKELY(!node)) tt_lose_frame(recorder, section, stack, frame, parent);
    else if (TT_UNLIKELY(section->frame_flags) &&
             tt_host_functions.sample_enter(recorder, frame, section->frame_flags))
        now = 0;
    tt_frame *covered_parent = parent ? parent : tt_bottom_parent(stack);
    tt_open(recorder, frame, covered_parent, now ? now : tt_now(recorder));
    if (TT_UNLIKELY(!covered_parent) && stack->parent.submitter) tt_open_submitted(stack, frame);
    if (TT_UNLIKELY(section->node_flags & TT_NODE_WAIT) && node) tt_wait_begin(recorder, frame);
    return frame;
}

TT_INLINE tt_frame *tt_push(tt_recorder *recorder, const tt_here *here, tt_frame *parent, tt_section *section,
                            uint32_t flags)
{
    return tt_push_as(recorder, here->stack, parent, section, tt_section_mark(section, flags),
                      tt_pyframe_owner(here->pyframe), flags, here->now);
}

static inline uint32_t tt_generator_flag(tt_pyframe *pyframe)
{
    if (TT_LIKELY(!tt_pyframe_may_sleep(pyframe))) return 0;
    return tt_pyframe_may_sleep(tt_pyframe_owner(pyframe)) ? TT_FRAME_GENERATOR : 0;
}

/* Pushes a call of `section` at this position. NULL: it has no frame, nor do calls inside it. */
TT_INLINE tt_frame *tt_push_call(tt_section *section, const tt_here *here, uint32_t flags)
{
    tt_recorder *recorder = section->recorder;
    tt_frame *frame = NULL;
    if (TT_UNLIKELY(here->stack->suspended) && here->stack->too_deep) tt_lose(recorder, TT_LOSS_FRAMES);
    else frame = tt_push(recorder, here, tt_frame_around(recorder, here->stack, here->pyframe), section, flags);
    if (TT_UNLIKELY(!frame)) tt_count_too_deep(here->stack);
    return frame;
}

/* Records the first instruction that enters a section, and whether there is a second. The site of @timed is the
 * function's definition. Resolving it may run any code, so it is the last step of entering a section. */
static inline void tt_site_check(tt_section *section, tt_ref ref, tt_pyframe *pyframe)
{
    tt_node *node = tt_node_at(section->recorder, ref);
    uint64_t site = section->node_flags & TT_NODE_TIMED ? 1 : tt_pyframe_site(pyframe);
    if (TT_LIKELY(node->site == site)) return;
    if (!node->site) {
        node->site = site;
        tt_host_functions.note_site(section->recorder, node, section);
    } else if (!(node->flags & TT_NODE_TIMED)) node->flags |= TT_NODE_MANY_SITES;
}

/* Completes `tt_begin` after a push. */
static inline void tt_enter_finish(tt_section *section, const tt_frame *frame, tt_pyframe *pyframe)
{
    tt_done(section);
    if (TT_LIKELY(frame && frame->node)) tt_site_check(section, frame->node, pyframe);
}

TT_INLINE void tt_enter(tt_section *section)
{
    tt_here here;
    if (!tt_begin(section, &here, 0)) return;
    tt_enter_finish(section, tt_push_call(section, &here, tt_generator_flag(here.pyframe)), here.pyframe);
}

/* -- leaving ------------------------------------------------------------------------------------------------------ */

/* Completes the newest call of a stack. */
TT_INLINE void tt_complete_top(tt_recorder *recorder, tt_stack *stack, tt_frame *frame, uint64_t now)
{
    stack->top = tt_below(frame);
    if (TT_UNLIKELY(frame->flags & TT_FRAME_GENERATOR)) stack->suspended--;
    tt_complete(recorder, frame, now);
}

/* `raised`: TT_FRAME_RAISED if an exception ends the call, else 0. */
TT_INLINE void tt_leave_by(tt_section *section, uint32_t raised)
{
    tt_here here;
    if (!tt_begin(section, &here, 1)) return;
    tt_stack *stack = here.stack;
    tt_frame *frame = stack->top;
    if (TT_UNLIKELY(!frame || !tt_is_call_of(frame, section) ||
                    (stack->suspended && (stack->too_deep || !tt_entered_in(frame, here.pyframe))))) {
        tt_leave_slowly(section, &here, raised);
        return;
    }
    frame->flags |= raised;
    tt_complete_top(section->recorder, stack, frame, here.now);
    tt_done(section);
    tt_stack_rest(stack);
}

static inline void tt_leave(tt_section *section) { tt_leave_by(section, 0); }

/* A call of @timed begins. */
TT_INLINE tt_call tt_call_begin(tt_section *section)
{
    tt_here here;
    if (!tt_begin(section, &here, 0)) return (tt_call){NULL, NULL, 0, 0};
    tt_call call = {here.stack, tt_push_call(section, &here, TT_FRAME_CALL), 0, section->recorder->generation};
    if (TT_LIKELY(call.frame != NULL)) call.serial = call.frame->serial;
    tt_done(section);
    if (TT_UNLIKELY(section->needs_site)) tt_call_site(section, call.frame);
    return call;
}

/* The frame may be gone by now: recording was stopped, or this is a forked child with its own memory. */
TT_INLINE void tt_call_end(tt_section *section, const tt_call *call, uint32_t raised)
{
    tt_recorder *recorder = section->recorder;
    uint64_t now;
    if (!tt_prepare(section, &now)) return;
    if (TT_UNLIKELY(!call->frame || recorder->forked || call->generation != recorder->generation ||
                    call->frame->serial != call->serial || call->stack->top != call->frame)) {
        tt_call_end_slowly(section, raised);
        return;
    }
    call->frame->flags |= raised;
    tt_complete_top(recorder, call->stack, call->frame, now);
    tt_done(section);
    tt_stack_rest(call->stack);
}

/* Begins the stage `section`, and ends the open one with the same clock reading. */
TT_INLINE void tt_stage(tt_section *section)
{
    tt_here here;
    if (!tt_begin(section, &here, 1)) return;
    tt_recorder *recorder = section->recorder;
    tt_frame *parent = tt_frame_around(recorder, here.stack, here.pyframe);
    if (parent && (parent->flags & (TT_FRAME_SOFT | TT_FRAME_TICK)) == TT_FRAME_SOFT) {
        if (TT_LIKELY(parent == here.stack->top)) tt_complete_top(recorder, here.stack, parent, here.now);
        else tt_pop(recorder, here.stack, parent, here.now, TT_COMPLETE);
        parent = tt_frame_around(recorder, here.stack, here.pyframe);
    }
    tt_frame *frame = tt_push(recorder, &here, parent, section, TT_FRAME_SOFT | tt_generator_flag(here.pyframe));
    tt_enter_finish(section, frame, here.pyframe);
}

#endif
