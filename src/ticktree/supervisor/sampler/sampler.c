/* The sampling thread. Its intervals are random (exponential): equal ones would hit a 50 Hz loop always at the same point.
 * The more a sample costs, the longer it rests: it takes no more than its share of a core. */
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

/* Requires `mutex` to be held. */
void tt_emit(tt_sampler *sampler, const tt_stack_record *record, const uint32_t *codes, const uint32_t *offsets)
{
    uint32_t bytes = (uint32_t)(sizeof *record + 8 * (size_t)record->depth);
    if (sampler->buffer_bytes + bytes > TT_BUFFER_BYTES) {
        sampler->drops[TT_DROP_BUFFER]++;
        return;
    }
    unsigned char *position = sampler->buffer + sampler->buffer_bytes;
    tt_stack_record *copy = (tt_stack_record *)position;
    *copy = *record;
    copy->bytes = bytes;
    uint32_t *pairs = (uint32_t *)(position + sizeof *record);
    for (uint32_t frame = 0; frame < record->depth; frame++) { /* outermost first */
        pairs[2 * frame] = codes[record->depth - 1 - frame];
        pairs[2 * frame + 1] = offsets[record->depth - 1 - frame];
    }
    sampler->buffer_bytes += bytes;
    sampler->samples++;
}

/* -- a process that samples itself ------------------------------------------------------------------------------- */

int tt_own_memory = -1;

/* Writes to the ring at a position; returns the position after it. */
static uint64_t tt_ring_put(tt_shared *shared, uint64_t position, const void *bytes, size_t size)
{
    unsigned char *ring = (unsigned char *)(shared + 1);
    for (size_t copied = 0, length; copied < size; copied += length, position += length) {
        size_t offset = position % TT_RING_BYTES;
        length = size - copied < TT_RING_BYTES - offset ? size - copied : TT_RING_BYTES - offset;
        memcpy(ring + offset, (const unsigned char *)bytes + copied, length);
    }
    return position;
}

static uint64_t tt_ring_put_code(tt_shared *shared, uint64_t position, const tt_code *code, uint64_t free_bytes)
{
    tt_code_record record = {0, TT_CODE_RECORD, code->first_line, (uint32_t)tt_text_bytes(&code->name), code->name.kind,
                             (uint32_t)tt_text_bytes(&code->file), code->file.kind, code->table_length};
    record.bytes = (uint32_t)sizeof record + record.name_bytes + record.file_bytes + record.table_bytes;
    if (record.bytes > free_bytes) return position;
    position = tt_ring_put(shared, position, &record, sizeof record);
    position = tt_ring_put(shared, position, code->name.bytes, record.name_bytes);
    position = tt_ring_put(shared, position, code->file.bytes, record.file_bytes);
    return tt_ring_put(shared, position, code->table, record.table_bytes);
}

/* Shares the new samples, after the code objects that they name; drops them if they do not fit. */
static void tt_share_samples(tt_sampler *sampler)
{
    tt_shared *shared = sampler->shared;
    uint64_t position = shared->written_bytes, end = __atomic_load_n(&shared->read_bytes, __ATOMIC_ACQUIRE) + TT_RING_BYTES;
    for (; sampler->shared_codes < sampler->codes.count; sampler->shared_codes++) {
        uint64_t code_end = tt_ring_put_code(shared, position, sampler->codes.items[sampler->shared_codes], end - position);
        if (code_end == position) break;
        position = code_end;
    }
    if (sampler->shared_codes == sampler->codes.count && sampler->buffer_bytes <= end - position)
        position = tt_ring_put(shared, position, sampler->buffer, sampler->buffer_bytes);
    else
        sampler->drops[TT_DROP_BUFFER] += sampler->samples - sampler->shared_samples;
    sampler->shared_samples = sampler->samples;
    sampler->buffer_bytes = 0;
    shared->instants = sampler->instants;
    shared->late_instants = sampler->late_instants;
    shared->cpu_ns = sampler->cpu_ns;
    memcpy(shared->drops, sampler->drops, sizeof shared->drops);
    __atomic_store_n(&shared->written_bytes, position, __ATOMIC_RELEASE);
}

