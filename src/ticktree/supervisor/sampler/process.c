/* The threads of one process: which section each has open, its Python frames above that section's, and what it waits for. */
#include "sampler.h"
#include "core/hot.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TT_LOOK_AGAIN 16u /* samples between two looks for the recorder's thread of a thread that has none yet */
#define TT_STACKS_LOOKED_AT 64u
#define TT_TREES_LOOKED_AT 1024u
#define TT_FAILURES_MOST 200u

/* -- what a thread waits for ------------------------------------------------------------------------------------- */

static enum tt_thread_does tt_does_in(long call, uint64_t first, const tt_sampled_process *process)
{
    switch (call) {
    case SYS_futex:
        if (process->gil && first - process->gil < sizeof(struct _gil_runtime_state)) return TT_WAITS_FOR_GIL;
        return TT_WAITS_FOR_LOCK;
    case SYS_nanosleep: case SYS_clock_nanosleep: return TT_SLEEPS;
    case SYS_sched_yield: return TT_RUNS;
    case SYS_read: case SYS_write: case SYS_readv: case SYS_writev: case SYS_pread64: case SYS_pwrite64:
    case SYS_recvfrom: case SYS_recvmsg: case SYS_sendto: case SYS_sendmsg: case SYS_accept: case SYS_accept4:
    case SYS_connect: case SYS_ppoll: case SYS_pselect6: case SYS_epoll_pwait: case SYS_fsync: case SYS_fdatasync:
    case SYS_wait4: case SYS_waitid: case SYS_flock:
#ifdef SYS_poll
    case SYS_poll: case SYS_select: case SYS_epoll_wait:
#endif
        return TT_WAITS_FOR_DATA;
    default: return TT_BLOCKED;
    }
}

/* Of a thread, by the kernel's word: "running", or the number of the system call it sleeps in and that call's arguments. */
static enum tt_thread_does tt_what_it_does(tt_sampled_process *process, tt_sampled_thread *thread)
{
    char text[128];
    if (thread->does_fd == -2) {
        snprintf(text, sizeof text, "/proc/%d/task/%llu/syscall", process->pid, (unsigned long long)thread->thread_id);
        thread->does_fd = open(text, O_RDONLY | O_CLOEXEC);
    }
    ssize_t length = thread->does_fd < 0 ? 0 : pread(thread->does_fd, text, sizeof text - 1, 0);
    if (length <= 0) return TT_BLOCKED;
    text[length] = 0;
    long call;
    unsigned long long first;
    if (text[0] == 'r') return TT_RUNS;
    return sscanf(text, "%ld 0x%llx", &call, &first) == 2 ? tt_does_in(call, first, process) : TT_BLOCKED;
}

/* Whether there is anything to sample now: neither stopped, by a signal or a debugger, nor over. */
static int tt_may_run(tt_sampled_process *process)
{
    char text[512];
    ssize_t length = pread(process->stat_fd, text, sizeof text - 1, 0);
    text[length < 0 ? 0 : length] = 0;
    const char *name_end = strrchr(text, ')');
    char does = name_end ? name_end[2] : 'X';
    process->is_over = does == 'X' || does == 'Z';
    return !process->is_over && does != 'T' && does != 't';
}

/* -- the recorder's threads ---------------------------------------------------------------------------------------- */

static int tt_tree_at(int file, tt_ref ref, tt_tree *tree)
{
    return pread(file, tree, sizeof *tree, (off_t)ref * TT_LINE) == sizeof *tree;
}

static int tt_writes(const tt_tree *tree, uint64_t thread_id)
{
    return tree->alive && tree->thread_id == thread_id && tree->writer;
}

/* Finds the recorder's record of a thread, which may come and go. */
static void tt_find_writer(const tt_sampled_process *process, tt_sampled_thread *thread)
{
    tt_tree tree;
    tt_header header;
    if (process->file < 0) return; /* it has recorded nothing yet */
    if (thread->writer && tt_tree_at(process->file, thread->tree, &tree) && tt_writes(&tree, thread->thread_id)) {
        thread->writer = tree.writer;
        return;
    }
    int had_one = thread->writer != 0;
    thread->writer = 0;
    /* Of the main thread what it does outside all sections is in an account: it must be known which it is in. */
    if (!had_one && thread->thread_id != (uint64_t)process->pid && thread->look_again && thread->look_again--) return;
    thread->look_again = TT_LOOK_AGAIN;
    if (pread(process->file, &header, sizeof header, 0) != sizeof header) return;
    tt_ref at = header.trees;
    for (uint32_t looked = 0; at && looked < TT_TREES_LOOKED_AT && tt_tree_at(process->file, at, &tree); looked++) {
        if (tt_writes(&tree, thread->thread_id)) {
            thread->writer = tree.writer;
            thread->tree = at;
            return;
        }
        at = tree.next;
    }
}

