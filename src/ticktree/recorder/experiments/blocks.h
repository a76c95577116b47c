/* Experiments: what sections take while one of them is made faster or slower, block by block. */
#ifndef TICKTREE_BLOCKS_H
#define TICKTREE_BLOCKS_H

#include "ledger.h"

/* -- which node is which target -------------------------------------------------------------------------------------- */

/* The name before `at` in a target's path, or NULL at its end; both begin from the inside. */
static const char *tt_name_outside(const tt_target *target, const char *at)
{
    at = at ? at + strlen(at) + 1 : target->path;
    return at < target->path + target->length ? at : NULL;
}

static int tt_is_named(const tt_recorder *recorder, const tt_node *node, const char *name)
{
    const uint8_t *text = tt_at(recorder, node->name);
    uint32_t length;
    memcpy(&length, text, sizeof length);
    return strlen(name) == length && !memcmp(text + sizeof length, name, length);
}

/* Whether a node is at a target's path. In a process that another started, of the path above its own root nothing is
 * known here: there the names below must be the path's last. */
static int tt_is_target(const tt_recorder *recorder, const tt_node *node, const tt_target *target)
{
    const char *name = tt_name_outside(target, NULL);
    for (; node; node = node->parent ? tt_node_at(recorder, node->parent) : NULL) {
        if (node->flags & TT_NODE_ROOT) continue;
        if (!name || !tt_is_named(recorder, node, name)) return 0;
        name = tt_name_outside(target, name);
    }
    return !name || recorder->header->parent_pid != 0;
}

/* The number of the target that a node is; `target_count` for the loop; TT_NO_TARGET for none. */
static uint32_t tt_target_of(tt_recorder *recorder, tt_experiment *experiment, tt_ref node)
{
    if (TT_UNLIKELY(experiment->generation != recorder->generation)) {
        tt_map_clear(&experiment->targets);
        experiment->generation = recorder->generation;
    }
    uint64_t known = tt_map_get(&experiment->targets, node);
    if (TT_LIKELY(known)) return (uint32_t)known - 1;
    const tt_ledger *ledger = experiment->ledger;
    uint32_t found = TT_NO_TARGET;
    for (uint32_t at = 0; at <= ledger->target_count && found == TT_NO_TARGET; at++)
        if (tt_is_target(recorder, tt_node_at(recorder, node), &ledger->targets[at])) found = at;
    if (tt_map_reserve(&experiment->targets)) tt_map_add(&experiment->targets, node, found + 1);
    return found;
}

/* -- from block to block --------------------------------------------------------------------------------------------- */

/* From now on this is done, until the next change. */
static void tt_plan_begin(tt_ledger *ledger, const tt_plan *plan, uint64_t now_ns)
{
    ledger->number++;
    for (uint32_t at = 0; at < TT_CALLS; at++) __atomic_store_n(&ledger->calls[at], 0, __ATOMIC_RELAXED);
    uint64_t until = now_ns + ledger->block_most_ns, watched = __atomic_load_n(&ledger->watched_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger->until_ns, watched && watched < until ? watched : until, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger->now, tt_plan_pack(ledger->number, plan), __ATOMIC_RELEASE);
}

static void tt_rest_begin(tt_ledger *ledger, uint64_t now_ns)
{
    const tt_plan nothing = {TT_NOTHING, 0, 0, 0};
    ledger->open.plan = ledger->plans[ledger->planned++ % ledger->plan_count];
    ledger->ticks = 0;
    tt_plan_begin(ledger, &nothing, now_ns);
}

/* What has been added to the ledger's sums since a block had them as they were. */
static void tt_block_sums(const tt_ledger *ledger, tt_block *block)
{
    block->owed_ns = tt_owed(ledger) - block->owed_ns;
    block->delayed_ns = __atomic_load_n(&ledger->delayed_ns, __ATOMIC_RELAXED) - block->delayed_ns;
    block->forgiven_ns = __atomic_load_n(&ledger->forgiven_ns, __ATOMIC_RELAXED) - block->forgiven_ns;
    for (uint32_t at = 0; at < TT_TARGETS; at++)
        block->spent_ns[at] = __atomic_load_n(&ledger->targets[at].spent_ns, __ATOMIC_RELAXED) - block->spent_ns[at];
}

static void tt_block_begin(tt_ledger *ledger, uint64_t now_ns)
{
    ledger->open = (tt_block){.began_ns = now_ns, .plan = ledger->open.plan};
    tt_block_sums(ledger, &ledger->open);
}

