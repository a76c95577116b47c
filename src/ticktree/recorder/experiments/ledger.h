/* The ledger of experiments: which section is made faster or slower now, by how much, and how much delay threads owe.
 *
 * A section cannot be made faster, but all other threads can be delayed by the time it would have saved, which is the
 * same except for the clock (C. Curtsinger and E. Berger, "Coz: finding code that counts with causal profiling", SOSP
 * 2015). So while the section runs for t, a part of t is added to the debt of every thread, and counts as paid by the
 * thread that runs the section. The debt grows continuously, not when the section ends: a thread that works for longer
 * than the faster section would take must be late at once, instead of waiting for it meanwhile. A thread pays with a
 * pause: where its sections begin and end, before it waits, and before it wakes another thread. A thread that was
 * blocked has waited as long as the thread that wakes it, so it has paid as much.
 *
 * The ledger is a file next to the memory files, mapped by all processes of the run. The thread that runs the measured
 * loop moves from block to block. If a program is killed, or leaves the loop, its last block ends at `until_ns`, and no
 * debt grows afterwards.
 */
#ifndef TICKTREE_LEDGER_H
#define TICKTREE_LEDGER_H

#include "core/hot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define TT_LEDGER_MAGIC 0x52474445534C5454ULL /* "TTLSEDGR" */
#define TT_LEDGER_FORMAT 1u
#define TT_TARGETS 16u
#define TT_BLOCKS 4096u
#define TT_TARGET_TEXT 1000u
#define TT_CALLS 64u /* simultaneous calls of the faster section; further calls add their debt when they end */
#define TT_PAUSE_MIN_NS 50000        /* a shorter sleep is mostly overshoot */
#define TT_PAUSE_MAX_NS 1000000000LL /* debt beyond that is forgiven, and the block dropped */

enum tt_intervention { TT_NOTHING, TT_FASTER, TT_SLOWER };

typedef struct { /* the intervention of a block */
    uint32_t intervention, target, percent, reserved;
} tt_plan;

/* One block, without its first ticks, in which the program settles. Times are of CLOCK_MONOTONIC. */
typedef struct {
    uint64_t began_ns, ended_ns, ticks;
    uint64_t owed_ns, delayed_ns, forgiven_ns; /* added to these in the block */
    uint64_t half_ns, half_owed_ns;            /* after half of its ticks: if the program has settled, the halves are even */
    tt_plan plan;
    uint64_t spent_ns[TT_TARGETS]; /* in each section, by all threads */
} tt_block;

typedef struct { /* a section of the experiments; the entry after the last one is the loop */
    uint64_t spent_ns, lasted_ns; /* of its calls: time that can get faster; all time but waits for other threads */
    uint64_t calls, sleeping_calls; /* sleeping: that may sleep, like a coroutine's; their time is unknown */
    uint32_t names, length;         /* of its path: names from the inside out, each ended by a zero byte */
    char path[TT_TARGET_TEXT];
} tt_target;

typedef struct {
    uint64_t magic;
    uint32_t format, bytes; /* compared as one word */
    uint32_t is_on; /* the plans are written: experiments may begin */
    uint32_t target_count, plan_count;
    uint32_t rest_ticks, settle_ticks, block_ticks; /* see `tt_block_tick` */
    uint32_t block_count;    /* complete ones */
    uint64_t block_most_ns;  /* a block that takes longer is dropped */
    uint64_t owner;          /* the thread that runs the loop; 0: none yet */
    uint64_t until_ns;
    uint64_t watch_until_ns; /* interventions stop when the supervisor no longer watches; 0: not set */
    uint64_t number;         /* of the open rest or block */
    uint64_t plan_index;     /* blocks so far */
    uint64_t current;        /* the intervention: see `tt_plan_pack` */
    uint64_t ticks;          /* of the open block, including those before its measurement */
    uint64_t owed_ns, delayed_ns, forgiven_ns;
    uint64_t calls[TT_CALLS]; /* open calls of the faster section: see `tt_call_ns` */
    tt_block open;
    tt_target targets[TT_TARGETS + 1];
    tt_plan plans[TT_BLOCKS];
    tt_block blocks[TT_BLOCKS];
} tt_ledger;

