/* One thread's Python frames. The thread runs on while they are read, so that its state and the memory where frames lie are
 * copied by one system call, and what was copied must fit together (`tt_name_frames`).
 *
 * How long it takes until memory is copied must not depend on what the thread does: a sample of a thread that calls deeply
 * would be of a later moment than one of a thread that does not, and the deep calls that end within that time would be
 * seen as what follows them. A recursion 400 deep, 95% of a program, was seen in 88% of its samples. So all chunks are
 * copied in which frames have been before; and of a stack whose innermost frames have changed too much the others are
 * taken, instead of trying again.
 *
 * A generator's frame lies elsewhere, and leads to its caller only while it runs. The pages where such frames have been
 * are copied by the same call; one that was read later and leads nowhere has been suspended meanwhile. */
#include "sampler.h"

#define TT_TRIES 6

typedef struct { /* copies of the known chunks, the oldest first, and of the known pages */
    uint64_t sizes[TT_CHUNKS_COPIED];
    size_t used;
    uint64_t page_at[TT_PAGES_COPIED];
    uint32_t page_count;
    unsigned char bytes[TT_CHUNK_BYTES], pages[TT_PAGES_COPIED][TT_PAGE];
} tt_chunk_copies;

static uint32_t tt_chunk_number(const tt_known_chunks *known, uint64_t at)
{
    uint32_t number = 0;
    while (number < known->count && known->chunks[number].at != at) number++;
    return number;
}

/* Adds to the known chunks those in which frames are now, by their headers. Newer ones of before are kept: a thread that
 * calls deeply again has them at the same places. */
static void tt_find_chunks(int pid, uint64_t newest, tt_known_chunks *known)
{
    tt_known_chunk found[TT_CHUNKS_COPIED];
    uint32_t count = 0, below = known->count;
    for (uint64_t at = newest; at; count++) {
        _PyStackChunk header;
        below = tt_chunk_number(known, at);
        if (below < known->count || count == TT_CHUNKS_COPIED) break;
        if (!tt_remote_read(pid, at, &header, offsetof(_PyStackChunk, data))) return;
        found[count] = (tt_known_chunk){at, header.size};
        at = (uint64_t)(uintptr_t)header.previous;
    }
    if (!count) return;
    known->count = below < known->count ? below + 1 : 0;
    while (count && known->count < TT_CHUNKS_COPIED) known->chunks[known->count++] = found[--count];
}

static uint32_t tt_known_pages(const tt_known_chunks *known)
{
    return known->pages_found < TT_PAGES_COPIED ? known->pages_found : TT_PAGES_COPIED;
}

/* Reads a thread's state again, and then what is known as far as it is there. Returns its innermost frame. */
static int tt_read_moment(int pid, uint64_t state_at, PyThreadState *state, const tt_known_chunks *known,
                          tt_chunk_copies *copies, uint64_t *current)
{
    static __thread tt_batch batch;
    batch.count = 0, batch.bytes = 0;
    tt_batch_add(&batch, state_at, state, sizeof *state);
#if PY_VERSION_HEX < 0x030D0000
    _PyCFrame cframe;
    uint64_t cframe_at = (uint64_t)(uintptr_t)state->cframe;
    tt_batch_add(&batch, cframe_at, &cframe, sizeof cframe);
#endif
    size_t head = batch.bytes;
    uint64_t newest = (uint64_t)(uintptr_t)state->datastack_chunk, top = (uint64_t)(uintptr_t)state->datastack_top;
    copies->used = 0;
    for (uint32_t number = 0; number < known->count; number++) {
        const tt_known_chunk *chunk = &known->chunks[number];
        uint64_t size = chunk->size;
        int is_only = known->count == 1 && chunk->at == newest; /* of a thread that never calls deeply */
        if (is_only && top > newest && top - newest + TT_PAGE < size) size = top - newest + TT_PAGE;
        if (size > sizeof copies->bytes - copies->used) size = 0;
        tt_batch_add(&batch, chunk->at, copies->bytes + copies->used, size);
        copies->sizes[number] = size;
        copies->used += size;
    }
    for (uint32_t page = 0; page < tt_known_pages(known); page++) {
        copies->page_at[page] = known->pages[page];
        tt_batch_add(&batch, known->pages[page], copies->pages[page], TT_PAGE);
    }
    ssize_t got = tt_batch_copied(&batch, pid);
    if (got < (ssize_t)head) return 0;
    size_t wanted = copies->used, whole = (size_t)got - head;
    copies->used = whole < wanted ? whole : wanted;
    copies->page_count = (uint32_t)((whole - copies->used) / TT_PAGE);
#if PY_VERSION_HEX < 0x030D0000
    if ((uint64_t)(uintptr_t)state->cframe != cframe_at) return 0;
    *current = (uint64_t)(uintptr_t)cframe.current_frame;
#else
    *current = (uint64_t)(uintptr_t)state->current_frame;
#endif
    return 1;
}

/* Where the copy of an address is; NULL if it was not copied. */
static const void *tt_copied(const tt_known_chunks *known, const tt_chunk_copies *copies, uint64_t at, size_t size)
{
    size_t begin = 0;
    for (uint32_t number = 0; number < known->count && begin < copies->used; begin += copies->sizes[number++]) {
        uint64_t chunk = known->chunks[number].at, length = copies->sizes[number];
        if (length > copies->used - begin) length = copies->used - begin;
        if (length >= size && at >= chunk && at - chunk <= length - size) return copies->bytes + begin + (at - chunk);
    }
    return NULL;
}

