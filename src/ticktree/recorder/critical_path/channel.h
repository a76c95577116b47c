/* Where signals are left for the threads that they wake: a table by the hash of a channel's name and key.
 *
 * One table is shared by all processes of a run, in a file next to their memory files; another is each process's own,
 * for what only its threads can wait for. A place holds the last signal: when, by whom, and the path that led to it.
 *
 *   header with aliases | the places' keys | place | place | ...
 *
 * A process may be killed, or stopped, at any moment. So a place is only ever tried for, a bounded number of times; one
 * that is held by a process that has died, or for longer than any holder needs, is taken from it; and what is read
 * is trusted only where its shares sum to its time.
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
#define TT_PLACES 512u
#define TT_PLACES_TRIED 8u /* besides the one that the hash names */
#define TT_ALIASES 1024u
#define TT_LOCK_SPINS 100
#define TT_LOCK_YIELDS 4
#define TT_LOCK_NS 50000000ULL /* a holder needs some hundred nanoseconds, unless it is stopped */

typedef struct {
    uint32_t holder;     /* the pid of the process that writes or reads it now; 0: none */
    uint32_t count;      /* of shares */
    uint64_t held_since; /* since the run began; 0: none, or not set yet */
    uint64_t key;        /* 0: never used */
    uint64_t at_ns;      /* since the run began */
    uint64_t start;      /* the last signaller */
    uint32_t pid, incarnation;
    tt_ref node;
    uint32_t reserved0;
    int64_t paid_ns; /* by the last signaller, of what is owed in an experiment (experiments/ledger.h) */
    tt_share shares[TT_SHARES];
} tt_place;

typedef struct { /* a word by which another is found: the far end of a pair of sockets */
    uint64_t key, value;
} tt_alias;

struct tt_channels {
    uint64_t magic;
    uint32_t format, places_count; /* joined as one word */
    uint64_t taken; /* places that were given to another channel while they held a signal */
    uint64_t reserved[5];
    tt_alias aliases[TT_ALIASES];
    uint64_t keys[TT_PLACES]; /* of the places: what is looked for lies in one or two lines, not one a place */
    tt_place places[TT_PLACES];
};

_Static_assert(sizeof(tt_place) == 49 * TT_LINE, "a place is 49 lines");

/* -- the table's memory --------------------------------------------------------------------------------------------- */

static tt_channels *tt_channels_begin(tt_channels *channels)
{
    if (!channels) return NULL;
    channels->format = TT_CHANNEL_FORMAT;
    channels->places_count = TT_PLACES;
    __atomic_store_n(&channels->magic, TT_CHANNEL_MAGIC, __ATOMIC_RELEASE);
    return channels;
}

/* A table that another process has made, of this version. */
static tt_channels *tt_channels_join(const char *path)
{
    return tt_join_file(path, sizeof(tt_channels), TT_CHANNEL_MAGIC, (uint64_t)TT_PLACES << 32 | TT_CHANNEL_FORMAT);
}

/* Makes the table under an own name, all its space reserved, and gives it its real name in one step: a process that finds it
 * finds it whole. The second to come joins the first. */
static tt_channels *tt_channels_make(const char *path)
{
    char draft[PATH_MAX];
    if (snprintf(draft, sizeof draft, "%s.%ld", path, (long)getpid()) >= (int)sizeof draft) return NULL;
    unlink(draft); /* of a process that died while making it, and had our pid */
    int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    tt_channels *channels = NULL;
    if (!tt_reserve_blocks(fd, 0, sizeof(tt_channels))) channels = tt_channels_begin(tt_map_file(fd, sizeof(tt_channels)));
    close(fd);
    int made = channels && !link(draft, path);
    unlink(draft);
    if (made) return channels;
    if (channels) munmap(channels, sizeof *channels);
    return tt_channels_join(path);
}

/* The run's table; one of the process's own where there is no file (`path` NULL), or no room for it. */
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

/* -- one place at a time -------------------------------------------------------------------------------------------- */