/* This process's share in the experiments. */
struct tt_experiment {
    tt_ledger *ledger;
    tt_map targets; /* node -> 1 + the number of the target; TT_NO_TARGET: none */
    uint32_t generation; /* of the nodes' memory */
};

#define TT_NO_TARGET 255u

/* The outermost open call of a target on its thread. */
typedef struct {
    tt_frame *frame;
    uint64_t serial, start, cpu_ns, waited_ns, blocked_ns, paused_ns, number;
    uint32_t generation;
} tt_target_call;

/* What a thread has paid, and its pauses and waits. */
typedef struct {
    tt_ledger *ledger; /* NULL: it has not seen one yet */
    int64_t paid_ns;    /* of its debt, since the ledger began; without its own open call */
    uint64_t paused_ns; /* in pauses */
    uint64_t pause_ticks, pause_ns; /* of the last pause: its begin, its length */
    uint64_t waited_ns; /* in waits that no recorded thread ended */
    uint64_t blocked_ns, blocked_since_ns; /* in waits for other threads; the begin of the open one, or 0 */
    uint64_t woken_serial;
    uint64_t *call, call_value; /* this thread's entry in `calls`, or NULL, and its value */
    uint64_t delay_ns; /* to spend once the ended call is booked */
    int spins;         /* whether to spend it working, not asleep */
    tt_target_call open[TT_TARGETS];
} tt_payer;

static __thread tt_payer tt_payer_here;

/* -- the file ------------------------------------------------------------------------------------------------------ */

/* NULL: it cannot be created. */
static tt_ledger *tt_ledger_make(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    tt_ledger *ledger = tt_reserve_blocks(fd, 0, sizeof(tt_ledger)) ? NULL : tt_map_file(fd, sizeof(tt_ledger));
    close(fd);
    if (!ledger) {
        unlink(path);
        return NULL;
    }
    ledger->format = TT_LEDGER_FORMAT;
    ledger->bytes = sizeof *ledger;
    __atomic_store_n(&ledger->magic, TT_LEDGER_MAGIC, __ATOMIC_RELEASE);
    return ledger;
}

/* Maps a ledger of this version that the supervisor has created. */
static tt_ledger *tt_ledger_join(const char *path)
{
    return tt_join_file(path, sizeof(tt_ledger), TT_LEDGER_MAGIC, (uint64_t)sizeof(tt_ledger) << 32 | TT_LEDGER_FORMAT);
}

/* Begins the interventions, and ends them together with all debt. */
static void tt_ledger_begin(tt_ledger *ledger) { __atomic_store_n(&ledger->is_on, 1, __ATOMIC_RELEASE); }
static void tt_ledger_stop(tt_ledger *ledger) { __atomic_store_n(&ledger->is_on, 0, __ATOMIC_RELEASE); }
static void tt_ledger_close(tt_ledger *ledger) { munmap(ledger, sizeof *ledger); }

static inline int tt_ledger_is_on(const tt_ledger *ledger) { return __atomic_load_n(&ledger->is_on, __ATOMIC_ACQUIRE); }

static inline uint64_t tt_experiment_ns(const tt_recorder *recorder) { return tt_now_ns(recorder, CLOCK_MONOTONIC); }

/* -- pauses -------------------------------------------------------------------------------------------------------- */

static uint64_t tt_plan_pack(uint64_t number, const tt_plan *plan)
{
    return number << 24 | plan->intervention << 16 | plan->target << 8 | plan->percent;
}

/* The current intervention; none in a block that its owner has left. */
static tt_plan tt_plan_now(tt_ledger *ledger, uint64_t now_ns, uint64_t *number)
{
    uint64_t packed = __atomic_load_n(&ledger->current, __ATOMIC_ACQUIRE);
    if (number) *number = packed >> 24;
    tt_plan plan = {packed >> 16 & 255, packed >> 8 & 255, packed & 255, 0};
    if (plan.intervention && now_ns > __atomic_load_n(&ledger->until_ns, __ATOMIC_RELAXED))
        return (tt_plan){TT_NOTHING, 0, 0, 0};
    return plan;
}

/* The debt for calls that have ended. */
static uint64_t tt_owed_ns(const tt_ledger *ledger) { return __atomic_load_n(&ledger->owed_ns, __ATOMIC_RELAXED); }

