/* Stack samples of other processes, read from outside: no stop, no thread in the program, nothing written there.
 *
 * A native thread wakes at random intervals, reads each process's threads by `process_vm_readv`, and leaves records in a
 * buffer for Python, which names and counts them. It touches no Python object of its process and never takes the GIL.
 *
 *   stack.c    one thread's Python frames, as one consistent stack
 *   codes.c    names of code objects, checked each time they are met
 *   process.c  the threads of a process, the node each has open, what each waits for
 *   sampler.c  the thread that samples, and the buffer
 */
#ifndef TICKTREE_SAMPLER_H
#define TICKTREE_SAMPLER_H

#include "core/core.h"
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#include <sys/uio.h>
#include <unistd.h>

/* -- remote memory ----------------------------------------------------------------------------------------------- */

#define TT_FRAMES_KEPT 128u

extern int tt_own_memory; /* this process's as a file, where it samples itself and may not read it otherwise; else -1 */

/* As process_vm_readv: copies until the first part that cannot be read whole: as many bytes as it returns; -1 where none can. */
static inline ssize_t tt_remote_readv(int pid, const struct iovec *here, const struct iovec *there, uint32_t count)
{
    if (tt_own_memory < 0) return process_vm_readv(pid, here, count, there, count, 0);
    ssize_t whole = 0;
    for (uint32_t at = 0; at < count; at++) {
        ssize_t length = pread(tt_own_memory, here[at].iov_base, here[at].iov_len, (off_t)(uintptr_t)there[at].iov_base);
        if (length < 0) return at ? whole : -1;
        whole += length;
        if ((size_t)length < here[at].iov_len) break;
    }
    return whole;
}

/* Copies from a process; 0 where any of it cannot be read. */
static inline int tt_remote_read(int pid, uint64_t from, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    return tt_remote_readv(pid, &here, &there, 1) == (ssize_t)size;
}

typedef struct { /* many reads as one system call */
    struct iovec here[2 * TT_FRAMES_KEPT], there[2 * TT_FRAMES_KEPT];
    uint32_t count;
    size_t bytes;
} tt_batch;

static inline void tt_batch_add(tt_batch *batch, uint64_t from, void *to, size_t size)
{
    batch->here[batch->count] = (struct iovec){to, size};
    batch->there[batch->count++] = (struct iovec){(void *)(uintptr_t)from, size};
    batch->bytes += size;
}

static inline ssize_t tt_batch_copied(const tt_batch *batch, int pid)
{
    return tt_remote_readv(pid, batch->here, batch->there, batch->count);
}

/* -- codes ------------------------------------------------------------------------------------------------------- */

#define TT_TEXT_LIMIT 400u
#define TT_TABLE_LIMIT 65536u
#define TT_CODES_MOST 65536u /* of a program that makes code all the time */

typedef struct { /* a string of the process, as it lies there */
    uint64_t address;
    int64_t length, hash; /* in characters; -1: not hashed yet */
    uint32_t kind, is_ascii; /* bytes per character */
    unsigned char *bytes; /* the first TT_TEXT_LIMIT of them */
} tt_text;

typedef struct { /* a code object; once made it is never changed */
    uint64_t address, table_address;
    tt_text name, file;
    int first_line;
    uint32_t table_length;
    unsigned char *table; /* of its lines */
} tt_code;

typedef struct { /* those of all processes; the number of each is its index */
    tt_code **items;
    uint32_t count, room;
    uint32_t *slots; /* by address: the newest there, plus 1 */
    uint32_t slot_count;
} tt_codes;

/* -- stacks ------------------------------------------------------------------------------------------------------ */

#define TT_FRAMES_WALKED 4096u
#define TT_FRAMES_OUTER 32u /* kept of a deeper stack: so many at the bottom, and the rest at the top */
#define TT_CHUNK_BYTES 131072u
#define TT_CHUNKS_COPIED 6u /* of 16 KiB, but for calls with very many variables */
#define TT_PAGE 4096u
#define TT_PAGES_COPIED 8u

typedef struct {
    uint64_t address, code, instruction;
    uint32_t in_chunk; /* lies where the frames of calls lie one behind the other */
} tt_sampled_frame;

typedef struct { /* innermost first */
    tt_sampled_frame frames[TT_FRAMES_WALKED];
    uint32_t count;
} tt_sampled_stack;

typedef struct {
    uint64_t at, size;
} tt_known_chunk;

typedef struct { /* where a thread's frames have been, the oldest first, and those of its generators */
    tt_known_chunk chunks[TT_CHUNKS_COPIED];
    uint32_t count;
    uint64_t pages[TT_PAGES_COPIED];
    uint32_t pages_found; /* a new one takes the place of the oldest */
} tt_known_chunks;

/* Reads a thread's frames at one moment, as nearly as can be. 0: they changed while they were read. */
int tt_read_stack(int pid, uint64_t thread_state, tt_known_chunks *known, tt_sampled_stack *stack);

/* Names the frames of a stack: the number of each frame's code, and the offset of its instruction there. Returns how many
 * it has named: of a deep stack whose inner frames do not fit the others, only those others. To try again until all fit
 * would take longer the deeper the stack is, and so would favour moments in which the program calls little. 0: the frames
 * do not fit each other, or one is of no code. */