typedef struct { /* a stack of sections with its newest call; where none is open, with the call that the stack is in */
    uint64_t address;
    tt_frame top;
    int is_open, is_within, runs; /* runs: it is that of the code that runs now */
} tt_open_sections;

static int tt_frame_read(int pid, const tt_frame *at, tt_frame *to)
{
    return tt_remote_read(pid, (uint64_t)(uintptr_t)at, to, sizeof *to);
}

static int tt_newest_call(int pid, const tt_stack *stack, tt_open_sections *sections)
{
    sections->is_open = sections->is_within = 0;
    if (stack->top) return sections->is_open = tt_frame_read(pid, stack->top, &sections->top);
    if (!stack->parent.frame) return 1;
    if (!tt_frame_read(pid, stack->parent.frame, &sections->top)) return 0;
    sections->is_within = sections->top.serial == stack->parent.serial;
    return 1;
}

/* The stacks of a thread whose newest call has no other open: their time is that call's own. How many; -1: unreadable. */
static int tt_sections_of(int pid, const tt_sampled_thread *sampled, uint64_t context, tt_open_sections *found)
{
    tt_thread thread;
    if (!tt_remote_read(pid, sampled->writer, &thread, sizeof thread) || thread.gone) return -1;
    int count = 0, is_base = !context || (uint64_t)(uintptr_t)thread.base.context == context ||
                             (uint64_t)(uintptr_t)thread.own_context == context;
    tt_stack stack = thread.base;
    uint64_t next = (uint64_t)(uintptr_t)thread.stacks, at = sampled->writer + offsetof(tt_thread, base);
    int has_current = is_base;
    for (uint32_t looked = 0;; looked++) {
        tt_open_sections *sections = &found[count];
        *sections = (tt_open_sections){.address = at};
        sections->runs = looked ? (uint64_t)(uintptr_t)stack.context == context : is_base;
        has_current |= sections->runs;
        if (!tt_newest_call(pid, &stack, sections)) return -1;
        if (sections->runs || (sections->is_open && !sections->top.active)) count++;
        if (!next || looked == TT_STACKS_LOOKED_AT) break;
        if (!tt_remote_read(pid, next, &stack, sizeof stack)) return -1;
        at = next;
        next = (uint64_t)(uintptr_t)stack.next;
    }
    /* A context in which nothing is open yet: what runs there belongs to the thread's own stack. */
    if (!has_current && count && found[0].address == sampled->writer + offsetof(tt_thread, base)) found[0].runs = 1;
    return count;
}

static int tt_is_in_stack(const tt_sampled_stack *stack, uint64_t pyframe)
{
    for (uint32_t at = 0; at < stack->count; at++)
        if (stack->frames[at].address == pyframe) return 1;
    return 0;
}

/* Of the stack that runs, the innermost call that is not that of a generator asleep. 0: unreadable. */
static int tt_awake(int pid, const tt_sampled_stack *stack, tt_open_sections *sections)
{
    for (int steps = 0; sections->is_open && steps < 256; steps++) {
        if (!(sections->top.flags & TT_FRAME_GENERATOR) || tt_is_in_stack(stack, sections->top.python_frame)) return 1;
        const tt_frame *below = tt_below(&sections->top);
        sections->is_open = below != NULL;
        if (below && !tt_frame_read(pid, below, &sections->top)) return 0;
    }
    return 1;
}

/* Whether a call is still the newest, and has neither begun nor ended another. */
static int tt_is_unchanged(int pid, const tt_open_sections *before)
{
    tt_stack stack;
    tt_open_sections now;
    if (!tt_remote_read(pid, before->address, &stack, sizeof stack) || !tt_newest_call(pid, &stack, &now)) return 0;
    if (now.is_open != before->is_open || now.is_within != before->is_within) return 0;
    if (!now.is_open && !now.is_within) return 1;
    return now.top.serial == before->top.serial && now.top.active == before->top.active &&
           now.top.covered == before->top.covered;
}

