/* Loops: a tick is a call of the loop's node; its budget, its jitter, the worst of them and why. */
#ifndef TICKTREE_TICK_H
#define TICKTREE_TICK_H

#include "section.h"
#include "sums.h"
#include "warmup.h"
#include <sys/resource.h>

#define TT_CAUSES_FROM_NS 100000u /* shorter ticks are not worth the system call that tells their causes */

static tt_loop *tt_loop_of(tt_recorder *recorder, tt_ref node_ref)
{
    tt_node *node = tt_node_at(recorder, node_ref);
    if (node->ticks) return tt_at(recorder, node->ticks);
    tt_loop_sums *sums = tt_allocate(recorder, sizeof *sums);
    tt_loop *loop = sums ? tt_allocate(recorder, sizeof *loop) : NULL;
    if (!loop) return NULL;
    loop->node = node_ref;
    loop->sums = tt_ref_of(recorder, sums);
    loop->next = recorder->header->loops;
    tt_link(recorder, &recorder->header->loops, loop);
    node->flags |= TT_NODE_LOOP;
    node->ticks = tt_ref_of(recorder, loop);
    return loop;
}

static void tt_loop_ask(tt_recorder *recorder, tt_loop *loop, double hz, uint64_t warmup)
{
    if (hz > 0 && loop->hz == 0) {
        loop->hz = hz;
        loop->budget_ticks = tt_ns_to_ticks(recorder, (uint64_t)(1e9 / hz + 0.5));
    } else if (hz > 0 && loop->hz != hz) {
        loop->other_hz = hz;
        loop->budget_ticks = 0;
    }
    if (warmup == TT_WARMUP_FOUND) return;
    tt_loop_sums *sums = tt_sums_of(recorder, loop);
    sums->flags |= TT_SUMS_BY_HAND;
    if (warmup > loop->warmup_asked && !(sums->flags & TT_SUMS_WARM)) loop->warmup_asked = warmup;
}

static void tt_breakdown_add(tt_worst_tick *worst, tt_ref node, uint64_t sum)
{
    if (worst->row_count < TT_WORST_ROWS) {
        worst->rows[worst->row_count++] = (tt_worst_row){node, 0, sum};
        return;
    }
    tt_worst_row *least = worst->rows;
    for (unsigned at = 1; at < TT_WORST_ROWS; at++)
        if (worst->rows[at].sum < least->sum) least = &worst->rows[at];
    if (sum > least->sum) *least = (tt_worst_row){node, 0, sum};
}

/* Visits the nodes below `top` in this thread's tree, without recursion: trees may be thousands deep. */
static tt_node *tt_next_below(tt_recorder *recorder, tt_node *node, tt_ref top)
{
    if (node->first_child) return tt_node_at(recorder, node->first_child);
    while (tt_ref_of(recorder, node) != top && !node->sibling) node = tt_node_at(recorder, node->parent);
    return tt_ref_of(recorder, node) == top ? NULL : tt_node_at(recorder, node->sibling);
}

static void tt_breakdown(tt_recorder *recorder, tt_worst_tick *worst, tt_node *top, uint64_t epoch)
{
    tt_ref top_ref = tt_ref_of(recorder, top);
    for (tt_node *node = tt_next_below(recorder, top, top_ref); node; node = tt_next_below(recorder, node, top_ref))
        if (node->tick_epoch == epoch) tt_breakdown_add(worst, tt_ref_of(recorder, node), node->tick_sum);
}

static tt_worst_tick *tt_worst_place(tt_loop *loop, uint64_t duration)
{
    if (loop->worst_count < TT_WORST_TICKS) return &loop->worst[loop->worst_count++];
    tt_worst_tick *least = loop->worst;
    for (unsigned at = 1; at < TT_WORST_TICKS; at++) {
        tt_worst_tick *worst = &loop->worst[at];
        if (worst->duration < least->duration || (worst->duration == least->duration && worst->tick > least->tick))
            least = worst;
    }
    return duration > least->duration ? least : NULL;
}

