/* The table of signals for the threads that they wake, by the hash of a channel's name and key.
 *
 * All processes of a run share one table, in a file next to their memory files; each process has another one of its
 * own, for channels that only its threads use. A slot holds the last signal: its time, its sender, and the path that
 * led to it.
 *
 *   header with aliases | the slots' keys | slot | slot | ...
 *
 * A process may be killed or stopped at any moment. So a thread tries to lock a slot only a bounded number of times; it
 * takes over a lock whose process has died, or that was held longer than any holder needs; and it trusts a slot only if
 * its shares sum to its time.
 */
#ifndef TICKTREE_CHANNEL_H
#define TICKTREE_CHANNEL_H

#include "critical.h"
#include "experiments/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define TT_CHANNEL_MAGIC 0x534C4E4843545454ULL /* "TTTCHNLS" */
#define TT_CHANNEL_FORMAT 1u
#define TT_SLOTS 512u
#define TT_SLOT_PROBES 8u
#define TT_ALIASES 1024u
#define TT_LOCK_SPINS 100
#define TT_LOCK_YIELDS 4
#define TT_LOCK_NS 50000000ULL /* a holder needs some hundred nanoseconds, unless it is stopped */

typedef struct {
    uint32_t holder;     /* the pid of the process that reads or writes it now; 0: none */
    uint32_t count;      /* of shares */
    uint64_t held_since; /* since the run began; 0: none, or not set yet */
    uint64_t key;        /* 0: never used */
    uint64_t at_ns;      /* since the run began */
    uint64_t start;      /* the last signaller */
    uint32_t pid, incarnation;
    tt_ref node;
    uint32_t reserved0;
    int64_t paid_ns; /* paid by the last signaller of what it owed in an experiment (experiments/ledger.h) */
    tt_share shares[TT_SHARES];
} tt_channel_slot;

typedef struct { /* a number under a key: the other end of a pair of sockets */
    uint64_t key, value;
} tt_alias;

struct tt_channels {
    uint64_t magic;
    uint32_t format, slot_count; /* compared as one word */
    uint64_t overwritten; /* slots that another channel took over while they held a signal */
    uint64_t reserved[5];
    tt_alias aliases[TT_ALIASES];
    uint64_t keys[TT_SLOTS]; /* of the slots: a search reads one or two lines, not one per slot */
    tt_channel_slot slots[TT_SLOTS];
};

_Static_assert(sizeof(tt_channel_slot) == 49 * TT_LINE, "a slot is 49 lines");

/* -- the table's memory -------------------------------------------------------------------------------------------- */

static tt_channels *tt_channels_begin(tt_channels *channels)
{
    if (!channels) return NULL;
    channels->format = TT_CHANNEL_FORMAT;
    channels->slot_count = TT_SLOTS;
    __atomic_store_n(&channels->magic, TT_CHANNEL_MAGIC, __ATOMIC_RELEASE);
    return channels;
}

/* Maps a table of this version that another process has created. */
static tt_channels *tt_channels_join(const char *path)
{
    return tt_join_file(path, sizeof(tt_channels), TT_CHANNEL_MAGIC, (uint64_t)TT_SLOTS << 32 | TT_CHANNEL_FORMAT);
}

/* Creates the table under a temporary name, with all its space reserved, and gives it its real name in one step: other
 * processes see it complete. The second process to create it joins the first one's. */
static tt_channels *tt_channels_make(const char *path)
{
    char draft[PATH_MAX];
    if (snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid()) >= (int)sizeof draft) return NULL;
    unlink(draft); /* left by a process with our pid that died here */
    int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    tt_channels *channels = NULL;
    if (!tt_reserve_blocks(fd, 0, sizeof(tt_channels)))
        channels = tt_channels_begin(tt_map_file(fd, sizeof(tt_channels)));
    close(fd);
    int is_linked = channels && !link(draft, path);
    unlink(draft);
    if (is_linked) return channels;
    if (channels) munmap(channels, sizeof *channels);
    return tt_channels_join(path);
}