static tt_shared *tt_ring_make(const char *path)
{
    size_t size = sizeof(tt_shared) + TT_RING_BYTES;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return NULL;
    void *memory = MAP_FAILED;
    errno = posix_fallocate(fd, 0, (off_t)size); /* or a full tmpfs would kill the writer */
    if (!errno) memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* A policy may forbid process_vm_readv even for this process; its memory is still a file to it. */
static void tt_find_own_memory(uint64_t runtime)
{
    uint64_t word;
    if (tt_own_memory >= 0) close(tt_own_memory); /* its parent's, before a fork */
    tt_own_memory = -1;
    if (!tt_remote_read(getpid(), runtime, &word, sizeof word)) tt_own_memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

int tt_sample_self(const char *ring, const char *path, double interval_s, double max_share, uint64_t seed,
                   uint64_t runtime, uint64_t code_type)
{
    tt_sampler *sampler = tt_sampler_make(interval_s, max_share, seed);
    if (!sampler) return ENOMEM;
    tt_find_own_memory(runtime);
    sampler->shared = tt_ring_make(ring);
    int error = sampler->shared ? 0 : errno;
    if (!error && !tt_sampler_add(sampler, getpid(), path, runtime, code_type)) error = ENOMEM;
    if (!error) error = tt_sampler_start(sampler);
    if (error) tt_sampler_free(sampler);
    return error;
}

/* -- the thread ---------------------------------------------------------------------------------------------------- */

static void tt_sample_all(tt_sampler *sampler)
{
    uint64_t start_ns = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t weight_ns = (uint64_t)(sampler->mean_s * 1e9);
    for (uint32_t i = 0; i < sampler->process_count; i++) {
        tt_sampled_process *process = sampler->processes[i];
        if (process->has_ended) continue;
        tt_sample_process(sampler, process, weight_ns);
        if (process->has_ended) tt_process_close(process);
    }
    sampler->instants++;
    uint64_t spent_ns = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
    sampler->cpu_ns += spent_ns;
    double min_interval_s = (double)spent_ns / 1e9 / sampler->max_share;
    double target_s = min_interval_s > sampler->interval_s ? min_interval_s : sampler->interval_s;
    sampler->mean_s += (target_s - sampler->mean_s) / 16;
    if (sampler->shared) tt_share_samples(sampler);
}

/* A sampler that wakes late, because all cores are busy, samples when they are idle again, and sees only waits. So this
 * thread asks to run as soon as it wakes: by the best priority it may have, and by a short slice, which every thread may
 * request and Linux respects from 6.12 on. It runs for a tenth of a millisecond. */
static void tt_raise_priority(void)
{
    struct { /* sched_attr, which libc lacks */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .nice = -20, .runtime = 100000};
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
    attributes.nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void *tt_sampler_main(void *argument)
{
    tt_sampler *sampler = argument;
    tt_raise_priority();
    pthread_mutex_lock(&sampler->mutex);
    while (!sampler->is_stopping) {
        double interval_s = sampler->interval_s, wait_s = -log(tt_uniform(&sampler->random_state)) * sampler->mean_s;
        uint64_t due_ns = tt_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(wait_s * 1e9);
        struct timespec deadline = {(time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u)};
        int is_due = 0;
        while (!sampler->is_stopping && interval_s == sampler->interval_s && !is_due)
            is_due = pthread_cond_timedwait(&sampler->wakeup, &sampler->mutex, &deadline) == ETIMEDOUT;
        if (sampler->is_stopping || !is_due) continue;
        sampler->late_instants += tt_clock_ns(CLOCK_MONOTONIC) > due_ns + TT_LATE_NS;
        tt_sample_all(sampler);
    }
    pthread_mutex_unlock(&sampler->mutex);
    return NULL;
}

tt_sampler *tt_sampler_make(double interval_s, double max_share, uint64_t seed)
{
    tt_sampler *sampler = calloc(1, sizeof *sampler);
    unsigned char *buffer = malloc(TT_BUFFER_BYTES);
    if (!sampler || !buffer) {
        free(sampler);
        free(buffer);
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&sampler->mutex, NULL);
    pthread_cond_init(&sampler->wakeup, &attributes);
    pthread_condattr_destroy(&attributes);
    sampler->buffer = buffer;
    sampler->interval_s = sampler->mean_s = interval_s;
    sampler->max_share = max_share;
    sampler->random_state = seed;
    return sampler;
}

int tt_sampler_start(tt_sampler *sampler)
{
    sigset_t all, before;
    sigfillset(&all); /* signals are for the thread that forwards them */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, TT_STACK_BYTES);
#ifdef M_ARENA_MAX
    /* A heap of the thread's own would take 64 MB of addresses, which may be limited. A program decides that itself. */
    if (!sampler->shared) mallopt(M_ARENA_MAX, 1);
#endif
    int error = pthread_create(&sampler->thread, &attributes, tt_sampler_main, sampler);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sampler->is_started = !error;
    return error;
}

void tt_sampler_stop(tt_sampler *sampler)
{
    if (!sampler->is_started) return;
    pthread_mutex_lock(&sampler->mutex);
    sampler->is_stopping = 1;
    pthread_cond_signal(&sampler->wakeup);
    pthread_mutex_unlock(&sampler->mutex);
    pthread_join(sampler->thread, NULL);
    sampler->is_started = 0;
}

void tt_sampler_free(tt_sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->process_count; i++) {
        tt_process_close(sampler->processes[i]);
        free(sampler->processes[i]);
    }
    for (uint32_t i = 0; i < sampler->codes.count; i++) tt_code_free(sampler->codes.items[i]);
    free(sampler->codes.items);
    free(sampler->codes.slots);
    pthread_cond_destroy(&sampler->wakeup);
    pthread_mutex_destroy(&sampler->mutex);
    free(sampler->buffer);
    if (sampler->shared) munmap(sampler->shared, sizeof(tt_shared) + TT_RING_BYTES);
    free(sampler);
}

void tt_sampler_set_interval(tt_sampler *sampler, double interval_s)
{
    pthread_mutex_lock(&sampler->mutex);
    sampler->interval_s = sampler->mean_s = interval_s;
    pthread_cond_signal(&sampler->wakeup); /* it may be in the middle of a long interval */
    pthread_mutex_unlock(&sampler->mutex);
}

uint32_t tt_sampler_add(tt_sampler *sampler, int pid, const char *file_path, uint64_t runtime, uint64_t code_type)
{
    char stat_path[64];
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", pid);
    int stat_fd = open(stat_path, O_RDONLY | O_CLOEXEC);
    tt_sampled_process *process = calloc(1, sizeof *process);
    char *path_copy = strdup(file_path);
    uint32_t serial = 0, slot = 0;
    pthread_mutex_lock(&sampler->mutex);
    while (slot < sampler->process_count && !sampler->processes[slot]->has_ended) slot++;
    if (process && path_copy && stat_fd >= 0 && slot < TT_PROCESSES) {
        if (slot < sampler->process_count) free(sampler->processes[slot]);
        else sampler->process_count++;
        serial = ++sampler->last_serial;
        *process = (tt_sampled_process){.serial = serial, .pid = pid, .file = -1, .path = path_copy,
                                        .stat_fd = stat_fd, .runtime = runtime, .code_type = code_type};
        sampler->processes[slot] = process;
    }
    pthread_mutex_unlock(&sampler->mutex);
    if (!serial) {
        if (stat_fd >= 0) close(stat_fd);
        free(process);
        free(path_copy);
    }
    return serial;
}