static void tt_note_page(tt_known_chunks *known, uint64_t begin)
{
    for (uint32_t page = 0; page < tt_known_pages(known); page++)
        if (known->pages[page] == begin) return;
    known->pages[known->pages_found++ % TT_PAGES_COPIED] = begin;
}

#define TT_STEPS_MOST (2 * TT_FRAMES_WALKED) /* the interpreter has at most one own frame below each call */

typedef struct { /* the last page that was read elsewhere */
    uint64_t begin;
    unsigned char bytes[TT_PAGE];
} tt_page_copy;

/* A frame as it was copied, or as it is now where it was not: frames of one chunk lie close together, so that a page of
 * them is read at once. The address may be anything, up to the last one there is: sums with it would wrap. */
static const tt_pyframe *tt_frame_copy(int pid, tt_known_chunks *known, const tt_chunk_copies *copies,
                                       tt_page_copy *page, uint64_t at, tt_pyframe *room)
{
    const size_t size = offsetof(tt_pyframe, localsplus);
    const tt_pyframe *copy = tt_copied(known, copies, at, size);
    if (copy) return copy;
    uint64_t begin = at & ~(uint64_t)(TT_PAGE - 1);
    if (at - begin > TT_PAGE - size) return tt_remote_read(pid, at, room, size) ? room : NULL;
    for (uint32_t number = 0; number < copies->page_count; number++)
        if (copies->page_at[number] == begin) return (const tt_pyframe *)(copies->pages[number] + (at - begin));
    if (page->begin != begin && !tt_remote_read(pid, begin, page->bytes, TT_PAGE)) return NULL;
    page->begin = begin;
    copy = (const tt_pyframe *)(page->bytes + (at - begin));
    if (copy->owner == FRAME_OWNED_BY_GENERATOR) tt_note_page(known, begin);
    return copy;
}

static int tt_walk(int pid, tt_known_chunks *known, const tt_chunk_copies *copies, uint64_t current,
                   tt_sampled_stack *stack)
{
    static __thread tt_page_copy page;
    tt_pyframe room;
    uint32_t steps = 0;
    stack->count = 0;
    page.begin = 0;
    for (uint64_t at = current, next; at; at = next) {
        if (steps++ == TT_STEPS_MOST) return 0; /* what was read may lead in a circle */
        const tt_pyframe *frame = at % 8 ? NULL : tt_frame_copy(pid, known, copies, &page, at, &room);
        if (!frame) return 0;
        next = (uint64_t)(uintptr_t)frame->previous;
        int of_calls = frame->owner == FRAME_OWNED_BY_THREAD;
        if (!of_calls && frame->owner != FRAME_OWNED_BY_GENERATOR) {
            if (frame->owner == FRAME_OWNED_BY_FRAME_OBJECT) return 0; /* a call that is over */
            continue; /* made by the interpreter for itself, below C code */
        }
        if (!of_calls && !next) return 0; /* suspended since */
        if (stack->count == TT_FRAMES_WALKED) return 0;
        stack->frames[stack->count++] = (tt_sampled_frame){
            .address = at,
            .code = (uint64_t)(uintptr_t)TT_PYFRAME_CODE(frame),
            .instruction = (uint64_t)(uintptr_t)TT_PYFRAME_INSTRUCTION(frame),
            .in_chunk = of_calls,
        };
    }
    return 1;
}

/* Walks from the frame with which the newest chunk begins, or the one before it where its copy is not whole: that call is
 * not over as long as there is the chunk. */
static int tt_walk_older(int pid, tt_known_chunks *known, const tt_chunk_copies *copies, uint64_t newest,
                         tt_sampled_stack *stack)
{
    uint32_t number = tt_chunk_number(known, newest);
    if (number == known->count) number--;
    for (; number > 0; number--) { /* the frame with which the oldest begins is the program's first: that says nothing */
        uint64_t first = known->chunks[number].at + offsetof(_PyStackChunk, data);
        if (tt_copied(known, copies, first, offsetof(tt_pyframe, localsplus)) && tt_walk(pid, known, copies, first, stack))
            return 1;
    }
    return 0;
}

int tt_read_stack(int pid, uint64_t state_at, tt_known_chunks *known, tt_sampled_stack *stack)
{
    static __thread tt_chunk_copies copies;
    PyThreadState state;
    uint64_t current;
    if (!tt_remote_read(pid, state_at, &state, sizeof state)) return 0;
    if (!known->count) tt_find_chunks(pid, (uint64_t)(uintptr_t)state.datastack_chunk, known);
    for (int tries = 0; tries < TT_TRIES; tries++) {
        if (!tt_read_moment(pid, state_at, &state, known, &copies, &current)) continue;
        uint64_t newest = (uint64_t)(uintptr_t)state.datastack_chunk;
        if (copies.page_count < tt_known_pages(known)) known->pages_found = 0; /* one of them is gone */
        int is_whole = tt_walk(pid, known, &copies, current, stack) ||
                       (known->count && tt_walk_older(pid, known, &copies, newest, stack));
        int was_known = tt_chunk_number(known, newest) < known->count;
        if (was_known && !tt_copied(known, &copies, newest, sizeof newest)) known->count = 0; /* one before it is gone */
        tt_find_chunks(pid, newest, known);
        if (is_whole) return 1;
    }
    return 0;
}