/* What the operating system and the collector did to this thread since the last boundary. */
static void tt_take_causes(tt_recorder *recorder, tt_loop *loop, tt_worst_tick *causes, uint64_t ns)
{
    *causes = (tt_worst_tick){0};
    causes->gc_ticks = recorder->header->gc_ticks - loop->boundary_gc_ticks;
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    uint32_t known = loop->boundary_known;
    loop->boundary_known = 0;
#if defined(RUSAGE_THREAD)
    struct rusage usage;
    if (ns < TT_CAUSES_FROM_NS || getrusage(RUSAGE_THREAD, &usage)) return;
    causes->causes_known = known;
    causes->voluntary_switches = (uint32_t)usage.ru_nvcsw - loop->boundary_voluntary;
    causes->involuntary_switches = (uint32_t)usage.ru_nivcsw - loop->boundary_involuntary;
    causes->minor_faults = (uint32_t)usage.ru_minflt - loop->boundary_minor;
    causes->major_faults = (uint32_t)usage.ru_majflt - loop->boundary_major;
    loop->boundary_voluntary = (uint32_t)usage.ru_nvcsw;
    loop->boundary_involuntary = (uint32_t)usage.ru_nivcsw;
    loop->boundary_minor = (uint32_t)usage.ru_minflt;
    loop->boundary_major = (uint32_t)usage.ru_majflt;
    loop->boundary_known = 1;
#else
    (void)known;
    (void)ns;
#endif
}

static void tt_keep_if_worst(tt_recorder *recorder, tt_loop *loop, tt_frame *tick, tt_node *node, uint64_t duration,
                             const tt_worst_tick *causes)
{
    tt_worst_tick *worst = tt_worst_place(loop, duration);
    if (!worst) return;
    *worst = *causes;
    worst->duration = duration;
    worst->tick = loop->ticks;
    worst->start = tick->start;
    worst->row_count = 0;
    tt_breakdown(recorder, worst, node, tick->serial);
}

/* Where the time of a missed tick went. A tick that finds no memory for it is not counted among those known. */
static void tt_book_missed(tt_recorder *recorder, tt_loop_sums *sums, const tt_frame *tick, tt_node *top,
                           uint64_t duration, const tt_worst_tick *causes)
{
    tt_ref top_ref = tt_ref_of(recorder, top);
    tt_causes_add(&sums->missed_causes, causes);
    for (tt_node *node = tt_next_below(recorder, top, top_ref); node; node = tt_next_below(recorder, node, top_ref)) {
        if (node->tick_epoch != tick->serial) continue;
        uint64_t *sum = tt_missed_sum(recorder, &sums->missed_rows, tt_ref_of(recorder, node));
        if (!sum) {
            tt_lose(recorder, TT_LOSS_MEMORY);
            return;
        }
        *sum += node->tick_sum;
    }
    sums->missed_sum += duration;
    sums->missed++;
}

/* Whether the tick was missed. */
static int tt_book_budget(tt_recorder *recorder, tt_loop *loop, tt_loop_sums *sums, uint64_t work)
{
    if (!loop->budget_ticks) return 0;
    if (work <= loop->budget_ticks) {
        loop->miss_run = 0;
        return 0;
    }
    uint64_t late = work - loop->budget_ticks;
    loop->missed++;
    loop->late_sum += late;
    if (late > loop->late_maximum) loop->late_maximum = late;
    if (++loop->miss_run > loop->longest_miss_run) loop->longest_miss_run = loop->miss_run;
    tt_count_in(recorder, sums->late_octaves, late);
    return 1;
}