/* How long an open call of the faster section has lasted. `call` is its begin, or, while it waits for another thread
 * and the section does nothing, its length so far with TT_CALL_WAITS. */
#define TT_CALL_WAITS (1ULL << 63)

static uint64_t tt_call_ns(uint64_t call, uint64_t now_ns)
{
    if (call & TT_CALL_WAITS) return call & ~TT_CALL_WAITS;
    uint64_t ns = now_ns > call ? now_ns - call : 0;
    return ns < (uint64_t)TT_PAUSE_MAX_NS ? ns : (uint64_t)TT_PAUSE_MAX_NS;
}

/* The debt for so much of an open call. If calls often wait for the GIL or a core, only a part of their time can get
 * faster; that part is known only once a call has ended, so the average part counts. */
static int64_t tt_owed_part(const tt_ledger *ledger, const tt_plan *plan, uint64_t ns)
{
    const tt_target *target = &ledger->targets[plan->target];
    double spent = (double)__atomic_load_n(&target->spent_ns, __ATOMIC_RELAXED);
    double lasted = (double)__atomic_load_n(&target->lasted_ns, __ATOMIC_RELAXED);
    return (int64_t)((double)ns * plan->percent / 100 * (spent < lasted ? spent / lasted : 1));
}

/* The debt for calls that have ended, and those that are open. */
static int64_t tt_owed_ns_now(tt_ledger *ledger, uint64_t now_ns)
{
    tt_plan plan = tt_plan_now(ledger, now_ns, NULL);
    uint64_t open_ns = 0;
    for (uint32_t i = 0; plan.intervention == TT_FASTER && i < TT_CALLS; i++) {
        uint64_t call = __atomic_load_n(&ledger->calls[i], __ATOMIC_RELAXED);
        if (call) open_ns += tt_call_ns(call, now_ns);
    }
    return (int64_t)tt_owed_ns(ledger) + (open_ns ? tt_owed_part(ledger, &plan, open_ns) : 0);
}

/* The part of that debt from a thread's own open call, which counts as paid. */
static int64_t tt_own_owed_ns(const tt_payer *payer, uint64_t now_ns)
{
    if (!payer->call || __atomic_load_n(payer->call, __ATOMIC_RELAXED) != payer->call_value) return 0;
    tt_plan plan = tt_plan_now(payer->ledger, now_ns, NULL);
    return plan.intervention == TT_FASTER ? tt_owed_part(payer->ledger, &plan, tt_call_ns(payer->call_value, now_ns)) : 0;
}