uint32_t tt_name_frames(tt_codes *codes, int pid, uint64_t code_type, const tt_sampled_frame *frames, uint32_t count,
                        uint32_t *numbers, uint32_t *offsets);

/* -- processes --------------------------------------------------------------------------------------------------- */

enum tt_thread_does { /* in the order of `STATES` in samples.py */
    TT_RUNS, TT_WAITS_FOR_GIL, TT_WAITS_FOR_LOCK, TT_SLEEPS, TT_WAITS_FOR_DATA, TT_BLOCKED, TT_SUSPENDED,
};

enum tt_drop { /* in the order of `DROPS` in samples.py */
    TT_DROP_TORN, TT_DROP_NODE, TT_DROP_UNREADABLE, TT_DROP_BUFFER, TT_DROP_COUNT
};

#define TT_THREADS_SAMPLED 256u

typedef struct { /* what is known of a thread from sample to sample */
    uint64_t state;     /* its address; 0: free */
    tt_known_chunks chunks;
    uint64_t thread_id;
    int does_fd;        /* what it waits for, as the kernel says */
    uint64_t writer;    /* the address of its tt_thread; 0: it has none */
    tt_ref tree;
    uint32_t look_again;
    uint32_t is_there;
} tt_sampled_thread;

typedef struct {
    uint32_t serial;    /* what records call it */
    int pid, file;      /* file: of its recorder; -1: it has none yet */
    char *path;         /* of that file */
    int stat_fd;
    uint64_t runtime, code_type; /* where that interpreter's are */
    uint64_t interpreter, gil;
    uint32_t failures;  /* one after the other */
    uint32_t is_over, is_recording;
    tt_sampled_thread threads[TT_THREADS_SAMPLED];
} tt_sampled_process;

/* -- the sampler ------------------------------------------------------------------------------------------------- */

#define TT_NOT_RECORDING UINT32_MAX

/* A record: these, and the frames kept. */
typedef struct {
    uint32_t bytes, process;
    uint64_t weight_ns; /* of the time it represents */
    uint32_t thread_id, node; /* node 0: no section of this thread is open; TT_NOT_RECORDING: its process does not record */
    uint32_t does, depth;
} tt_stack_record;

#define TT_PROCESSES 64u
#define TT_LATE_NS 500000u /* a sample is late that is taken so long after it was due */
#define TT_BUFFER (1u << 20)
#define TT_RING (1u << 18)
#define TT_SHARED_WORDS 16
#define TT_CODE_RECORD UINT32_MAX /* instead of a process */
#define TT_STACK_BYTES (512u << 10)

/* A process that samples itself shares what it sees with the supervisor, in a file: this, and behind it TT_RING bytes
 * that are written round and round. Each side changes its own count of bytes alone. */
typedef struct {
    uint64_t written, read;
    uint64_t instants, late, cpu_ns, drops[TT_DROP_COUNT];
    uint64_t reserved[TT_SHARED_WORDS - 5 - TT_DROP_COUNT];
} tt_shared;

/* A code object among its records; the bytes of the name, the file and the table of lines follow. */
typedef struct {
    uint32_t bytes, process; /* TT_CODE_RECORD */
    int32_t first_line;
    uint32_t name_bytes, name_kind, file_bytes, file_kind, table_bytes;
} tt_code_record;

typedef struct {
    pthread_mutex_t guard;
    pthread_cond_t stops;
    pthread_t thread;
    int is_started, is_stopping;
    double interval_s, most_share; /* the mean wanted, and how much of a core it may take */
    double mean_s;                 /* what it is now */
    uint64_t random;
    tt_sampled_process *processes[TT_PROCESSES];
    uint32_t process_count, processes_added; /* the place of one that is over is given to another */
    tt_codes codes;
    unsigned char *buffer;
    uint32_t used;
    tt_shared *shared; /* where this is a process that samples itself */
    uint32_t codes_shared;
    uint64_t samples_shared;
    uint64_t instants, late, samples, drops[TT_DROP_COUNT], cpu_ns;
    tt_sampled_stack stack; /* of the thread that is sampled now */
} tt_sampler;

tt_sampler *tt_sampler_make(double interval_s, double most_share, uint64_t seed);
int tt_sampler_start(tt_sampler *sampler); /* an errno, or 0 */
void tt_sampler_stop(tt_sampler *sampler);
void tt_sampler_free(tt_sampler *sampler);
/* What records will call the process; 0: there is no such process, or no room for another. `path`: where its memory file is,
 * or will be. */
uint32_t tt_sampler_add(tt_sampler *sampler, int pid, const char *path, uint64_t runtime, uint64_t code_type);
void tt_sampler_set_interval(tt_sampler *sampler, double interval_s);
/* Samples this process, on a thread that ends with it; an errno, or 0. `ring`: the file to make. */
int tt_sample_self(const char *ring, const char *path, double interval_s, double most_share, uint64_t seed,
                   uint64_t runtime, uint64_t code_type);
size_t tt_text_bytes(const tt_text *text);
void tt_code_free(tt_code *code);
void tt_sample_process(tt_sampler *sampler, tt_sampled_process *process, uint64_t weight_ns);
void tt_process_close(tt_sampled_process *process);
void tt_emit(tt_sampler *sampler, const tt_stack_record *record, const uint32_t *codes, const uint32_t *offsets);

#endif