/* The run's table; the process's own if there is no file (`path` NULL), or no room for it. */
static tt_channels *tt_channels_open(const char *path, uint64_t file_limit)
{
    tt_channels *channels = path ? tt_channels_join(path) : NULL;
    if (!channels && path && file_limit >= sizeof(tt_channels)) channels = tt_channels_make(path);
    return channels ? channels : tt_channels_begin(tt_map_file(-1, sizeof(tt_channels)));
}

static void tt_channels_close(tt_channels *channels)
{
    if (channels) munmap(channels, sizeof *channels);
}

/* -- slots --------------------------------------------------------------------------------------------------------- */

static int tt_slot_try_lock(tt_channel_slot *slot, uint32_t holder, uint32_t pid)
{
    return __atomic_compare_exchange_n(&slot->holder, &holder, pid, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Whether the holder of a slot will never release it. Another thread of this process cannot hold it: that needs the
 * GIL. */
static int tt_holder_is_gone(const tt_recorder *recorder, const tt_channel_slot *slot, uint32_t holder)
{
    if (holder == recorder->pid || (kill((pid_t)holder, 0) && errno == ESRCH)) return 1;
    uint64_t held_since = __atomic_load_n(&slot->held_since, __ATOMIC_RELAXED);
    return held_since && tt_moment_now(recorder).ns > held_since + TT_LOCK_NS;
}

/* 1: this process holds the slot until it unlocks it. */
static int tt_slot_lock(const tt_recorder *recorder, tt_channel_slot *slot, uint64_t now_ns)
{
    uint32_t pid = recorder->pid;
    for (int yields = 0; yields < TT_LOCK_YIELDS; yields++) {
        for (int spins = 0; spins < TT_LOCK_SPINS; spins++) {
            if (!__atomic_load_n(&slot->holder, __ATOMIC_RELAXED) && tt_slot_try_lock(slot, 0, pid)) {
                __atomic_store_n(&slot->held_since, now_ns, __ATOMIC_RELAXED);
                return 1;
            }
            tt_pause();
        }
        uint32_t holder = __atomic_load_n(&slot->holder, __ATOMIC_RELAXED);
        if (holder && tt_holder_is_gone(recorder, slot, holder) && tt_slot_try_lock(slot, holder, pid)) {
            slot->count = 0; /* the holder may have died while writing */
            __atomic_store_n(&slot->held_since, now_ns, __ATOMIC_RELAXED);
            return 1;
        }
        sched_yield();
    }
    return 0;
}

static void tt_slot_unlock(tt_channel_slot *slot)
{
    __atomic_store_n(&slot->held_since, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->holder, 0, __ATOMIC_RELEASE);
}

static inline uint32_t tt_slot_index(uint64_t key, uint32_t step) { return (uint32_t)((key >> 32) + step) % TT_SLOTS; }

/* The slot that holds a channel's signals; of several that processes took at the same moment, the latest. */
static tt_channel_slot *tt_slot_find(tt_channels *channels, uint64_t key)
{
    tt_channel_slot *latest = NULL;
    for (uint32_t step = 0; step < TT_SLOT_PROBES; step++) {
        uint32_t i = tt_slot_index(key, step);
        tt_channel_slot *slot = &channels->slots[i];
        if (__atomic_load_n(&channels->keys[i], __ATOMIC_RELAXED) == key && (!latest || slot->at_ns > latest->at_ns))
            latest = slot;
    }
    return latest;
}

/* The slot for a signal: the channel's own, or an unused one, or that of the oldest signal. */
static tt_channel_slot *tt_slot_choose(tt_channels *channels, uint64_t key)
{
    tt_channel_slot *chosen = tt_slot_find(channels, key);
    for (uint32_t step = 0; step < TT_SLOT_PROBES && !chosen; step++) {
        uint32_t i = tt_slot_index(key, step);
        if (!__atomic_load_n(&channels->keys[i], __ATOMIC_RELAXED)) chosen = &channels->slots[i];
    }
    if (chosen) return chosen;
    for (uint32_t step = 0; step < TT_SLOT_PROBES; step++) {
        tt_channel_slot *slot = &channels->slots[tt_slot_index(key, step)];
        if (!chosen || slot->at_ns < chosen->at_ns) chosen = slot;
    }
    return chosen;
}

/* Called by the slot's holder. */
static void tt_slot_rename(tt_channels *channels, tt_channel_slot *slot, uint64_t key)
{
    if (slot->key) __atomic_fetch_add(&channels->overwritten, 1, __ATOMIC_RELAXED);
    slot->key = key;
    __atomic_store_n(&channels->keys[slot - channels->slots], key, __ATOMIC_RELAXED);
}

/* 0: the signal is lost. */
static int tt_channel_put(tt_recorder *recorder, tt_channels *channels, uint64_t key, tt_ref node, const tt_path *path,
                          uint64_t at_ns)
{
    tt_channel_slot *slot = tt_slot_choose(channels, key);
    if (!tt_slot_lock(recorder, slot, at_ns)) return 0;
    if (slot->key != key) tt_slot_rename(channels, slot, key);
    slot->at_ns = at_ns;
    slot->start = recorder->header->process_start;
    slot->pid = (uint32_t)recorder->header->pid;
    slot->incarnation = recorder->header->incarnation;
    slot->node = node;
    slot->paid_ns = tt_experiment_paid(recorder);
    slot->count = path && path->mark_ns == at_ns ? path->count : 0;
    memcpy(slot->shares, path ? path->shares : slot->shares, slot->count * sizeof *slot->shares);
    tt_slot_unlock(slot);
    return 1;
}

/* The content of a signal. */
typedef struct {
    uint64_t start;
    uint32_t pid, incarnation;
    tt_ref node;
    int64_t paid_ns; /* in an experiment */
    tt_snapshot path;
} tt_message;

static void tt_message_check(tt_message *message)
{
    uint64_t sum = 0;
    if (message->path.count > TT_SHARES) message->path.count = 0;
    for (uint32_t i = 0; i < message->path.count; i++) sum += message->path.shares[i].ns;
    if (sum != message->path.at_ns) message->path.count = 0;
}

enum tt_signal_status { TT_SIGNAL_NONE, TT_SIGNAL_LOST, TT_SIGNAL_READ };

static enum tt_signal_status tt_channel_get(const tt_recorder *recorder, tt_channels *channels, uint64_t key,
                                            uint64_t now_ns, tt_message *message)
{
    tt_channel_slot *slot = tt_slot_find(channels, key);
    /* A channel that was never signalled is no loss, unless another channel may have taken its slot. */
    if (!slot) return __atomic_load_n(&channels->overwritten, __ATOMIC_RELAXED) ? TT_SIGNAL_LOST : TT_SIGNAL_NONE;
    if (!tt_slot_lock(recorder, slot, now_ns)) return TT_SIGNAL_LOST;
    int is_same = slot->key == key;
    uint32_t count = slot->count <= TT_SHARES ? slot->count : 0;
    *message = (tt_message){.start = slot->start, .pid = slot->pid, .incarnation = slot->incarnation,
                            .node = slot->node, .paid_ns = slot->paid_ns};
    message->path.at_ns = slot->at_ns;
    message->path.count = count;
    memcpy(message->path.shares, slot->shares, count * sizeof *slot->shares);
    tt_slot_unlock(slot);
    tt_message_check(message);
    return is_same ? TT_SIGNAL_READ : TT_SIGNAL_LOST;
}

/* -- aliases ------------------------------------------------------------------------------------------------------- */

/* Keeps the last value of a key; a value that another key overwrites is missed, never wrong. */
static void tt_alias_put(tt_channels *channels, uint64_t key, uint64_t value)
{
    tt_alias *alias = &channels->aliases[key % TT_ALIASES];
    __atomic_store_n(&alias->key, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&alias->value, value, __ATOMIC_RELEASE);
    __atomic_store_n(&alias->key, key, __ATOMIC_RELEASE);
}

/* 0: unknown. */
static uint64_t tt_alias_get(tt_channels *channels, uint64_t key)
{
    tt_alias *alias = &channels->aliases[key % TT_ALIASES];
    if (__atomic_load_n(&alias->key, __ATOMIC_ACQUIRE) != key) return 0;
    uint64_t value = __atomic_load_n(&alias->value, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&alias->key, __ATOMIC_ACQUIRE) == key ? value : 0;
}

#endif