static void tt_block_end(tt_ledger *ledger, uint64_t now_ns)
{
    if (now_ns > ledger->until_ns || ledger->block_count >= TT_BLOCKS) return; /* in a part of it nothing was done */
    tt_block *block = &ledger->blocks[ledger->block_count];
    *block = ledger->open;
    block->ended_ns = now_ns;
    block->ticks = ledger->block_ticks;
    tt_block_sums(ledger, block);
    __atomic_store_n(&ledger->block_count, ledger->block_count + 1, __ATOMIC_RELEASE);
}

static uint64_t tt_own_id(const tt_recorder *recorder)
{
    return (uint64_t)recorder->pid << 32 | (uint32_t)((uintptr_t)&tt_payer_here >> 4);
}

/* A tick of the loop has ended. Of several threads that run it the first to come counts them.
 *
 * Before each block nothing is done for as many ticks as it has: queues that have filled while a section was faster are
 * emptied again, or what is measured next would be their filling. Then what is planned is done, and once the program has
 * settled it is measured. */
static void tt_block_tick(const tt_recorder *recorder, tt_ledger *ledger)
{
    uint64_t owner = 0, us = tt_own_id(recorder), now_ns = tt_experiment_ns(recorder);
    if (__atomic_compare_exchange_n(&ledger->owner, &owner, us, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        tt_rest_begin(ledger, now_ns);
        return;
    }
    if (owner != us) return;
    uint64_t ticks = ++ledger->ticks, rest = ledger->rest_ticks, begin = rest + ledger->settle_ticks;
    if (ticks == rest) tt_plan_begin(ledger, &ledger->open.plan, now_ns);
    if (ticks == begin) tt_block_begin(ledger, now_ns);
    if (ticks == begin + ledger->block_ticks / 2) {
        ledger->open.half_ns = now_ns - ledger->open.began_ns;
        ledger->open.half_owed_ns = tt_owed(ledger) - ledger->open.owed_ns;
    }
    if (ticks < begin + ledger->block_ticks) return;
    tt_block_end(ledger, now_ns);
    tt_rest_begin(ledger, now_ns);
}

/* -- calls ----------------------------------------------------------------------------------------------------------- */

static uint64_t tt_cpu_ns(const tt_recorder *recorder)
{
    return recorder->clock == TT_CLOCK_VIRTUAL ? recorder->virtual_now : tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* A call begins, of any section; 1: time has passed that is not the call's. */
static TT_NOINLINE int tt_experiment_enter(tt_recorder *recorder, tt_frame *frame)
{
    tt_experiment *experiment = recorder->experiment;
    if (!experiment) return 0;
    frame->flags |= TT_FRAME_EXPERIMENT;
    if (!tt_ledger_is_on(experiment->ledger)) return 0;
    uint32_t target = tt_target_of(recorder, experiment, frame->node);
    if (target >= experiment->ledger->target_count) return 0;
    tt_payer *payer = tt_payer_of(recorder);
    tt_target_call *open = &payer->open[target];
    if (open->serial && open->generation == recorder->generation && open->frame->serial == open->serial) return 0;
    uint64_t now_ns = tt_experiment_ns(recorder);
    tt_plan plan = tt_plan_now(experiment->ledger, now_ns, &open->number);
    if (plan.intervention == TT_FASTER && plan.target == target) tt_call_open(payer, now_ns);
    open->frame = frame;
    open->generation = recorder->generation;
    open->serial = recorder->serial + 1; /* which it is given next */
    open->waited_ns = payer->waited_ns;
    open->paused_ns = payer->paused_ns;
    open->away_ns = payer->away_ns;
    open->start = tt_now(recorder);
    open->cpu_ns = tt_cpu_ns(recorder);
    return 1;
}

/* All of a call's time but pauses and waits for other threads. */
static uint64_t tt_lasted_ns(const tt_recorder *recorder, const tt_payer *payer, const tt_target_call *open, uint64_t now)
{
    uint64_t whole = tt_ticks_to_ns(recorder, now - open->start);
    uint64_t out = payer->paused_ns - open->paused_ns + payer->away_ns - open->away_ns;
    if (payer->pause_ticks >= now) out -= payer->pause_ns; /* paid as it ended, after the clock was read */
    return whole > out ? whole - out : 0;
}

/* What a call took that could be faster: what its thread computed, and what it waited for something outside of the run.
 * No wait for another thread, which is that one's time; nor for the GIL, a core, or an unknown lock. */
static uint64_t tt_target_ns(const tt_recorder *recorder, const tt_payer *payer, const tt_target_call *open, uint64_t most)
{
    if (recorder->clock == TT_CLOCK_VIRTUAL) return most;
    uint64_t took = tt_cpu_ns(recorder) - open->cpu_ns + payer->waited_ns - open->waited_ns;
    return took < most ? took : most;
}

static void tt_intervene(tt_ledger *ledger, tt_payer *payer, const tt_plan *plan, uint64_t took, int waits)
{
    uint64_t part = took * plan->percent / 100;
    if (part > (uint64_t)TT_PAUSE_MOST_NS) part = (uint64_t)TT_PAUSE_MOST_NS;
    if (plan->intervention == TT_FASTER) {
        __atomic_fetch_add(&ledger->owed_ns, part, __ATOMIC_RELAXED);
        payer->paid_ns += (int64_t)part;
    } else if (plan->intervention == TT_SLOWER) {
        payer->delay_ns += part;
        payer->spins = !waits;
    }
}

static void tt_target_end(tt_recorder *recorder, tt_ledger *ledger, uint32_t target, const tt_frame *frame, uint64_t now)
{
    tt_payer *payer = tt_payer_of(recorder);
    tt_target_call *open = &payer->open[target];
    if (open->serial != frame->serial || open->generation != recorder->generation) return;
    open->serial = 0;
    tt_target *record = &ledger->targets[target];
    if (frame->flags & TT_FRAME_GENERATOR) {
        tt_call_close(payer);
        __atomic_fetch_add(&record->asleep, 1, __ATOMIC_RELAXED);
        return;
    }
    uint64_t lasted = tt_lasted_ns(recorder, payer, open, now), took = tt_target_ns(recorder, payer, open, lasted), number;
    tt_plan plan = tt_plan_now(ledger, tt_experiment_ns(recorder), &number);
    if (plan.target == target) tt_call_close(payer);
    __atomic_fetch_add(&record->spent_ns, took, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->lasted_ns, lasted, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->calls, 1, __ATOMIC_RELAXED);
    if (plan.intervention == TT_NOTHING || plan.target != target || number != open->number) return;
    tt_intervene(ledger, payer, &plan, took, 2 * (payer->waited_ns - open->waited_ns) > took);
}

/* A call ends, before it is booked. */
static void tt_experiment_leave(tt_recorder *recorder, const tt_frame *frame, uint64_t now, enum tt_ending ending)
{
    tt_experiment *experiment = recorder->experiment;
    if (!experiment || !tt_ledger_is_on(experiment->ledger)) return;
    tt_payer *payer = tt_payer_of(recorder);
    if (frame->flags & TT_FRAME_WAIT && payer->woken_serial < frame->serial)
        payer->waited_ns += tt_ticks_to_ns(recorder, now - frame->start);
    uint32_t target = tt_target_of(recorder, experiment, frame->node);
    if (target < experiment->ledger->target_count) tt_target_end(recorder, experiment->ledger, target, frame, now);
    else if (target != TT_NO_TARGET && frame->flags & TT_FRAME_TICK && ending == TT_COMPLETE)
        tt_block_tick(recorder, experiment->ledger);
}

/* A call has ended and is booked: the time that makes its section slower. It may run any code. */
static TT_NOINLINE void tt_experiment_left(tt_recorder *recorder)
{
    tt_payer *payer = &tt_payer_here;
    if (TT_LIKELY(!payer->delay_ns) || !recorder->experiment) return;
    uint64_t delay = payer->delay_ns;
    payer->delay_ns = 0;
    uint64_t took = tt_pause_for(recorder, delay, payer->spins);
    __atomic_fetch_add(&payer->ledger->delayed_ns, took, __ATOMIC_RELAXED);
}

/* -- its life -------------------------------------------------------------------------------------------------------- */

/* From now on this process takes part. 0: it cannot, and is recorded as any other. */
static int tt_experiment_begin(tt_recorder *recorder, const char *path)
{
    tt_experiment *experiment = recorder->experiment ? NULL : calloc(1, sizeof *experiment);
    tt_ledger *ledger = experiment ? tt_ledger_join(path) : NULL;
    if (!ledger) {
        free(experiment);
        return 0;
    }
    experiment->ledger = ledger;
    recorder->experiment = experiment;
    recorder->always |= TT_FRAME_EXPERIMENT;
    for (tt_section *section = recorder->sections; section; section = section->next)
        if (!(section->node_flags & TT_NODE_NS)) section->frame_flags |= TT_FRAME_EXPERIMENT;
    return 1;
}

static void tt_experiment_end(tt_recorder *recorder)
{
    tt_experiment *experiment = recorder->experiment;
    if (!experiment) return;
    recorder->experiment = NULL;
    munmap(experiment->ledger, sizeof *experiment->ledger);
    tt_map_free(&experiment->targets);
    free(experiment);
}

#endif
