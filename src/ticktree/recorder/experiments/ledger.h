/* The ledger of experiments: which section is made faster or slower now, by how much, and what is owed for it.
 *
 * A section cannot be made faster, but all other threads can be delayed by as much as it would have been faster: that is
 * the same, but for the clock (C. Curtsinger and E. Berger, "Coz: finding code that counts with causal profiling", SOSP
 * 2015). So while the section runs for t, a part of t is added to what every thread owes, and counts as paid by the
 * thread that runs the section. It is owed from moment to moment, not once the section has ended: a thread that works for
 * longer than the faster section would take must be late at once, not have waited for it meanwhile. A thread pays by
 * a pause: where its sections begin and end, before it waits, and before it wakes another. A thread that was blocked
 * and is woken has waited as long as the one that wakes it: it has paid as much.
 *
 * The ledger is a file next to the memory files, mapped by all processes of the run. The thread that runs the loop
 * whose ticks are measured moves from block to block; a program that is killed, or leaves the loop, leaves a block
 * that is over at `until_ns`, from which moment nothing more is owed.
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
#define TT_CALLS 64u /* calls of the section that is made faster, at a time; of more it is owed at their ends */
#define TT_PAUSE_LEAST_NS 50000    /* a shorter sleep is mostly its own overshoot */
#define TT_PAUSE_MOST_NS 1000000000LL /* what is owed beyond that is forgiven, and the block with it */

enum tt_intervention { TT_NOTHING, TT_FASTER, TT_SLOWER };

typedef struct { /* what is done in a block */
    uint32_t intervention, target, percent, reserved;
} tt_plan;

/* One block, without the ticks at its beginning in which the program settles. Times are of CLOCK_MONOTONIC. */
typedef struct {
    uint64_t began_ns, ended_ns, ticks;
    uint64_t owed_ns, delayed_ns, forgiven_ns; /* what was added to these in the block */
    uint64_t half_ns, half_owed_ns;            /* after half of its ticks: a block in which the program has settled is even */
    tt_plan plan;
    uint64_t spent_ns[TT_TARGETS]; /* in each section, by all threads */
} tt_block;

typedef struct { /* a section that experiments are made with; the one past the last is the loop */
    uint64_t spent_ns, lasted_ns; /* what calls took that can be faster; all of their time but waits for other threads */
    uint64_t calls, asleep; /* asleep: calls that may sleep, as a coroutine's: what they take is not known */
    uint32_t names, length;           /* of its path: names from the inside out, each ended by a zero byte */
    char path[TT_TARGET_TEXT];
} tt_target;

typedef struct {
    uint64_t magic;
    uint32_t format, bytes; /* joined as one word */
    uint32_t is_on; /* all that is planned is written: experiments may begin */
    uint32_t target_count, plan_count;
    uint32_t rest_ticks, settle_ticks, block_ticks; /* see `tt_block_tick` */
    uint32_t block_count;               /* whole ones */
    uint64_t block_most_ns;             /* a block that takes longer is over, and lost */
    uint64_t owner;                     /* the thread that runs the loop; 0: none yet */
    uint64_t until_ns;
    uint64_t watched_ns; /* until when it is watched: past it nothing is done; 0: not set */
    uint64_t number;  /* of the rest or the block that is open */
    uint64_t planned; /* blocks so far */
    uint64_t now;    /* what is done now: see `tt_plan_pack` */
    uint64_t ticks;  /* of the block that is open, and before it */
    uint64_t owed_ns, delayed_ns, forgiven_ns;
    uint64_t calls[TT_CALLS]; /* open ones of the section that is made faster: see `tt_call_ns` */
    tt_block open;
    tt_target targets[TT_TARGETS + 1];
    tt_plan plans[TT_BLOCKS];
    tt_block blocks[TT_BLOCKS];
} tt_ledger;

/* Of this process. */
struct tt_experiment {
    tt_ledger *ledger;
    tt_map targets; /* node -> 1 + the number of the target; TT_NO_TARGET: none */
    uint32_t generation; /* of the memory that the nodes are in */
};

#define TT_NO_TARGET 255u

/* An open call of a target: the outermost on its thread. */
typedef struct {
    tt_frame *frame;
    uint64_t serial, start, cpu_ns, waited_ns, away_ns, paused_ns, number;
    uint32_t generation;
} tt_target_call;

/* What a thread has paid, and what it has done since. */
typedef struct {
    tt_ledger *ledger; /* NULL: it has not met one yet */
    int64_t paid_ns;    /* of what is owed, since the ledger began; without its own open call */
    uint64_t paused_ns; /* in pauses; the last of them began at ... */
    uint64_t pause_ticks, pause_ns;
    uint64_t waited_ns; /* in waits that no recorded thread ended */
    uint64_t away_ns, away_since_ns; /* in waits for other threads; since when in one, or 0 */
    uint64_t woken_serial;
    uint64_t *call, call_value; /* this thread's open call in `calls`, or NULL, and what it has there */
    uint64_t delay_ns; /* to be spent once the call that has ended is booked; of it ... */
    int spins;         /* ... at work, not asleep */
    tt_target_call open[TT_TARGETS];
} tt_payer;