static void tt_book_jitter(tt_recorder *recorder, tt_loop *loop, tt_loop_sums *sums, uint64_t duration)
{
    uint64_t last = loop->previous_plus_one;
    loop->previous_plus_one = duration + 1;
    if (!last--) return;
    uint64_t step = duration > last ? duration - last : last - duration;
    loop->jitter_count++;
    loop->jitter_sum += step;
    tt_count_in(recorder, sums->jitter_octaves, step);
}

static void tt_book_first(tt_recorder *recorder, tt_loop *loop, uint64_t duration, uint64_t waited)
{
    if (loop->first_count >= TT_FIRST_TICKS) return;
    if (!loop->first_count && recorder->clock != TT_CLOCK_VIRTUAL) loop->first_wall_ns = tt_clock_ns(CLOCK_REALTIME);
    tt_sums_of(recorder, loop)->first_waited[loop->first_count] = waited;
    loop->first[loop->first_count++] = duration;
}

static void tt_node_set_aside(tt_recorder *recorder, tt_node *node)
{
    tt_write_begin(&node->sequence);
    tt_stats *warm = &node->warmup;
    warm->count += node->stats.count;
    warm->sum += node->stats.sum;
    if (node->stats.minimum < warm->minimum) warm->minimum = node->stats.minimum;
    if (node->stats.maximum > warm->maximum) warm->maximum = node->stats.maximum;
    tt_stats_clear(&node->stats);
    for (unsigned octave = 0; octave < TT_OCTAVES; octave++) {
        tt_ref from = node->octaves[octave], to = node->warmup_octaves[octave];
        if (!from) continue;
        if (to) {
            uint64_t *counts = ((tt_octave *)tt_at(recorder, from))->counts;
            for (unsigned at = 0; at < TT_SUB_BUCKETS; at++) {
                ((tt_octave *)tt_at(recorder, to))->counts[at] += counts[at];
                counts[at] = 0;
            }
        } else {
            node->warmup_octaves[octave] = from;
            node->octaves[octave] = 0;
        }
    }
    node->flags |= TT_NODE_PHASED;
    tt_write_end(&node->sequence);
}

/* What a loop's record holds of the steady phase begins anew. */
static void tt_loop_set_aside(tt_recorder *recorder, tt_loop *loop)
{
    loop->warmup_ticks = loop->ticks;
    loop->missed = loop->miss_run = loop->longest_miss_run = 0;
    loop->late_sum = loop->late_maximum = 0;
    loop->jitter_count = loop->jitter_sum = loop->previous_plus_one = 0;
    loop->worst_count = 0;
    tt_sums_clear(recorder, tt_sums_of(recorder, loop));
}

/* At a tick boundary: what was counted so far was warm-up; the steady phase starts from nothing, that of the loops
 * inside too. The caller holds the loop's sequence odd. */
static void tt_warmup_end(tt_recorder *recorder, tt_loop *loop)
{
    tt_node *top = tt_node_at(recorder, loop->node);
    for (tt_node *node = top; node; node = tt_next_below(recorder, node, loop->node)) {
        tt_node_set_aside(recorder, node);
        if (!node->ticks || node == top) continue;
        tt_loop *inner = tt_at(recorder, node->ticks);
        tt_write_begin(&inner->sequence);
        tt_loop_set_aside(recorder, inner);
        tt_write_end(&inner->sequence);
    }
    tt_loop_set_aside(recorder, loop);
}

static void tt_warmup_look(tt_recorder *recorder, tt_loop *loop)
{
    tt_loop_sums *sums = tt_sums_of(recorder, loop);
    if (sums->flags & TT_SUMS_BY_HAND) {
        if (loop->ticks != loop->warmup_asked) return;
        sums->flags |= TT_SUMS_WARM;
        tt_warmup_end(recorder, loop);
    } else if (loop->ticks <= TT_FIRST_TICKS && TT_WARMUP_LOOKS >> (loop->ticks - 1) & 1) {
        if (tt_warmup_of(loop->first, sums->first_waited, (unsigned)loop->ticks) > loop->warmup_ticks)
            tt_warmup_end(recorder, loop);
    }
}

