/* The threads of one process: the open section of each, its Python frames inside that section, and what it waits for. */
#include "sampler.h"
#include "core/hot.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TT_SEARCH_INTERVAL 16u /* samples between two searches for the tt_thread of a thread that has none yet */
#define TT_STACKS_MAX 64u
#define TT_TREES_MAX 1024u
#define TT_FAILURES_MAX 200u

/* -- what a thread waits for ------------------------------------------------------------------------------------- */

static enum tt_activity tt_syscall_activity(long call, uint64_t first, const tt_sampled_process *process)
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

/* The kernel reports "running", or the number of the system call that the thread sleeps in and that call's arguments. */
static enum tt_activity tt_read_activity(tt_sampled_process *process, tt_sampled_thread *thread)
{
    char text[128];
    if (thread->syscall_fd == -2) {
        snprintf(text, sizeof text, "/proc/%d/task/%llu/syscall", process->pid, (unsigned long long)thread->thread_id);
        thread->syscall_fd = open(text, O_RDONLY | O_CLOEXEC);
    }
    ssize_t length = thread->syscall_fd < 0 ? 0 : pread(thread->syscall_fd, text, sizeof text - 1, 0);
    if (length <= 0) return TT_BLOCKED;
    text[length] = 0;
    long call;
    unsigned long long first;
    if (text[0] == 'r') return TT_RUNS;
    return sscanf(text, "%ld 0x%llx", &call, &first) == 2 ? tt_syscall_activity(call, first, process) : TT_BLOCKED;
}

/* Whether the process can be sampled now: it is not stopped (by a signal or a debugger), and has not ended. */
static int tt_is_runnable(tt_sampled_process *process)
{
    char text[512];
    ssize_t length = pread(process->stat_fd, text, sizeof text - 1, 0);
    text[length < 0 ? 0 : length] = 0;
    const char *name_end = strrchr(text, ')');
    char state = name_end ? name_end[2] : 'X';
    process->has_ended = state == 'X' || state == 'Z';
    return !process->has_ended && state != 'T' && state != 't';
}

/* -- the recorder's threads ---------------------------------------------------------------------------------------- */

static int tt_tree_at(int file, tt_ref ref, tt_tree *tree)
{
    return pread(file, tree, sizeof *tree, (off_t)ref * TT_LINE) == sizeof *tree;
}

static int tt_is_writer(const tt_tree *tree, uint64_t thread_id)
{
    return tree->alive && tree->thread_id == thread_id && tree->writer;
}

/* Finds the tt_thread of a thread, which may appear and disappear. */
static void tt_find_writer(const tt_sampled_process *process, tt_sampled_thread *thread)
{
    tt_tree tree;
    tt_header header;
    if (process->file < 0) return; /* it has not recorded yet */
    if (thread->writer && tt_tree_at(process->file, thread->tree, &tree) && tt_is_writer(&tree, thread->thread_id)) {
        thread->writer = tree.writer;
        return;
    }
    int had_writer = thread->writer != 0;
    thread->writer = 0;
    /* The main thread's time outside all sections is in an account, so its tt_thread is always searched for. */
    int is_main = thread->thread_id == (uint64_t)process->pid;
    if (!had_writer && !is_main && thread->search_countdown && thread->search_countdown--) return;
    thread->search_countdown = TT_SEARCH_INTERVAL;
    if (pread(process->file, &header, sizeof header, 0) != sizeof header) return;
    tt_ref ref = header.trees;
    for (uint32_t i = 0; ref && i < TT_TREES_MAX && tt_tree_at(process->file, ref, &tree); i++) {
        if (tt_is_writer(&tree, thread->thread_id)) {
            thread->writer = tree.writer;
            thread->tree = ref;
            return;
        }
        ref = tree.next;
    }
}

typedef struct { /* a stack of sections with its newest call; if none is open, with the call that the stack is in */
    uint64_t address;
    tt_frame top;
    int is_open, is_in_parent, is_current; /* is_current: the running code uses this stack */
} tt_open_sections;

static int tt_frame_read(int pid, const tt_frame *at, tt_frame *to)
{
    return tt_remote_read(pid, tt_address(at), to, sizeof *to);
}

static int tt_read_newest_call(int pid, const tt_stack *stack, tt_open_sections *sections)
{
    sections->is_open = sections->is_in_parent = 0;
    if (stack->top) return sections->is_open = tt_frame_read(pid, stack->top, &sections->top);
    if (!stack->parent.frame) return 1;
    if (!tt_frame_read(pid, stack->parent.frame, &sections->top)) return 0;
    sections->is_in_parent = sections->top.serial == stack->parent.serial;
    return 1;
}