/* 0: the entry belongs to another thread by now, or to none. */
static int tt_call_set(tt_payer *payer, uint64_t value)
{
    uint64_t expected = payer->call_value;
    payer->call_value = value;
    return payer->call && __atomic_compare_exchange_n(payer->call, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void tt_call_close(tt_payer *payer)
{
    tt_call_set(payer, 0);
    payer->call = NULL;
}

static void tt_call_open(tt_payer *payer, uint64_t now_ns)
{
    tt_call_close(payer);
    for (uint32_t i = 0; i < TT_CALLS && !payer->call; i++) {
        uint64_t free_call = 0, *call = &payer->ledger->calls[i];
        if (__atomic_load_n(call, __ATOMIC_RELAXED)) continue;
        if (__atomic_compare_exchange_n(call, &free_call, now_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) payer->call = call;
    }
    payer->call_value = now_ns;
}

/* The running thread; a new one begins without debt. */
static tt_payer *tt_payer_of(const tt_recorder *recorder)
{
    tt_payer *payer = &tt_payer_here;
    tt_ledger *ledger = recorder->experiment->ledger;
    if (TT_UNLIKELY(payer->ledger != ledger))
        *payer = (tt_payer){.ledger = ledger, .paid_ns = tt_owed_ns_now(ledger, tt_experiment_ns(recorder))};
    return payer;
}

/* Sleeps or works so long, without the GIL, or until a signal comes; returns how long it took. */
static uint64_t tt_pause_for(tt_recorder *recorder, uint64_t ns, int spins)
{
    if (recorder->clock == TT_CLOCK_VIRTUAL) {
        recorder->virtual_now += ns;
        return ns;
    }
    uint64_t began = tt_clock_ns(CLOCK_MONOTONIC), until = began + ns;
    struct timespec time = {(time_t)(ns / 1000000000ULL), (long)(ns % 1000000000ULL)};
    PyThreadState *state = PyEval_SaveThread();
    if (spins) while (tt_clock_ns(CLOCK_MONOTONIC) < until) {}
    else nanosleep(&time, NULL);
    PyEval_RestoreThread(state);
    return tt_clock_ns(CLOCK_MONOTONIC) - began;
}

/* A wait for another thread, or a pause, begins and ends: meanwhile the faster section does nothing. */
static inline void tt_call_pause(tt_payer *payer, uint64_t now_ns)
{
    if (payer->call) tt_call_set(payer, TT_CALL_WAITS | tt_call_ns(payer->call_value, now_ns));
}

static inline void tt_call_resume(tt_payer *payer, uint64_t now_ns)
{
    if (payer->call) tt_call_set(payer, now_ns - tt_call_ns(payer->call_value, now_ns));
}

static inline void tt_experiment_wait_begin(const tt_recorder *recorder)
{
    if (TT_LIKELY(recorder->experiment == NULL)) return;
    tt_payer *payer = tt_payer_of(recorder);
    payer->blocked_since_ns = tt_experiment_ns(recorder);
    tt_call_pause(payer, payer->blocked_since_ns);
}

static inline void tt_experiment_wait_end(const tt_recorder *recorder)
{
    if (TT_LIKELY(recorder->experiment == NULL) || !tt_payer_here.blocked_since_ns) return;
    tt_payer *payer = tt_payer_of(recorder);
    uint64_t now_ns = tt_experiment_ns(recorder);
    tt_call_resume(payer, now_ns);
    payer->blocked_ns += now_ns - payer->blocked_since_ns;
    payer->blocked_since_ns = 0;
}

/* Pays this thread's debt. It may run any code. A pause that took too long counts for the next. */
static TT_NOINLINE void tt_pay(tt_recorder *recorder)
{
    tt_ledger *ledger = recorder->experiment->ledger;
    tt_payer *payer = tt_payer_of(recorder);
    int64_t allowance = TT_PAUSE_MAX_NS;
    payer->pause_ticks = tt_now(recorder);
    payer->pause_ns = 0;
    for (;;) { /* the debt grows during a pause */
        uint64_t now_ns = tt_experiment_ns(recorder);
        int64_t debt = tt_owed_ns_now(ledger, now_ns) - tt_own_owed_ns(payer, now_ns) - payer->paid_ns;
        if (debt < TT_PAUSE_MIN_NS) return;
        if (debt > allowance) {
            __atomic_fetch_add(&ledger->forgiven_ns, (uint64_t)(debt - allowance), __ATOMIC_RELAXED);
            payer->paid_ns += debt - allowance;
            debt = allowance;
        }
        tt_call_pause(payer, now_ns);
        int64_t paused = debt ? (int64_t)tt_pause_for(recorder, (uint64_t)debt, 0) : 0;
        tt_call_resume(payer, tt_experiment_ns(recorder));
        payer->paid_ns += paused;
        payer->paused_ns += (uint64_t)paused;
        payer->pause_ns += (uint64_t)paused;
        allowance -= paused < allowance ? paused : allowance;
    }
}

static inline void tt_experiment_pay(tt_recorder *recorder)
{
    if (TT_UNLIKELY(recorder->experiment != NULL) && tt_ledger_is_on(recorder->experiment->ledger)) tt_pay(recorder);
}

/* What a thread that wakes others has paid; they have waited as long. */
static inline int64_t tt_experiment_paid(const tt_recorder *recorder)
{
    if (TT_LIKELY(recorder->experiment == NULL)) return 0;
    const tt_payer *payer = tt_payer_of(recorder);
    return payer->paid_ns + tt_own_owed_ns(payer, tt_experiment_ns(recorder));
}

/* This thread was blocked in the wait `serial`, until a thread that had paid so much woke it. */
static inline void tt_experiment_woken(const tt_recorder *recorder, uint64_t serial, int64_t paid_ns)
{
    if (TT_LIKELY(recorder->experiment == NULL)) return;
    tt_payer *payer = tt_payer_of(recorder);
    payer->woken_serial = serial;
    payer->paid_ns = paid_ns - tt_own_owed_ns(payer, tt_experiment_ns(recorder));
}

#endif
