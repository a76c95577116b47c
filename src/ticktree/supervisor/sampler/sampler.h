/* Stack samples of other processes, read from outside: the program is not stopped, gets no thread, and is not written to.
 *
 * A native thread wakes at random intervals, reads each process's threads with `process_vm_readv`, and leaves records in a
 * buffer for Python, which names and counts them. It touches no Python object of its process and never takes the GIL.
 *
 *   stack.c    one thread's Python frames, as one consistent stack
 *   codes.c    names of code objects, checked on every sample
 *   process.c  the threads of a process, the node that each has open, what each waits for
 *   sampler.c  the sampling thread, and the buffer
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

#define TT_FRAMES_MAX 128u

static inline uint64_t tt_address(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }

extern int tt_own_memory; /* this process's memory as a file, if it samples itself and may not read it otherwise; else -1 */

/* Like process_vm_readv: copies up to the first part that cannot be read completely. Returns the bytes copied; -1 if none. */
static inline ssize_t tt_remote_readv(int pid, const struct iovec *here, const struct iovec *there, uint32_t count)
{
    if (tt_own_memory < 0) return process_vm_readv(pid, here, count, there, count, 0);
    ssize_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        ssize_t length = pread(tt_own_memory, here[i].iov_base, here[i].iov_len, (off_t)(uintptr_t)there[i].iov_base);
        if (length < 0) return i ? total : -1;
        total += length;
        if ((size_t)length < here[i].iov_len) break;
    }
    return total;
}

/* Copies from a process; 0 if any of it cannot be read. */
static inline int tt_remote_read(int pid, uint64_t from, void *to, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    return tt_remote_readv(pid, &here, &there, 1) == (ssize_t)size;
}

typedef struct { /* many reads as one system call */
    struct iovec here[2 * TT_FRAMES_MAX], there[2 * TT_FRAMES_MAX];
    uint32_t count;
    size_t bytes;
} tt_batch;

static inline void tt_batch_add(tt_batch *batch, uint64_t from, void *to, size_t size)
{
    batch->here[batch->count] = (struct iovec){to, size};
    batch->there[batch->count++] = (struct iovec){(void *)(uintptr_t)from, size};
    batch->bytes += size;
}

static inline ssize_t tt_batch_copy(const tt_batch *batch, int pid)
{
    return tt_remote_readv(pid, batch->here, batch->there, batch->count);
}

/* -- codes ------------------------------------------------------------------------------------------------------- */

#define TT_TEXT_LIMIT 400u
#define TT_TABLE_LIMIT 65536u
#define TT_CODES_MAX 65536u /* reached by a program that creates code all the time */

typedef struct { /* a string of the process, as it is in its memory */
    uint64_t address;
    int64_t length, hash; /* length in characters; hash -1: not hashed yet */
    uint32_t kind, is_ascii; /* bytes per character */
    unsigned char *bytes; /* the first TT_TEXT_LIMIT of them */
} tt_text;

typedef struct { /* a code object; never changed after it is created */
    uint64_t address, table_address;
    tt_text name, file;
    int first_line;
    uint32_t table_length;
    unsigned char *table; /* its line table */
} tt_code;

typedef struct { /* the code objects of all processes; a code object's number is its index */
    tt_code **items;
    uint32_t count, capacity;
    uint32_t *slots; /* by address: the number of the newest code object there, plus 1 */
    uint32_t slot_count;
} tt_codes;

/* -- stacks ------------------------------------------------------------------------------------------------------ */

#define TT_WALK_MAX 4096u
#define TT_FRAMES_OUTER 32u /* a deeper stack is cut to so many frames at the bottom, and the rest at the top */
#define TT_CHUNK_BYTES 131072u
#define TT_CHUNKS_MAX 6u /* chunks have 16 KiB, except for calls with very many variables */
#define TT_PAGE 4096u
#define TT_PAGES_MAX 8u

typedef struct {
    uint64_t address, code, instruction;
    uint32_t is_in_chunk; /* in the memory where the frames of calls follow each other */
} tt_sampled_frame;

typedef struct { /* innermost first */
    tt_sampled_frame frames[TT_WALK_MAX];
    uint32_t count;
} tt_sampled_stack;

typedef struct {
    uint64_t address, size;
} tt_chunk;

typedef struct { /* where a thread's frames have been, the oldest chunk first, and the pages of its generators' frames */
    tt_chunk chunks[TT_CHUNKS_MAX];
    uint32_t count;
    uint64_t pages[TT_PAGES_MAX];
    uint32_t page_number; /* pages found so far; a new one replaces the oldest */
} tt_frame_memory;

/* Reads a thread's frames at one moment, as nearly as possible. 0: they changed while they were read. */
int tt_read_stack(int pid, uint64_t thread_state, tt_frame_memory *memory, tt_sampled_stack *stack);

/* Names the frames of a stack: the number of each frame's code, and the offset of its instruction there. Returns how many
 * frames it has named: if the inner frames of a deep stack do not fit the outer ones, only the outer ones. Retrying until
 * all fit would take longer the deeper the stack is, and so would favour moments in which the program calls little. 0: the
 * frames do not fit each other, or one has no code object. */
uint32_t tt_name_frames(tt_codes *codes, int pid, uint64_t code_type, const tt_sampled_frame *frames, uint32_t count,
                        uint32_t *numbers, uint32_t *offsets);

