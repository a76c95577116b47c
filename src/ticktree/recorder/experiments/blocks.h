/* Experiments: measuring sections while one of them is made faster or slower, block by block. */
#ifndef TICKTREE_BLOCKS_H
#define TICKTREE_BLOCKS_H

#include "ledger.h"

/* -- nodes and targets --------------------------------------------------------------------------------------------- */

/* The name after `name` in a target's path, which goes from the inside out, or NULL at its end. NULL: the first
 * name. */
static const char *tt_outer_name(const tt_target *target, const char *name)
{
    name = name ? name + strlen(name) + 1 : target->path;
    return name < target->path + target->length ? name : NULL;
}

static int tt_has_name(const tt_recorder *recorder, const tt_node *node, const char *name)
{
    const uint8_t *text = tt_at(recorder, node->name);
    uint32_t length;
    memcpy(&length, text, sizeof length);
    return strlen(name) == length && !memcmp(text + sizeof length, name, length);
}

/* Whether a node is at a target's path. A child process does not know the path above its own root: there the names
 * below must be the path's last. */
static int tt_is_target(const tt_recorder *recorder, const tt_node *node, const tt_target *target)
{
    const char *name = tt_outer_name(target, NULL);
    for (; node; node = node->parent ? tt_node_at(recorder, node->parent) : NULL) {
        if (node->flags & TT_NODE_ROOT) continue;
        if (!name || !tt_has_name(recorder, node, name)) return 0;
        name = tt_outer_name(target, name);
    }
    return !name || recorder->header->parent_pid != 0;
}

/* The number of a node's target; `target_count` for the loop; TT_NO_TARGET for none. */
static uint32_t tt_target_of(tt_recorder *recorder, tt_experiment *experiment, tt_ref node)
{
    if (TT_UNLIKELY(experiment->generation != recorder->generation)) {
        tt_map_clear(&experiment->targets);
        experiment->generation = recorder->generation;
    }
    uint64_t cached = tt_map_get(&experiment->targets, node);
    if (TT_LIKELY(cached)) return (uint32_t)cached - 1;
    const tt_ledger *ledger = experiment->ledger;
    uint32_t target = TT_NO_TARGET;
    for (uint32_t i = 0; i <= ledger->target_count && target == TT_NO_TARGET; i++)
        if (tt_is_target(recorder, tt_node_at(recorder, node), &ledger->targets[i])) target = i;
    if (tt_map_reserve(&experiment->targets)) tt_map_add(&experiment->targets, node, target + 1);
    return target;
}

/* -- blocks -------------------------------------------------------------------------------------------------------- */

/* Sets the current intervention. */
static void tt_plan_begin(tt_ledger *ledger, const tt_plan *plan, uint64_t now_ns)
{
    ledger->number++;
    for (uint32_t i = 0; i < TT_CALLS; i++) __atomic_store_n(&ledger->calls[i], 0, __ATOMIC_RELAXED);
    uint64_t until = now_ns + ledger->block_most_ns;
    uint64_t watch_until = __atomic_load_n(&ledger->watch_until_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger->until_ns, watch_until && watch_until < until ? watch_until : until, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger->current, tt_plan_pack(ledger->number, plan), __ATOMIC_RELEASE);
}

static void tt_rest_begin(tt_ledger *ledger, uint64_t now_ns)
{
    const tt_plan nothing = {TT_NOTHING, 0, 0, 0};
    ledger->open.plan = ledger->plans[ledger->plan_index++ % ledger->plan_count];
    ledger->ticks = 0;
    tt_plan_begin(ledger, &nothing, now_ns);
}

/* Turns the sums that a block copied at its begin into what was added to them since. */
static void tt_block_sums(const tt_ledger *ledger, tt_block *block)
{
    block->owed_ns = tt_owed_ns(ledger) - block->owed_ns;
    block->delayed_ns = __atomic_load_n(&ledger->delayed_ns, __ATOMIC_RELAXED) - block->delayed_ns;
    block->forgiven_ns = __atomic_load_n(&ledger->forgiven_ns, __ATOMIC_RELAXED) - block->forgiven_ns;
    for (uint32_t i = 0; i < TT_TARGETS; i++)
        block->spent_ns[i] = __atomic_load_n(&ledger->targets[i].spent_ns, __ATOMIC_RELAXED) - block->spent_ns[i];
}

static void tt_block_end(tt_ledger *ledger, uint64_t now_ns)
{
    if (now_ns > ledger->until_ns || ledger->block_count >= TT_BLOCKS) return; /* its intervention had stopped */
    tt_block *block = &ledger->blocks[ledger->block_count];
    *block = ledger->open;
    block->ended_ns = now_ns;
    block->ticks = ledger->block_ticks;
    tt_block_sums(ledger, block);
    __atomic_store_n(&ledger->block_count, ledger->block_count + 1, __ATOMIC_RELEASE);
}

/* A tick of the loop has ended. If several threads run the loop, the first one counts the ticks.
 *
 * Before each block there is no intervention for as many ticks: queues that filled while a section was faster must
 * drain, or the next block would measure that. Then the intervention begins, and once the program has settled it is
 * measured. */