/* -- samples -------------------------------------------------------------------------------------------------------- */

/* How many frames, from the innermost, run inside a section: up to the call that has the `with`. */
static uint32_t tt_frames_above(const tt_sampled_stack *stack, const tt_open_sections *sections)
{
    if (sections->is_open)
        for (uint32_t at = 0; at < stack->count; at++)
            if (stack->frames[at].address == sections->top.python_frame)
                return at + !(sections->top.flags & TT_FRAME_CALL); /* of @timed: the call is inside it, not the caller */
    return stack->count;
}

static int tt_name_and_emit(tt_sampler *sampler, const tt_sampled_process *process, tt_stack_record *record, uint32_t above)
{
    static __thread uint32_t codes[TT_FRAMES_KEPT], offsets[TT_FRAMES_KEPT];
    const tt_sampled_frame *frames = sampler->stack.frames;
    uint32_t inner = above, outer = 0;
    if (above > TT_FRAMES_KEPT) {
        outer = TT_FRAMES_OUTER;
        inner = TT_FRAMES_KEPT - outer;
    }
    uint32_t named = tt_name_frames(&sampler->codes, process->pid, process->code_type, frames, inner, codes, offsets);
    if (inner && !named) return 0;
    if (outer && tt_name_frames(&sampler->codes, process->pid, process->code_type, frames + above - outer, outer,
                                codes + named, offsets + named) < outer)
        return 0;
    record->depth = named + outer;
    tt_emit(sampler, record, codes, offsets);
    return 1;
}

/* Takes one sample of a thread. Returns what was wrong, or TT_DROP_COUNT. */
static enum tt_drop tt_try_thread(tt_sampler *sampler, tt_sampled_process *process, tt_sampled_thread *thread,
                                  uint64_t weight_ns)
{
    static __thread tt_open_sections found[TT_STACKS_LOOKED_AT + 2];
    tt_stack_record record = {.process = process->serial, .weight_ns = weight_ns, .thread_id = (uint32_t)thread->thread_id};
    int count = 0;
    record.does = tt_what_it_does(process, thread);
    if (!process->is_recording) {
        record.node = TT_NOT_RECORDING;
        if (!tt_read_stack(process->pid, thread->state, &thread->chunks, &sampler->stack)) return TT_DROP_TORN;
        return tt_name_and_emit(sampler, process, &record, sampler->stack.count) ? TT_DROP_COUNT : TT_DROP_TORN;
    }
    if (thread->writer) {
        PyObject *context;
        if (!tt_remote_read(process->pid, thread->state + offsetof(PyThreadState, context), &context, sizeof context))
            return TT_DROP_UNREADABLE;
        count = tt_sections_of(process->pid, thread, (uint64_t)(uintptr_t)context, found);
        if (count < 0) return TT_DROP_UNREADABLE;
    }
    if (!tt_read_stack(process->pid, thread->state, &thread->chunks, &sampler->stack)) return TT_DROP_TORN;
    if (!sampler->stack.count) return TT_DROP_COUNT; /* it runs no Python code yet, or no more */
    if (!count) return tt_name_and_emit(sampler, process, &record, sampler->stack.count) ? TT_DROP_COUNT : TT_DROP_TORN;
    for (int at = 0; at < count; at++) {
        tt_open_sections *sections = &found[at], before = *sections;
        if (!sections->runs) continue;
        if (!tt_awake(process->pid, &sampler->stack, sections) || !tt_is_unchanged(process->pid, &before)) return TT_DROP_NODE;
        int is_known = sections->is_open || sections->is_within;
        if (is_known && sections->top.active) continue; /* its self time stands still: a task or thread covers it */
        record.node = is_known ? tt_home_of(&sections->top) : 0;
        if (!tt_name_and_emit(sampler, process, &record, tt_frames_above(&sampler->stack, sections))) return TT_DROP_TORN;
    }
    record.does = TT_SUSPENDED;
    record.depth = 0;
    for (int at = 0; at < count; at++) {
        record.node = found[at].top.node;
        if (!found[at].runs && record.node) tt_emit(sampler, &record, NULL, NULL);
    }
    return TT_DROP_COUNT;
}