/* Reads the stacks of a thread whose newest call has no other call open: their time is that call's self time. Returns how
 * many there are; -1: unreadable. */
static int tt_read_open_sections(int pid, const tt_sampled_thread *sampled, uint64_t context, tt_open_sections *results)
{
    tt_thread thread;
    if (!tt_remote_read(pid, sampled->writer, &thread, sizeof thread) || thread.gone) return -1;
    int is_base = !context || tt_address(thread.base.context) == context || tt_address(thread.own_context) == context;
    tt_stack stack = thread.base;
    uint64_t base = sampled->writer + offsetof(tt_thread, base), next = tt_address(thread.stacks), address = base;
    int count = 0, has_current = is_base;
    for (uint32_t i = 0;; i++) {
        tt_open_sections *sections = &results[count];
        *sections = (tt_open_sections){.address = address};
        sections->is_current = i ? tt_address(stack.context) == context : is_base;
        has_current |= sections->is_current;
        if (!tt_read_newest_call(pid, &stack, sections)) return -1;
        if (sections->is_current || (sections->is_open && !sections->top.active)) count++;
        if (!next || i == TT_STACKS_MAX) break;
        if (!tt_remote_read(pid, next, &stack, sizeof stack)) return -1;
        address = next;
        next = tt_address(stack.next);
    }
    /* Nothing is open yet in the current context: the code that runs there belongs to the thread's own stack. */
    if (!has_current && count && results[0].address == base) results[0].is_current = 1;
    return count;
}

static int tt_is_in_stack(const tt_sampled_stack *stack, uint64_t pyframe)
{
    for (uint32_t i = 0; i < stack->count; i++)
        if (stack->frames[i].address == pyframe) return 1;
    return 0;
}

/* Moves from the newest call outwards to one that is not of a suspended generator. 0: unreadable. */
static int tt_find_awake_call(int pid, const tt_sampled_stack *stack, tt_open_sections *sections)
{
    for (int steps = 0; sections->is_open && steps < 256; steps++) {
        if (!(sections->top.flags & TT_FRAME_GENERATOR) || tt_is_in_stack(stack, sections->top.python_frame)) return 1;
        const tt_frame *below = tt_below(&sections->top);
        sections->is_open = below != NULL;
        if (below && !tt_frame_read(pid, below, &sections->top)) return 0;
    }
    return 1;
}

/* Whether a call is still the newest, and has neither begun nor ended another one since. */
static int tt_is_unchanged(int pid, const tt_open_sections *before)
{
    tt_stack stack;
    tt_open_sections now;
    if (!tt_remote_read(pid, before->address, &stack, sizeof stack) || !tt_read_newest_call(pid, &stack, &now)) return 0;
    if (now.is_open != before->is_open || now.is_in_parent != before->is_in_parent) return 0;
    if (!now.is_open && !now.is_in_parent) return 1;
    return now.top.serial == before->top.serial && now.top.active == before->top.active &&
           now.top.covered == before->top.covered;
}

/* -- samples -------------------------------------------------------------------------------------------------------- */

/* How many frames, from the innermost, run inside a section: up to the frame of its `with`. */
static uint32_t tt_frames_above(const tt_sampled_stack *stack, const tt_open_sections *sections)
{
    if (sections->is_open)
        for (uint32_t i = 0; i < stack->count; i++)
            if (stack->frames[i].address == sections->top.python_frame)
                return i + !(sections->top.flags & TT_FRAME_CALL); /* @timed: the caller is outside */
    return stack->count;
}

