/* The thread that samples. Intervals are random (exponential): those of one length would meet a loop of 50 Hz always at the
 * same place. It rests the longer, the more a sample costs: it takes no more than its share of a core. */
#include "sampler.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double tt_uniform(uint64_t *state) /* splitmix64; Steele, Lea and Flood, OOPSLA 2014 */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

/* With `guard` held. */
void tt_emit(tt_sampler *sampler, const tt_stack_record *record, const uint32_t *codes, const uint32_t *offsets)
{
    uint32_t bytes = (uint32_t)(sizeof *record + 8 * (size_t)record->depth);
    if (sampler->used + bytes > TT_BUFFER) {
        sampler->drops[TT_DROP_BUFFER]++;
        return;
    }
    unsigned char *at = sampler->buffer + sampler->used;
    tt_stack_record *written = (tt_stack_record *)at;
    *written = *record;
    written->bytes = bytes;
    uint32_t *pairs = (uint32_t *)(at + sizeof *record);
    for (uint32_t frame = 0; frame < record->depth; frame++) { /* outermost first */
        pairs[2 * frame] = codes[record->depth - 1 - frame];
        pairs[2 * frame + 1] = offsets[record->depth - 1 - frame];
    }
    sampler->used += bytes;
    sampler->samples++;
}

/* -- a process that samples itself ------------------------------------------------------------------------------- */

int tt_own_memory = -1;

/* Writes on at a place in the ring; returns the place behind it. */
static uint64_t tt_ring_put(tt_shared *shared, uint64_t at, const void *bytes, size_t size)
{
    unsigned char *ring = (unsigned char *)(shared + 1);
    for (size_t done = 0, part; done < size; done += part, at += part) {
        size_t place = at % TT_RING;
        part = size - done < TT_RING - place ? size - done : TT_RING - place;
        memcpy(ring + place, (const unsigned char *)bytes + done, part);
    }
    return at;
}

static uint64_t tt_ring_put_code(tt_shared *shared, uint64_t at, const tt_code *code, uint64_t room)
{
    tt_code_record record = {0, TT_CODE_RECORD, code->first_line, (uint32_t)tt_text_bytes(&code->name), code->name.kind,
                             (uint32_t)tt_text_bytes(&code->file), code->file.kind, code->table_length};
    record.bytes = (uint32_t)sizeof record + record.name_bytes + record.file_bytes + record.table_bytes;
    if (record.bytes > room) return at;
    at = tt_ring_put(shared, at, &record, sizeof record);
    at = tt_ring_put(shared, at, code->name.bytes, record.name_bytes);
    at = tt_ring_put(shared, at, code->file.bytes, record.file_bytes);
    return tt_ring_put(shared, at, code->table, record.table_bytes);
}

/* Hands over what was sampled, behind the code objects that it names; where there is no room, it is dropped. */
static void tt_hand_over(tt_sampler *sampler)
{
    tt_shared *shared = sampler->shared;
    uint64_t at = shared->written, end = __atomic_load_n(&shared->read, __ATOMIC_ACQUIRE) + TT_RING;
    for (; sampler->codes_shared < sampler->codes.count; sampler->codes_shared++) {
        uint64_t next = tt_ring_put_code(shared, at, sampler->codes.items[sampler->codes_shared], end - at);
        if (next == at) break;
        at = next;
    }
    if (sampler->codes_shared == sampler->codes.count && sampler->used <= end - at)
        at = tt_ring_put(shared, at, sampler->buffer, sampler->used);
    else
        sampler->drops[TT_DROP_BUFFER] += sampler->samples - sampler->samples_shared;
    sampler->samples_shared = sampler->samples;
    sampler->used = 0;
    shared->instants = sampler->instants;
    shared->late = sampler->late;
    shared->cpu_ns = sampler->cpu_ns;
    memcpy(shared->drops, sampler->drops, sizeof shared->drops);
    __atomic_store_n(&shared->written, at, __ATOMIC_RELEASE);
}

static tt_shared *tt_ring_make(const char *path)
{
    size_t size = sizeof(tt_shared) + TT_RING;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return NULL;
    void *at = MAP_FAILED;
    errno = posix_fallocate(file, 0, (off_t)size); /* or a full tmpfs would kill the writer */
    if (!errno) at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return at == MAP_FAILED ? NULL : at;
}