static uint64_t tt_waited(const tt_frame *tick, uint64_t duration)
{
    uint64_t open = tick->waits_open ? tick->start + duration - tick->wait_start : 0;
    return tick->waited + open < duration ? tick->waited + open : duration;
}

static inline void tt_tick_end(tt_recorder *recorder, tt_frame *tick, tt_node *node, uint64_t duration,
                               enum tt_ending ending)
{
    tt_loop *loop = node->ticks ? tt_at(recorder, node->ticks) : NULL;
    if (!loop || ending == TT_VOID) return;
    tt_write_begin(&loop->sequence);
    tt_worst_tick causes;
    tt_take_causes(recorder, loop, &causes, tt_ticks_to_ns(recorder, duration));
    if (ending == TT_OPEN) {
        loop->incomplete++;
        loop->previous_plus_one = 0;
    } else {
        tt_loop_sums *sums = tt_sums_of(recorder, loop);
        uint64_t waited = tt_waited(tick, duration);
        loop->busy += duration;
        tt_book_first(recorder, loop, duration, waited);
        if (tt_book_budget(recorder, loop, sums, duration - waited))
            tt_book_missed(recorder, sums, tick, node, duration, &causes);
        tt_book_jitter(recorder, loop, sums, duration);
        tt_keep_if_worst(recorder, loop, tick, node, duration, &causes);
        tt_causes_add(&sums->causes, &causes);
        sums->waited += waited;
        sums->ticks++;
        loop->ticks++;
        tt_warmup_look(recorder, loop);
    }
    tt_write_end(&loop->sequence);
}

/* The stack of this thread that holds an open frame, or NULL. */
static tt_stack *tt_stack_holding(tt_thread *thread, const tt_frame *wanted)
{
    for (tt_stack *stack = &thread->base; stack; stack = stack == &thread->base ? thread->stacks : stack->next)
        for (tt_frame *frame = stack->top; frame; frame = tt_below(frame))
            if (frame == wanted) return stack;
    return NULL;
}

/* Ends an open tick, and what is open inside it. */
static void tt_tick_close(tt_recorder *recorder, tt_stack *stack, tt_frame *tick, tt_pyframe *pyframe, uint64_t now,
                          enum tt_ending ending)
{
    tt_unwind_to(recorder, stack, tick, pyframe, now, ending);
    tt_pop(recorder, stack, tick, now, ending);
}

/* What happened since the last boundary is no cause of a tick that does not begin there, nor is the tick before its
 * neighbour: an episode has ended in between. */
static void tt_loop_begin_anew(const tt_recorder *recorder, tt_loop *loop)
{
    loop->boundary_gc_ticks = recorder->header->gc_ticks;
    loop->boundary_known = 0;
    loop->previous_plus_one = 0;
}

static tt_frame *tt_tick_open(tt_recorder *recorder, tt_stack *stack, tt_section *section, tt_pyframe *pyframe,
                              double hz, uint64_t warmup, int goes_on, uint32_t held, uint64_t now)
{
    uint32_t flags = TT_FRAME_SOFT | TT_FRAME_TICK | held | tt_generator_flag(pyframe);
    tt_frame *tick = tt_push(recorder, stack, tt_frame_around(recorder, stack, pyframe), section, pyframe, flags, now);
    if (!tick || !tick->node) return tick;
    tt_loop *loop = tt_loop_of(recorder, tick->node);
    if (!loop) {
        tt_lose(recorder, TT_LOSS_MEMORY);
        return tick;
    }
    tt_loop_ask(recorder, loop, hz, warmup);
    if (!goes_on) tt_loop_begin_anew(recorder, loop);
    return tick;
}