static inline void tt_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static int tt_place_try(tt_place *place, uint32_t holder, uint32_t us)
{
    return __atomic_compare_exchange_n(&place->holder, &holder, us, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Whether the holder of a place will never release it: another thread of ours cannot hold it, for that needs the GIL. */
static int tt_holder_is_gone(const tt_recorder *recorder, const tt_place *place, uint32_t holder)
{
    if (holder == recorder->pid || (kill((pid_t)holder, 0) && errno == ESRCH)) return 1;
    uint64_t since = __atomic_load_n(&place->held_since, __ATOMIC_RELAXED);
    return since && tt_moment_now(recorder).ns > since + TT_LOCK_NS;
}

/* 1: it is ours until released. */
static int tt_place_hold(const tt_recorder *recorder, tt_place *place, uint64_t now_ns)
{
    uint32_t us = recorder->pid;
    for (int yields = 0; yields < TT_LOCK_YIELDS; yields++) {
        for (int spins = 0; spins < TT_LOCK_SPINS; spins++) {
            if (!__atomic_load_n(&place->holder, __ATOMIC_RELAXED) && tt_place_try(place, 0, us)) {
                __atomic_store_n(&place->held_since, now_ns, __ATOMIC_RELAXED);
                return 1;
            }
            tt_pause();
        }
        uint32_t holder = __atomic_load_n(&place->holder, __ATOMIC_RELAXED);
        if (holder && tt_holder_is_gone(recorder, place, holder) && tt_place_try(place, holder, us)) {
            place->count = 0; /* it may have been caught in the middle of writing */
            __atomic_store_n(&place->held_since, now_ns, __ATOMIC_RELAXED);
            return 1;
        }
        sched_yield();
    }
    return 0;
}

static void tt_place_release(tt_place *place)
{
    __atomic_store_n(&place->held_since, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&place->holder, 0, __ATOMIC_RELEASE);
}

static inline uint32_t tt_place_index(uint64_t key, uint32_t step) { return (uint32_t)((key >> 32) + step) % TT_PLACES; }

/* The place that holds a channel's signals; of several that processes made at the same moment, the latest. */
static tt_place *tt_place_find(tt_channels *channels, uint64_t key)
{
    tt_place *found = NULL;
    for (uint32_t step = 0; step < TT_PLACES_TRIED; step++) {
        uint32_t at = tt_place_index(key, step);
        tt_place *place = &channels->places[at];
        if (__atomic_load_n(&channels->keys[at], __ATOMIC_RELAXED) == key && (!found || place->at_ns > found->at_ns))
            found = place;
    }
    return found;
}

/* Where to leave a signal: where the channel's last one is, else where none ever was, else in place of the oldest. */
static tt_place *tt_place_choose(tt_channels *channels, uint64_t key)
{
    tt_place *chosen = tt_place_find(channels, key);
    for (uint32_t step = 0; step < TT_PLACES_TRIED && !chosen; step++) {
        uint32_t at = tt_place_index(key, step);
        if (!__atomic_load_n(&channels->keys[at], __ATOMIC_RELAXED)) chosen = &channels->places[at];
    }
    if (chosen) return chosen;
    for (uint32_t step = 0; step < TT_PLACES_TRIED; step++) {
        tt_place *place = &channels->places[tt_place_index(key, step)];
        if (!chosen || place->at_ns < chosen->at_ns) chosen = place;
    }
    return chosen;
}

/* By its holder. */
static void tt_place_rename(tt_channels *channels, tt_place *place, uint64_t key)
{
    if (place->key) __atomic_fetch_add(&channels->taken, 1, __ATOMIC_RELAXED);
    place->key = key;
    __atomic_store_n(&channels->keys[place - channels->places], key, __ATOMIC_RELAXED);
}

/* 0: it could not be left. */
static int tt_channel_put(tt_recorder *recorder, tt_channels *channels, uint64_t key, tt_ref node, const tt_path *path,
                          uint64_t at_ns)
{
    tt_place *place = tt_place_choose(channels, key);
    if (!tt_place_hold(recorder, place, at_ns)) return 0;
    if (place->key != key) tt_place_rename(channels, place, key);
    place->at_ns = at_ns;
    place->start = recorder->header->process_start;
    place->pid = (uint32_t)recorder->header->pid;
    place->incarnation = recorder->header->incarnation;
    place->node = node;
    place->paid_ns = tt_experiment_paid(recorder);
    place->count = path && path->mark_ns == at_ns ? path->count : 0;
    memcpy(place->shares, path ? path->shares : place->shares, place->count * sizeof *place->shares);
    tt_place_release(place);
    return 1;
}

/* What a signal says. */
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
    for (uint32_t at = 0; at < message->path.count; at++) sum += message->path.shares[at].ns;
    if (sum != message->path.at_ns) message->path.count = 0;
}

enum tt_answer { TT_ANSWER_NONE, TT_ANSWER_BUSY, TT_ANSWER_FOUND };

static enum tt_answer tt_channel_get(const tt_recorder *recorder, tt_channels *channels, uint64_t key, uint64_t now_ns,
                                    tt_message *message)
{
    tt_place *place = tt_place_find(channels, key);
    /* One that was never signalled is no loss, unless its place may have been given to another. */
    if (!place) return __atomic_load_n(&channels->taken, __ATOMIC_RELAXED) ? TT_ANSWER_BUSY : TT_ANSWER_NONE;
    if (!tt_place_hold(recorder, place, now_ns)) return TT_ANSWER_BUSY;
    int same = place->key == key;
    uint32_t count = place->count <= TT_SHARES ? place->count : 0;
    *message = (tt_message){.start = place->start, .pid = place->pid, .incarnation = place->incarnation,
                            .node = place->node, .paid_ns = place->paid_ns};
    message->path.at_ns = place->at_ns;
    message->path.count = count;
    memcpy(message->path.shares, place->shares, count * sizeof *place->shares);
    tt_place_release(place);
    tt_message_check(message);
    return same ? TT_ANSWER_FOUND : TT_ANSWER_BUSY;
}

/* -- aliases -------------------------------------------------------------------------------------------------------- */

/* The last one noted under a key stays; one that is overwritten is only ever missed. */
static void tt_alias_put(tt_channels *channels, uint64_t key, uint64_t value)
{
    tt_alias *alias = &channels->aliases[key % TT_ALIASES];
    __atomic_store_n(&alias->key, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&alias->value, value, __ATOMIC_RELEASE);
    __atomic_store_n(&alias->key, key, __ATOMIC_RELEASE);
}

/* 0: not known. */
static uint64_t tt_alias_get(tt_channels *channels, uint64_t key)
{
    tt_alias *alias = &channels->aliases[key % TT_ALIASES];
    if (__atomic_load_n(&alias->key, __ATOMIC_ACQUIRE) != key) return 0;
    uint64_t value = __atomic_load_n(&alias->value, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&alias->key, __ATOMIC_ACQUIRE) == key ? value : 0;
}

#endif