/* -- processes --------------------------------------------------------------------------------------------------- */

enum tt_activity { /* in the order of `STATES` in samples.py */
    TT_RUNS, TT_WAITS_FOR_GIL, TT_WAITS_FOR_LOCK, TT_SLEEPS, TT_WAITS_FOR_DATA, TT_BLOCKED, TT_SUSPENDED,
};

enum tt_drop { /* in the order of `DROPS` in samples.py */
    TT_DROP_TORN, TT_DROP_NODE, TT_DROP_UNREADABLE, TT_DROP_BUFFER, TT_DROP_COUNT
};

#define TT_THREADS_MAX 256u

typedef struct { /* a thread, from sample to sample */
    uint64_t state;     /* address of its PyThreadState; 0: this entry is free */
    tt_frame_memory chunks;
    uint64_t thread_id;
    int syscall_fd;     /* where the kernel reports what it waits for; -2: not opened yet */
    uint64_t writer;    /* address of its tt_thread; 0: it has none */
    tt_ref tree;
    uint32_t search_countdown;
    uint32_t is_present;
} tt_sampled_thread;

typedef struct {
    uint32_t serial;    /* its id in records */
    int pid, file;      /* file: its memory file; -1: it has none yet */
    char *path;         /* of that file */
    int stat_fd;
    uint64_t runtime, code_type; /* addresses of its _PyRuntime and PyCode_Type */
    uint64_t interpreter, gil;
    uint32_t failures;  /* consecutive ones */
    uint32_t has_ended, is_recording;
    tt_sampled_thread threads[TT_THREADS_MAX];
} tt_sampled_process;

/* -- the sampler ------------------------------------------------------------------------------------------------- */

#define TT_NOT_RECORDING UINT32_MAX

/* A record: this header, and its frames. */
typedef struct {
    uint32_t bytes, process;
    uint64_t weight_ns; /* the time it represents */
    uint32_t thread_id, node; /* node 0: no section of this thread is open; TT_NOT_RECORDING: its process does not record */
    uint32_t activity, depth;
} tt_stack_record;

#define TT_PROCESSES 64u
#define TT_LATE_NS 500000u /* an instant is late if it comes so long after it was due */
#define TT_BUFFER_BYTES (1u << 20)
#define TT_RING_BYTES (1u << 18)
#define TT_SHARED_WORDS 16
#define TT_CODE_RECORD UINT32_MAX /* instead of a process */
#define TT_STACK_BYTES (512u << 10)

/* A process that samples itself shares its samples with the supervisor in a file: this header, and a ring of TT_RING_BYTES
 * bytes. Each side changes only its own count of bytes. */
typedef struct {
    uint64_t written_bytes, read_bytes;
    uint64_t instants, late_instants, cpu_ns, drops[TT_DROP_COUNT];
    uint64_t reserved[TT_SHARED_WORDS - 5 - TT_DROP_COUNT];
} tt_shared;

/* A code object among the records; the bytes of its name, file and line table follow. */
typedef struct {
    uint32_t bytes, process; /* TT_CODE_RECORD */
    int32_t first_line;
    uint32_t name_bytes, name_kind, file_bytes, file_kind, table_bytes;
} tt_code_record;

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t wakeup;
    pthread_t thread;
    int is_started, is_stopping;
    double interval_s, max_share; /* the requested mean interval, and how much of a core the thread may take */
    double mean_s;                /* the mean interval now */
    uint64_t random_state;
    tt_sampled_process *processes[TT_PROCESSES];
    uint32_t process_count, last_serial; /* a process that has ended gives its entry to another */
    tt_codes codes;
    unsigned char *buffer;
    uint32_t buffer_bytes;
    tt_shared *shared; /* NULL unless this process samples itself */
    uint32_t shared_codes;
    uint64_t shared_samples;
    uint64_t instants, late_instants, samples, drops[TT_DROP_COUNT], cpu_ns;
    tt_sampled_stack stack; /* of the thread being sampled */
} tt_sampler;

tt_sampler *tt_sampler_make(double interval_s, double max_share, uint64_t seed);
int tt_sampler_start(tt_sampler *sampler); /* returns an errno, or 0 */
void tt_sampler_stop(tt_sampler *sampler);
void tt_sampler_free(tt_sampler *sampler);
/* Returns the id of the process in records; 0: there is no such process, or no space for another. `path`: where its memory
 * file is, or will be. */
uint32_t tt_sampler_add(tt_sampler *sampler, int pid, const char *path, uint64_t runtime, uint64_t code_type);
void tt_sampler_set_interval(tt_sampler *sampler, double interval_s);
/* Samples this process, on a thread that ends with it. Returns an errno, or 0. `ring`: the file to create. */
int tt_sample_self(const char *ring, const char *path, double interval_s, double max_share, uint64_t seed,
                   uint64_t runtime, uint64_t code_type);
size_t tt_text_bytes(const tt_text *text);
void tt_code_free(tt_code *code);
void tt_sample_process(tt_sampler *sampler, tt_sampled_process *process, uint64_t weight_ns);
void tt_process_close(tt_sampled_process *process);
void tt_emit(tt_sampler *sampler, const tt_stack_record *record, const uint32_t *codes, const uint32_t *offsets);

#endif