static __thread tt_payer tt_payer_here;

/* -- the file -------------------------------------------------------------------------------------------------------- */

/* NULL: it cannot be made. */
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

/* One that the supervisor has made, of this version. */
static tt_ledger *tt_ledger_join(const char *path)
{
    return tt_join_file(path, sizeof(tt_ledger), TT_LEDGER_MAGIC, (uint64_t)sizeof(tt_ledger) << 32 | TT_LEDGER_FORMAT);
}

/* From now on what is planned is done; and from now on nothing is, nor owed. */
static void tt_ledger_begin(tt_ledger *ledger) { __atomic_store_n(&ledger->is_on, 1, __ATOMIC_RELEASE); }
static void tt_ledger_stop(tt_ledger *ledger) { __atomic_store_n(&ledger->is_on, 0, __ATOMIC_RELEASE); }
static void tt_ledger_close(tt_ledger *ledger) { munmap(ledger, sizeof *ledger); }

static inline int tt_ledger_is_on(const tt_ledger *ledger) { return __atomic_load_n(&ledger->is_on, __ATOMIC_ACQUIRE); }

static inline uint64_t tt_experiment_ns(const tt_recorder *recorder)
{
    return recorder->clock == TT_CLOCK_VIRTUAL ? recorder->virtual_now : tt_clock_ns(CLOCK_MONOTONIC);
}

/* -- pauses ---------------------------------------------------------------------------------------------------------- */

static uint64_t tt_plan_pack(uint64_t number, const tt_plan *plan)
{
    return number << 24 | plan->intervention << 16 | plan->target << 8 | plan->percent;
}

static tt_plan tt_plan_unpack(uint64_t packed)
{
    return (tt_plan){packed >> 16 & 255, packed >> 8 & 255, packed & 255, 0};
}

/* What is done now; nothing in a block that its owner has left. */
static tt_plan tt_plan_now(tt_ledger *ledger, uint64_t now_ns, uint64_t *number)
{
    uint64_t packed = __atomic_load_n(&ledger->now, __ATOMIC_ACQUIRE);
    if (number) *number = packed >> 24;
    if (packed >> 16 & 255 && now_ns > __atomic_load_n(&ledger->until_ns, __ATOMIC_RELAXED))
        return (tt_plan){TT_NOTHING, 0, 0, 0};
    return tt_plan_unpack(packed);
}

/* For calls that have ended. */
static uint64_t tt_owed(const tt_ledger *ledger) { return __atomic_load_n(&ledger->owed_ns, __ATOMIC_RELAXED); }

/* How long an open call of the section that is made faster has lasted: it holds since when, or how long until now, where
 * it waits for another thread and the section does nothing. */
#define TT_CALL_WAITS (1ULL << 63)

static uint64_t tt_call_ns(uint64_t call, uint64_t now_ns)
{
    if (call & TT_CALL_WAITS) return call & ~TT_CALL_WAITS;
    uint64_t ns = now_ns > call ? now_ns - call : 0;
    return ns < (uint64_t)TT_PAUSE_MOST_NS ? ns : (uint64_t)TT_PAUSE_MOST_NS;
}

/* What is owed for so much of an open call. A call that often waits for the GIL or a core takes longer than what of it can
 * be faster, which is known only once it has ended: as much as that is on average. */
static int64_t tt_part_of(const tt_ledger *ledger, const tt_plan *plan, uint64_t ns)
{
    const tt_target *target = &ledger->targets[plan->target];
    double spent = (double)__atomic_load_n(&target->spent_ns, __ATOMIC_RELAXED);
    double lasted = (double)__atomic_load_n(&target->lasted_ns, __ATOMIC_RELAXED);
    return (int64_t)((double)ns * plan->percent / 100 * (spent < lasted ? spent / lasted : 1));
}

/* And for those that are open. */
static int64_t tt_owed_now(tt_ledger *ledger, uint64_t now_ns)
{
    tt_plan plan = tt_plan_now(ledger, now_ns, NULL);
    uint64_t open_ns = 0;
    for (uint32_t at = 0; plan.intervention == TT_FASTER && at < TT_CALLS; at++) {
        uint64_t call = __atomic_load_n(&ledger->calls[at], __ATOMIC_RELAXED);
        if (call) open_ns += tt_call_ns(call, now_ns);
    }
    return (int64_t)tt_owed(ledger) + (open_ns ? tt_part_of(ledger, &plan, open_ns) : 0);
}

/* The part of it from a thread's own open call, which that has paid. */
static int64_t tt_own_now(const tt_payer *payer, uint64_t now_ns)
{
    if (!payer->call || __atomic_load_n(payer->call, __ATOMIC_RELAXED) != payer->call_value) return 0;
    tt_plan plan = tt_plan_now(payer->ledger, now_ns, NULL);
    return plan.intervention == TT_FASTER ? tt_part_of(payer->ledger, &plan, tt_call_ns(payer->call_value, now_ns)) : 0;
}