static int tt_name_and_emit(tt_sampler *sampler, const tt_sampled_process *process, tt_stack_record *record, uint32_t above)
{
    static __thread uint32_t codes[TT_FRAMES_MAX], offsets[TT_FRAMES_MAX];
    const tt_sampled_frame *frames = sampler->stack.frames;
    uint32_t inner = above, outer = 0;
    if (above > TT_FRAMES_MAX) {
        outer = TT_FRAMES_OUTER;
        inner = TT_FRAMES_MAX - outer;
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

/* Takes one sample of a thread. Returns why it must be dropped, or TT_DROP_COUNT. */
static enum tt_drop tt_try_sample(tt_sampler *sampler, tt_sampled_process *process, tt_sampled_thread *thread,
                                  uint64_t weight_ns)
{
    static __thread tt_open_sections results[TT_STACKS_MAX + 2];
    tt_stack_record record = {.process = process->serial, .weight_ns = weight_ns, .thread_id = (uint32_t)thread->thread_id};
    int count = 0;
    record.activity = tt_read_activity(process, thread);
    if (!process->is_recording) record.node = TT_NOT_RECORDING;
    else if (thread->writer) {
        PyObject *context;
        if (!tt_remote_read(process->pid, thread->state + offsetof(PyThreadState, context), &context, sizeof context))
            return TT_DROP_UNREADABLE;
        count = tt_read_open_sections(process->pid, thread, tt_address(context), results);
        if (count < 0) return TT_DROP_UNREADABLE;
    }
    if (!tt_read_stack(process->pid, thread->state, &thread->chunks, &sampler->stack)) return TT_DROP_TORN;
    if (process->is_recording && !sampler->stack.count) return TT_DROP_COUNT; /* no Python code yet, or any more */
    if (!count) return tt_name_and_emit(sampler, process, &record, sampler->stack.count) ? TT_DROP_COUNT : TT_DROP_TORN;
    for (int i = 0; i < count; i++) {
        tt_open_sections *sections = &results[i], before = *sections;
        if (!sections->is_current) continue;
        if (!tt_find_awake_call(process->pid, &sampler->stack, sections) || !tt_is_unchanged(process->pid, &before))
            return TT_DROP_NODE;
        int has_call = sections->is_open || sections->is_in_parent;
        if (has_call && sections->top.active) continue; /* a task or thread covers its time, so its self time does not grow */
        record.node = has_call ? tt_home_of(&sections->top) : 0;
        if (!tt_name_and_emit(sampler, process, &record, tt_frames_above(&sampler->stack, sections))) return TT_DROP_TORN;
    }
    record.activity = TT_SUSPENDED;
    record.depth = 0;
    for (int i = 0; i < count; i++) {
        record.node = results[i].top.node;
        if (!results[i].is_current && record.node) tt_emit(sampler, &record, NULL, NULL);
    }
    return TT_DROP_COUNT;
}

static void tt_sample_thread(tt_sampler *sampler, tt_sampled_process *process, tt_sampled_thread *thread,
                             uint64_t weight_ns)
{
    enum tt_drop drop = TT_DROP_COUNT;
    tt_find_writer(process, thread);
    for (int tries = 0; tries < 4; tries++) {
        drop = tt_try_sample(sampler, process, thread, weight_ns);
        if (drop == TT_DROP_COUNT) return;
    }
    sampler->drops[drop]++;
}

static void tt_thread_forget(tt_sampled_thread *thread)
{
    if (thread->state && thread->syscall_fd >= 0) close(thread->syscall_fd);
    *thread = (tt_sampled_thread){0};
}

static tt_sampled_thread *tt_find_thread(tt_sampled_process *process, uint64_t state, uint64_t thread_id)
{
    tt_sampled_thread *vacant = NULL;
    for (uint32_t i = 0; i < TT_THREADS_MAX; i++) {
        tt_sampled_thread *thread = &process->threads[i];
        if (thread->state == state && thread->thread_id == thread_id) return thread;
        if (!thread->state && !vacant) vacant = thread;
    }
    if (vacant) *vacant = (tt_sampled_thread){.state = state, .thread_id = thread_id, .syscall_fd = -2};
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
    uint64_t state = 0, thread_id, states[TT_THREADS_MAX];
    if (!tt_is_runnable(process)) return;
    if (!tt_find_threads(process, &state)) { /* its interpreter has not started, or it runs another program now */
        process->has_ended = ++process->failures > TT_FAILURES_MAX;
        return;
    }
    process->failures = 0;
    if (process->file < 0) process->file = open(process->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    process->is_recording = tt_is_recording(process->file);
    uint32_t count = 0;
    for (; state && count < TT_THREADS_MAX; count++) {
        states[count] = state;
        if (!tt_remote_read(process->pid, state + offsetof(PyThreadState, next), &state, sizeof state)) break;
    }
    for (uint32_t i = 0; i < TT_THREADS_MAX; i++) process->threads[i].is_present = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t address = states[i] + offsetof(PyThreadState, native_thread_id);
        if (!tt_remote_read(process->pid, address, &thread_id, sizeof thread_id) || !thread_id) continue;
        tt_sampled_thread *thread = tt_find_thread(process, states[i], thread_id);
        if (!thread) continue;
        thread->is_present = 1;
        tt_sample_thread(sampler, process, thread, weight_ns);
    }
    for (uint32_t i = 0; i < TT_THREADS_MAX; i++)
        if (process->threads[i].state && !process->threads[i].is_present) tt_thread_forget(&process->threads[i]);
}

void tt_process_close(tt_sampled_process *process)
{
    for (uint32_t i = 0; i < TT_THREADS_MAX; i++) tt_thread_forget(&process->threads[i]);
    if (process->file >= 0) close(process->file);
    if (process->stat_fd >= 0) close(process->stat_fd);
    process->file = process->stat_fd = -1;
    free(process->path);
    process->path = NULL;
}