/* Where a policy forbids what reads other processes, for this one too, its memory is still a file to it. */
static void tt_find_own_memory(uint64_t runtime)
{
    uint64_t word;
    if (tt_own_memory >= 0) close(tt_own_memory); /* of its parent */
    tt_own_memory = -1;
    if (!tt_remote_read(getpid(), runtime, &word, sizeof word)) tt_own_memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

int tt_sample_self(const char *ring, const char *path, double interval_s, double most_share, uint64_t seed,
                   uint64_t runtime, uint64_t code_type)
{
    tt_sampler *sampler = tt_sampler_make(interval_s, most_share, seed);
    if (!sampler) return ENOMEM;
    tt_find_own_memory(runtime);
    sampler->shared = tt_ring_make(ring);
    int failed = sampler->shared ? 0 : errno;
    if (!failed && !tt_sampler_add(sampler, getpid(), path, runtime, code_type)) failed = ENOMEM;
    if (!failed) failed = tt_sampler_start(sampler);
    if (failed) tt_sampler_free(sampler);
    return failed;
}

/* -- the thread ---------------------------------------------------------------------------------------------------- */

static void tt_look_at_all(tt_sampler *sampler)
{
    uint64_t before = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t weight = (uint64_t)(sampler->mean_s * 1e9);
    for (uint32_t number = 0; number < sampler->process_count; number++) {
        tt_sampled_process *process = sampler->processes[number];
        if (process->is_over) continue;
        tt_sample_process(sampler, process, weight);
        if (process->is_over) tt_process_close(process);
    }
    sampler->instants++;
    uint64_t spent = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    sampler->cpu_ns += spent;
    double least = (double)spent / 1e9 / sampler->most_share;
    double wanted = least > sampler->interval_s ? least : sampler->interval_s;
    sampler->mean_s += (wanted - sampler->mean_s) / 16;
    if (sampler->shared) tt_hand_over(sampler);
}

/* A sampler that wakes late, because all cores are busy, samples when they are idle again, and finds only waits. So this thread asks to
 * run as soon as it wakes: by the best priority it may have, and by a short slice, which all may ask for and Linux heeds from
 * 6.12 on. It runs for a tenth of a millisecond. */
static void tt_ask_to_run_at_once(void)
{
    struct { /* sched_attr, which libc lacks */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wish = {.size = sizeof wish, .nice = -20, .runtime = 100000};
    if (syscall(SYS_sched_setattr, 0, &wish, 0) == 0) return;
    wish.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
    (void)syscall(SYS_sched_setattr, 0, &wish, 0);
}

static void *tt_sampler_main(void *argument)
{
    tt_sampler *sampler = argument;
    tt_ask_to_run_at_once();
    pthread_mutex_lock(&sampler->guard);
    while (!sampler->is_stopping) {
        double interval_s = sampler->interval_s, wait = -log(tt_uniform(&sampler->random)) * sampler->mean_s;
        uint64_t at = tt_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(wait * 1e9);
        struct timespec due = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
        int is_due = 0;
        while (!sampler->is_stopping && interval_s == sampler->interval_s && !is_due)
            is_due = pthread_cond_timedwait(&sampler->stops, &sampler->guard, &due) == ETIMEDOUT;
        if (sampler->is_stopping || !is_due) continue;
        sampler->late += tt_clock_ns(CLOCK_MONOTONIC) > at + TT_LATE_NS;
        tt_look_at_all(sampler);
    }
    pthread_mutex_unlock(&sampler->guard);
    return NULL;
}

tt_sampler *tt_sampler_make(double interval_s, double most_share, uint64_t seed)
{
    tt_sampler *sampler = calloc(1, sizeof *sampler);
    unsigned char *buffer = malloc(TT_BUFFER);
    if (!sampler || !buffer) {
        free(sampler);
        free(buffer);
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&sampler->guard, NULL);
    pthread_cond_init(&sampler->stops, &attributes);
    pthread_condattr_destroy(&attributes);
    sampler->buffer = buffer;
    sampler->interval_s = sampler->mean_s = interval_s;
    sampler->most_share = most_share;
    sampler->random = seed;
    return sampler;
}

int tt_sampler_start(tt_sampler *sampler)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for the thread that passes them on */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, TT_STACK_BYTES);
#ifdef M_ARENA_MAX
    /* A heap of the thread's own would take 64 MB of addresses, which may be limited. Of a program it is not ours to say. */
    if (!sampler->shared) mallopt(M_ARENA_MAX, 1);
#endif
    int failed = pthread_create(&sampler->thread, &attributes, tt_sampler_main, sampler);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sampler->is_started = !failed;
    return failed;
}

void tt_sampler_stop(tt_sampler *sampler)
{
    if (!sampler->is_started) return;
    pthread_mutex_lock(&sampler->guard);
    sampler->is_stopping = 1;
    pthread_cond_signal(&sampler->stops);
    pthread_mutex_unlock(&sampler->guard);
    pthread_join(sampler->thread, NULL);
    sampler->is_started = 0;
}

void tt_sampler_free(tt_sampler *sampler)
{
    for (uint32_t number = 0; number < sampler->process_count; number++) {
        tt_process_close(sampler->processes[number]);
        free(sampler->processes[number]);
    }
    for (uint32_t number = 0; number < sampler->codes.count; number++) tt_code_free(sampler->codes.items[number]);
    free(sampler->codes.items);
    free(sampler->codes.slots);
    pthread_cond_destroy(&sampler->stops);
    pthread_mutex_destroy(&sampler->guard);
    free(sampler->buffer);
    if (sampler->shared) munmap(sampler->shared, sizeof(tt_shared) + TT_RING);
    free(sampler);
}

void tt_sampler_set_interval(tt_sampler *sampler, double interval_s)
{
    pthread_mutex_lock(&sampler->guard);
    sampler->interval_s = sampler->mean_s = interval_s;
    pthread_cond_signal(&sampler->stops); /* it may be in the middle of a long one */
    pthread_mutex_unlock(&sampler->guard);
}

uint32_t tt_sampler_add(tt_sampler *sampler, int pid, const char *file_path, uint64_t runtime, uint64_t code_type)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int stat = open(path, O_RDONLY | O_CLOEXEC);
    tt_sampled_process *process = calloc(1, sizeof *process);
    char *kept = strdup(file_path);
    uint32_t serial = 0, at = 0;
    pthread_mutex_lock(&sampler->guard);
    while (at < sampler->process_count && !sampler->processes[at]->is_over) at++;
    if (process && kept && stat >= 0 && at < TT_PROCESSES) {
        if (at < sampler->process_count) free(sampler->processes[at]);
        else sampler->process_count++;
        serial = ++sampler->processes_added;
        *process = (tt_sampled_process){.serial = serial, .pid = pid, .file = -1, .path = kept, .stat_fd = stat,
                                        .runtime = runtime, .code_type = code_type};
        sampler->processes[at] = process;
    }
    pthread_mutex_unlock(&sampler->guard);
    if (!serial) {
        if (stat >= 0) close(stat);
        free(process);
        free(kept);
    }
    return serial;
}