static void tt_block_tick(const tt_recorder *recorder, tt_ledger *ledger)
{
    uint64_t owner = 0, now_ns = tt_experiment_ns(recorder);
    uint64_t own_id = (uint64_t)recorder->pid << 32 | (uint32_t)((uintptr_t)&tt_payer_here >> 4); /* of this thread */
    if (__atomic_compare_exchange_n(&ledger->owner, &owner, own_id, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        tt_rest_begin(ledger, now_ns);
        return;
    }
    if (owner != own_id) return;
    uint64_t ticks = ++ledger->ticks, rest = ledger->rest_ticks, begin = rest + ledger->settle_ticks;
    if (ticks == rest) tt_plan_begin(ledger, &ledger->open.plan, now_ns);
    if (ticks == begin) {
        ledger->open = (tt_block){.began_ns = now_ns, .plan = ledger->open.plan};
        tt_block_sums(ledger, &ledger->open);
    }
    if (ticks == begin + ledger->block_ticks / 2) {
        ledger->open.half_ns = now_ns - ledger->open.began_ns;
        ledger->open.half_owed_ns = tt_owed_ns(ledger) - ledger->open.owed_ns;
    }
    if (ticks < begin + ledger->block_ticks) return;
    tt_block_end(ledger, now_ns);
    tt_rest_begin(ledger, now_ns);
}

/* -- calls --------------------------------------------------------------------------------------------------------- */

/* A call of any section begins; 1: it took time that is not the call's. */
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
    uint64_t now_ns = tt_experiment_ns(recorder), number;
    tt_plan plan = tt_plan_now(experiment->ledger, now_ns, &number);
    if (plan.intervention == TT_FASTER && plan.target == target) tt_call_open(payer, now_ns);
    *open = (tt_target_call){.frame = frame, .generation = recorder->generation, .number = number,
                             .serial = recorder->serial + 1 /* the frame gets it next */, .waited_ns = payer->waited_ns,
                             .paused_ns = payer->paused_ns, .blocked_ns = payer->blocked_ns, .start = tt_now(recorder)};
    open->cpu_ns = tt_now_ns(recorder, CLOCK_THREAD_CPUTIME_ID);
    return 1;
}

/* The time of a call without pauses and waits for other threads. */
static uint64_t tt_active_ns(const tt_recorder *recorder, const tt_payer *payer, const tt_target_call *open, uint64_t now)
{
    uint64_t total = tt_ticks_to_ns(recorder, now - open->start);
    uint64_t excluded = payer->paused_ns - open->paused_ns + payer->blocked_ns - open->blocked_ns;
    if (payer->pause_ticks >= now) excluded -= payer->pause_ns; /* paid as the call ended, after the clock was read */
    return total > excluded ? total - excluded : 0;
}

/* The time of a call that could get faster: its thread's computation, and its waits for something outside of the run.
 * Waits for another thread are that thread's time; waits for the GIL, a core or an unknown lock do not count either. */
static uint64_t tt_target_ns(const tt_recorder *recorder, const tt_payer *payer, const tt_target_call *open, uint64_t max_ns)
{
    if (recorder->clock == TT_CLOCK_VIRTUAL) return max_ns;
    uint64_t cpu_ns = tt_now_ns(recorder, CLOCK_THREAD_CPUTIME_ID) - open->cpu_ns;
    uint64_t self_ns = cpu_ns + payer->waited_ns - open->waited_ns;
    return self_ns < max_ns ? self_ns : max_ns;
}

static void tt_intervene(tt_ledger *ledger, tt_payer *payer, const tt_plan *plan, uint64_t self_ns, int is_wait)
{
    uint64_t change_ns = self_ns * plan->percent / 100;
    if (change_ns > (uint64_t)TT_PAUSE_MAX_NS) change_ns = (uint64_t)TT_PAUSE_MAX_NS;
    if (plan->intervention == TT_FASTER) {
        __atomic_fetch_add(&ledger->owed_ns, change_ns, __ATOMIC_RELAXED);
        payer->paid_ns += (int64_t)change_ns;
    } else if (plan->intervention == TT_SLOWER) {
        payer->delay_ns += change_ns;
        payer->spins = !is_wait;
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
        __atomic_fetch_add(&record->sleeping_calls, 1, __ATOMIC_RELAXED);
        return;
    }
    uint64_t active_ns = tt_active_ns(recorder, payer, open, now), number;
    uint64_t self_ns = tt_target_ns(recorder, payer, open, active_ns);
    tt_plan plan = tt_plan_now(ledger, tt_experiment_ns(recorder), &number);
    if (plan.target == target) tt_call_close(payer);
    __atomic_fetch_add(&record->spent_ns, self_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->lasted_ns, active_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&record->calls, 1, __ATOMIC_RELAXED);
    if (plan.intervention == TT_NOTHING || plan.target != target || number != open->number) return;
    tt_intervene(ledger, payer, &plan, self_ns, 2 * (payer->waited_ns - open->waited_ns) > self_ns);
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

/* After a call is booked: spends the time that makes its section slower. It may run any code. */
static TT_NOINLINE void tt_experiment_delay(tt_recorder *recorder)
{
    tt_payer *payer = &tt_payer_here;
    if (TT_LIKELY(!payer->delay_ns) || !recorder->experiment) return;
    uint64_t delay = payer->delay_ns;
    payer->delay_ns = 0;
    uint64_t slept_ns = tt_pause_for(recorder, delay, payer->spins);
    __atomic_fetch_add(&payer->ledger->delayed_ns, slept_ns, __ATOMIC_RELAXED);
}

/* -- lifecycle ----------------------------------------------------------------------------------------------------- */

/* Lets this process take part. 0: it cannot, and is recorded normally. */
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
    recorder->default_flags |= TT_FRAME_EXPERIMENT;
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