static void tt_sample_thread(tt_sampler *sampler, tt_sampled_process *process, tt_sampled_thread *thread,
                             uint64_t weight_ns)
{
    enum tt_drop wrong = TT_DROP_COUNT;
    tt_find_writer(process, thread);
    for (int tries = 0; tries < 4; tries++) {
        wrong = tt_try_thread(sampler, process, thread, weight_ns);
        if (wrong == TT_DROP_COUNT) return;
    }
    sampler->drops[wrong]++;
}

static void tt_thread_forget(tt_sampled_thread *thread)
{
    if (thread->state && thread->does_fd >= 0) close(thread->does_fd);
    *thread = (tt_sampled_thread){0};
}

static tt_sampled_thread *tt_thread_of(tt_sampled_process *process, uint64_t state, uint64_t thread_id)
{
    tt_sampled_thread *vacant = NULL;
    for (uint32_t at = 0; at < TT_THREADS_SAMPLED; at++) {
        tt_sampled_thread *thread = &process->threads[at];
        if (thread->state == state && thread->thread_id == thread_id) return thread;
        if (!thread->state && !vacant) vacant = thread;
    }
    if (vacant) *vacant = (tt_sampled_thread){.state = state, .thread_id = thread_id, .does_fd = -2};
    return vacant;
}

static int tt_find_interpreter(tt_sampled_process *process)
{
    uint64_t at = process->runtime + offsetof(_PyRuntimeState, interpreters) +
                  offsetof(struct pyinterpreters, main);
    if (!tt_remote_read(process->pid, at, &process->interpreter, sizeof process->interpreter)) return 0;
#if PY_VERSION_HEX >= 0x030C0000
    if (process->interpreter)
        (void)tt_remote_read(process->pid, process->interpreter + offsetof(PyInterpreterState, ceval.gil), &process->gil,
                             sizeof process->gil);
#else
    process->gil = process->runtime + offsetof(_PyRuntimeState, ceval.gil);
#endif
    return process->interpreter != 0;
}

static int tt_is_recording(int file)
{
    uint32_t flags = 0;
    return file >= 0 && pread(file, &flags, sizeof flags, offsetof(tt_header, flags)) == sizeof flags &&
           flags & TT_HEADER_RECORDING;
}

static int tt_find_threads(tt_sampled_process *process, uint64_t *first)
{
    return tt_find_interpreter(process) &&
           tt_remote_read(process->pid, process->interpreter + offsetof(PyInterpreterState, threads.head), first, 8);
}

void tt_sample_process(tt_sampler *sampler, tt_sampled_process *process, uint64_t weight_ns)
{
    uint64_t state = 0, thread_id, places[TT_THREADS_SAMPLED];
    if (!tt_may_run(process)) return;
    if (!tt_find_threads(process, &state)) { /* its interpreter has not begun, or it runs another program now */
        process->is_over = ++process->failures > TT_FAILURES_MOST;
        return;
    }
    process->failures = 0;
    if (process->file < 0) process->file = open(process->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    process->is_recording = tt_is_recording(process->file);
    uint32_t count = 0;
    for (; state && count < TT_THREADS_SAMPLED; count++) {
        places[count] = state;
        if (!tt_remote_read(process->pid, state + offsetof(PyThreadState, next), &state, sizeof state)) break;
    }
    for (uint32_t place = 0; place < TT_THREADS_SAMPLED; place++) process->threads[place].is_there = 0;
    for (uint32_t place = 0; place < count; place++) {
        uint64_t at = places[place] + offsetof(PyThreadState, native_thread_id);
        if (!tt_remote_read(process->pid, at, &thread_id, sizeof thread_id) || !thread_id) continue;
        tt_sampled_thread *thread = tt_thread_of(process, places[place], thread_id);
        if (!thread) continue;
        thread->is_there = 1;
        tt_sample_thread(sampler, process, thread, weight_ns);
    }
    for (uint32_t place = 0; place < TT_THREADS_SAMPLED; place++)
        if (process->threads[place].state && !process->threads[place].is_there) tt_thread_forget(&process->threads[place]);
}

void tt_process_close(tt_sampled_process *process)
{
    for (uint32_t at = 0; at < TT_THREADS_SAMPLED; at++) tt_thread_forget(&process->threads[at]);
    if (process->file >= 0) close(process->file);
    if (process->stat_fd >= 0) close(process->stat_fd);
    process->file = process->stat_fd = -1;
    free(process->path);
    process->path = NULL;
}
