/* One thread's Python frames. The thread runs on while they are read, so that three things are done about it: its state
 * and the part of memory where frames lie are copied by one system call; where that shows that they have moved, it is done
 * again; and what was copied must fit together (`tt_name_frames`). */
#include "sampler.h"

#define TT_TRIES 6

typedef struct {
    uint64_t begin, size;
    unsigned char bytes[TT_CHUNK_WINDOW];
} tt_window_copy;

/* Where the frames are that the thread has pushed last: the top of its chunk, up to TT_CHUNK_WINDOW bytes. */
static uint64_t tt_window_begin(uint64_t chunk, uint64_t top)
{
    uint64_t begin = chunk + offsetof(_PyStackChunk, data);
    return top - begin > TT_CHUNK_WINDOW ? top - TT_CHUNK_WINDOW : begin;
}

static int tt_read_moment(int pid, uint64_t state_at, tt_stack_guess *guess, tt_thread_moment *thread,
                          tt_window_copy *window)
{
    PyThreadState *state = &thread->state;
    if (!tt_remote_read(pid, state_at, state, sizeof *state)) return 0;
    for (int tries = 0; tries < TT_TRIES; tries++) {
        uint64_t chunk = (uint64_t)(uintptr_t)state->datastack_chunk, top = (uint64_t)(uintptr_t)state->datastack_top;
        uint64_t limit = (uint64_t)(uintptr_t)state->datastack_limit;
        struct iovec here[3], there[3];
        int count = 0;
#if PY_VERSION_HEX < 0x030D0000
        _PyCFrame cframe;
        guess->cframe = (uint64_t)(uintptr_t)state->cframe;
#endif
        here[count] = (struct iovec){state, sizeof *state};
        there[count++] = (struct iovec){(void *)(uintptr_t)state_at, sizeof *state};
#if PY_VERSION_HEX < 0x030D0000
        here[count] = (struct iovec){&cframe, sizeof cframe};
        there[count++] = (struct iovec){(void *)(uintptr_t)guess->cframe, sizeof cframe};
#endif
        window->size = 0;
        if (chunk && top > chunk && top <= limit) {
            window->begin = tt_window_begin(chunk, top);
            /* what is pushed meanwhile lies above */
            uint64_t end = top + 1024 < limit ? top + 1024 : limit;
            window->size = end - window->begin < TT_CHUNK_WINDOW ? end - window->begin : TT_CHUNK_WINDOW;
            here[count] = (struct iovec){window->bytes, window->size};
            there[count++] = (struct iovec){(void *)(uintptr_t)window->begin, window->size};
        }
        size_t whole = 0;
        for (int at = 0; at < count; at++) whole += here[at].iov_len;
        if (tt_remote_readv(pid, here, there, (uint32_t)count) != (ssize_t)whole) {
            if (!tt_remote_read(pid, state_at, state, sizeof *state)) return 0;
            continue;
        }
        if ((uint64_t)(uintptr_t)state->datastack_chunk != chunk) continue;
#if PY_VERSION_HEX < 0x030D0000
        if ((uint64_t)(uintptr_t)state->cframe != guess->cframe) continue;
        thread->current = (uint64_t)(uintptr_t)cframe.current_frame;
#else
        thread->current = (uint64_t)(uintptr_t)state->current_frame;
#endif
        return 1;
    }
    return 0;
}

#define TT_PAGE 4096u
#define TT_STEPS_MOST (2 * TT_FRAMES_WALKED) /* the interpreter has at most one own frame below each call */

typedef struct { /* the last page that was read outside the window */
    uint64_t begin;
    unsigned char bytes[TT_PAGE];
} tt_page_copy;

/* A frame as it was copied, or as it is now where it was not: frames of one chunk lie close together, so that a page of
 * them is read at once. The address may be anything, up to the last one there is: sums with it would wrap. */
static const tt_pyframe *tt_frame_copy(int pid, const tt_window_copy *window, tt_page_copy *page, uint64_t at,
                                       tt_pyframe *room, int *inside)
{
    const size_t size = offsetof(tt_pyframe, localsplus);
    *inside = window->size >= size && at >= window->begin && at - window->begin <= window->size - size;
    if (*inside) return (const tt_pyframe *)(window->bytes + (at - window->begin));
    uint64_t begin = at & ~(uint64_t)(TT_PAGE - 1);
    if (at - begin > TT_PAGE - size) return tt_remote_read(pid, at, room, size) ? room : NULL;
    if (page->begin != begin && !tt_remote_read(pid, begin, page->bytes, TT_PAGE)) return NULL;
    page->begin = begin;
    return (const tt_pyframe *)(page->bytes + (at - begin));
}

int tt_read_stack(int pid, uint64_t state_at, tt_stack_guess *guess, tt_thread_moment *thread, tt_sampled_stack *stack)
{
    static __thread tt_window_copy window;
    static __thread tt_page_copy page;
    tt_pyframe room;
    stack->count = 0;
    page.begin = 0;
    if (!tt_read_moment(pid, state_at, guess, thread, &window)) return 0;
    uint32_t steps = 0;
    for (uint64_t at = thread->current, next; at; at = next) {
        int inside;
        if (steps++ == TT_STEPS_MOST) return 0; /* what was read may lead in a circle */
        const tt_pyframe *frame = at % 8 ? NULL : tt_frame_copy(pid, &window, &page, at, &room, &inside);
        if (!frame) return 0;
        next = (uint64_t)(uintptr_t)frame->previous;
        int of_calls = frame->owner == FRAME_OWNED_BY_THREAD;
        if (!of_calls && frame->owner != FRAME_OWNED_BY_GENERATOR) {
            if (frame->owner == FRAME_OWNED_BY_FRAME_OBJECT) return 0; /* a call that is over */
            continue; /* made by the interpreter for itself, below C code */
        }
        if (stack->count == TT_FRAMES_WALKED) return 0;
        stack->frames[stack->count++] = (tt_sampled_frame){
            .address = at,
            .code = (uint64_t)(uintptr_t)TT_PYFRAME_CODE(frame),
            .instruction = (uint64_t)(uintptr_t)TT_PYFRAME_INSTRUCTION(frame),
            .in_chunk = inside && of_calls,
        };
    }
    return 1;
}