/* The open tick of this loop that the running code is in: only stages and inner ticks lie between. */
static tt_frame *tt_tick_around(tt_recorder *recorder, tt_stack *stack, tt_section *section, tt_pyframe *pyframe)
{
    tt_frame *frame = tt_frame_around(recorder, stack, pyframe);
    while (frame && frame->flags & TT_FRAME_SOFT) {
        if (frame->flags & TT_FRAME_TICK && frame->section == tt_section_mark(section, TT_FRAME_SOFT)) return frame;
        frame = tt_parent_frame(recorder, frame);
    }
    return NULL;
}

/* A boundary of a loop whose `for` is somebody else's: ends its tick, if one is open here, and begins the next. */
static void tt_tick(tt_section *section, double hz, uint64_t warmup)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording) return;
    uint64_t now = tt_now(recorder);
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state);
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *tick = stack ? tt_tick_around(recorder, stack, section, pyframe) : NULL;
    int goes_on = tick && tt_stack_holding(stack->thread, tick) == stack;
    if (goes_on) tt_tick_close(recorder, stack, tick, pyframe, now, TT_COMPLETE);
    if (stack) tick = tt_tick_open(recorder, stack, section, pyframe, hz, warmup, goes_on, 0, now);
    if (tt_is_measured(section)) tt_sample_done();
    tt_pushed(section, tick, pyframe);
}

/* Ends the tick that a loop object began, wherever it is; it may have been ended by the section around it. */
static void tt_loop_end_tick(tt_section *section, tt_frame *tick, uint64_t serial, enum tt_ending ending)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording || recorder->forked || !tick) return;
    uint64_t now = tt_now(recorder);
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return;
    tt_thread *thread = tick->serial == serial ? tt_thread_here(recorder) : NULL;
    tt_stack *stack = thread ? tt_stack_holding(thread, tick) : NULL;
    if (stack) tt_tick_close(recorder, stack, tick, tt_pyframe_now(tt_thread_state()), now, ending);
    if (tt_is_measured(section)) tt_sample_done();
    if (stack) tt_stack_rest(stack);
}

/* Ends what is open inside the loop's tick, but not the tick: what follows is no stage's time. */
static void tt_loop_end_stages(tt_section *section, tt_frame *tick, uint64_t serial)
{
    tt_recorder *recorder = section->recorder;
    if (!recorder->recording || recorder->forked || !tick || tick->serial != serial) return;
    tt_thread *thread = tt_thread_here(recorder);
    tt_stack *stack = thread ? tt_stack_holding(thread, tick) : NULL;
    if (stack) tt_unwind_to(recorder, stack, tick, tt_pyframe_now(tt_thread_state()), tt_now(recorder), TT_COMPLETE);
}

/* A boundary of a loop object's own: one reading of the clock ends the tick `serial` and begins the next, whose serial
 * it becomes. */
static tt_frame *tt_loop_boundary(tt_section *section, tt_frame *tick, uint64_t *serial, double hz, uint64_t warmup)
{
    tt_recorder *recorder = section->recorder;
    uint64_t ended = *serial;
    *serial = 0;
    if (!recorder->recording) return NULL;
    uint64_t now = tt_now(recorder);
    if (tt_is_measured(section) && !tt_sample_prepare(section)) return NULL;
    PyThreadState *state = tt_thread_state();
    tt_stack *stack = tt_stack_now(recorder, state), *holder = NULL;
    tt_pyframe *pyframe = tt_pyframe_now(state);
    tt_frame *next = NULL;
    if (stack && tick && tick->serial == ended) holder = tt_stack_holding(stack->thread, tick);
    if (holder) tt_tick_close(recorder, holder, tick, pyframe, now, TT_COMPLETE);
    if (stack) next = tt_tick_open(recorder, stack, section, pyframe, hz, warmup, holder != NULL, TT_FRAME_HELD, now);
    if (next) *serial = next->serial;
    if (tt_is_measured(section)) tt_sample_done();
    tt_pushed(section, next, pyframe);
    if (holder && holder != stack) tt_stack_rest(holder);
    return next;
}

#endif