/* 0: it is another's by now, or no thread's. */
static int tt_call_set(tt_payer *payer, uint64_t value)
{
    uint64_t ours = payer->call_value;
    payer->call_value = value;
    return payer->call && __atomic_compare_exchange_n(payer->call, &ours, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void tt_call_close(tt_payer *payer)
{
    tt_call_set(payer, 0);
    payer->call = NULL;
}

static void tt_call_open(tt_payer *payer, uint64_t now_ns)
{
    tt_call_close(payer);
    for (uint32_t at = 0; at < TT_CALLS && !payer->call; at++) {
        uint64_t nothing = 0, *call = &payer->ledger->calls[at];
        if (__atomic_load_n(call, __ATOMIC_RELAXED)) continue;
        if (__atomic_compare_exchange_n(call, &nothing, now_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) payer->call = call;
    }
    payer->call_value = now_ns;
}

/* The running thread; a new one begins with what all have paid. */
static tt_payer *tt_payer_of(const tt_recorder *recorder)
{
    tt_payer *payer = &tt_payer_here;
    tt_ledger *ledger = recorder->experiment->ledger;
    if (TT_UNLIKELY(payer->ledger != ledger))
        *payer = (tt_payer){.ledger = ledger, .paid_ns = tt_owed_now(ledger, tt_experiment_ns(recorder))};
    return payer;
}

/* Sleeps or works so long, without the GIL, or until a signal comes; returns how long it was. */
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

/* A wait for another thread, or a pause, begins, and ends: meanwhile the section that is made faster does nothing. */
static inline void tt_call_away(tt_payer *payer, uint64_t now_ns)
{
    if (payer->call) tt_call_set(payer, TT_CALL_WAITS | tt_call_ns(payer->call_value, now_ns));
}

static inline void tt_call_back(tt_payer *payer, uint64_t now_ns)
{
    if (payer->call) tt_call_set(payer, now_ns - tt_call_ns(payer->call_value, now_ns));
}

static inline void tt_experiment_away(const tt_recorder *recorder)
{
    if (TT_LIKELY(recorder->experiment == NULL)) return;
    tt_payer *payer = tt_payer_of(recorder);
    payer->away_since_ns = tt_experiment_ns(recorder);
    tt_call_away(payer, payer->away_since_ns);
}

static inline void tt_experiment_back(const tt_recorder *recorder)
{
    if (TT_LIKELY(recorder->experiment == NULL) || !tt_payer_here.away_since_ns) return;
    tt_payer *payer = tt_payer_of(recorder);
    uint64_t now_ns = tt_experiment_ns(recorder);
    tt_call_back(payer, now_ns);
    payer->away_ns += now_ns - payer->away_since_ns;
    payer->away_since_ns = 0;
}

/* Pays what this thread owes. It may run any code. A pause that took too long counts for the next. */
static TT_NOINLINE void tt_pay(tt_recorder *recorder)
{
    tt_ledger *ledger = recorder->experiment->ledger;
    tt_payer *payer = tt_payer_of(recorder);
    int64_t left = TT_PAUSE_MOST_NS;
    payer->pause_ticks = tt_now(recorder);
    payer->pause_ns = 0;
    for (;;) { /* while it pauses, more becomes due */
        uint64_t now_ns = tt_experiment_ns(recorder);
        int64_t debt = tt_owed_now(ledger, now_ns) - tt_own_now(payer, now_ns) - payer->paid_ns;
        if (debt < TT_PAUSE_LEAST_NS) return;
        if (debt > left) {
            __atomic_fetch_add(&ledger->forgiven_ns, (uint64_t)(debt - left), __ATOMIC_RELAXED);
            payer->paid_ns += debt - left;
            debt = left;
        }
        tt_call_away(payer, now_ns);
        int64_t paused = debt ? (int64_t)tt_pause_for(recorder, (uint64_t)debt, 0) : 0;
        tt_call_back(payer, tt_experiment_ns(recorder));
        payer->paid_ns += paused;
        payer->paused_ns += (uint64_t)paused;
        payer->pause_ns += (uint64_t)paused;
        left -= paused < left ? paused : left;
    }
}

static inline void tt_experiment_pay(tt_recorder *recorder)
{
    if (TT_UNLIKELY(recorder->experiment != NULL) && tt_ledger_is_on(recorder->experiment->ledger)) tt_pay(recorder);
}

/* What a thread that wakes others has paid: they have waited for as long. */
static inline int64_t tt_experiment_paid(const tt_recorder *recorder)
{
    if (TT_LIKELY(recorder->experiment == NULL)) return 0;
    const tt_payer *payer = tt_payer_of(recorder);
    return payer->paid_ns + tt_own_now(payer, tt_experiment_ns(recorder));
}

/* This thread was blocked in the wait `serial`, until one that had paid so much woke it. */
static inline void tt_experiment_woken(const tt_recorder *recorder, uint64_t serial, int64_t paid_ns)
{
    if (TT_LIKELY(recorder->experiment == NULL)) return;
    tt_payer *payer = tt_payer_of(recorder);
    payer->woken_serial = serial;
    payer->paid_ns = paid_ns - tt_own_now(payer, tt_experiment_ns(recorder));
}

#endif
