/* One thread's Python frames. The thread continues while they are read, so one system call copies its state and the memory
 * that holds its frames, and the copies must fit together (`tt_name_frames`).
 *
 * The time until memory is copied must not depend on what the thread does: a sample of a thread that calls deeply would be
 * of a later moment than one of a thread that does not, and deep calls that end within that time would be attributed to
 * the code that follows them. A recursion 400 deep, 95% of a program, appeared in 88% of its samples. So all chunks that
 * have held frames before are copied; and if the innermost frames of a stack have changed too much, its other frames are
 * used, instead of trying again.
 *
 * A generator's frame is in other memory, and leads to its caller only while it runs. The same call copies the pages that
 * have held such frames; a frame that was read later and leads nowhere has been suspended meanwhile. */
#include "sampler.h"

#define TT_TRIES 6

typedef struct { /* copies of the known chunks, the oldest first, and of the known pages */
    uint64_t sizes[TT_CHUNKS_MAX];
    size_t used;
    uint64_t page_at[TT_PAGES_MAX];
    uint32_t page_count;
    unsigned char bytes[TT_CHUNK_BYTES], pages[TT_PAGES_MAX][TT_PAGE];
} tt_chunk_copies;

static uint32_t tt_chunk_number(const tt_frame_memory *memory, uint64_t address)
{
    uint32_t number = 0;
    while (number < memory->count && memory->chunks[number].address != address) number++;
    return number;
}

/* Adds the chunks that hold frames now, by their headers. Newer chunks from before stay: a thread that calls deeply again
 * has its frames at the same addresses. */
static void tt_find_chunks(int pid, uint64_t newest, tt_frame_memory *memory)
{
    tt_chunk chunks[TT_CHUNKS_MAX];
    uint32_t count = 0, older = memory->count;
    for (uint64_t address = newest; address; count++) {
        _PyStackChunk header;
        older = tt_chunk_number(memory, address);
        if (older < memory->count || count == TT_CHUNKS_MAX) break;
        if (!tt_remote_read(pid, address, &header, offsetof(_PyStackChunk, data))) return;
        chunks[count] = (tt_chunk){address, header.size};
        address = tt_address(header.previous);
    }
    if (!count) return;
    memory->count = older < memory->count ? older + 1 : 0;
    while (count && memory->count < TT_CHUNKS_MAX) memory->chunks[memory->count++] = chunks[--count];
}

static uint32_t tt_page_count(const tt_frame_memory *memory)
{
    return memory->page_number < TT_PAGES_MAX ? memory->page_number : TT_PAGES_MAX;
}

/* Copies a thread's state again, then its chunks and pages as far as they are readable. Sets its innermost frame. */
static int tt_copy_memory(int pid, uint64_t state_at, PyThreadState *state, const tt_frame_memory *memory,
                          tt_chunk_copies *copies, uint64_t *current)
{
    static __thread tt_batch batch;
    batch.count = 0, batch.bytes = 0;
    tt_batch_add(&batch, state_at, state, sizeof *state);
#if PY_VERSION_HEX < 0x030D0000
    _PyCFrame cframe;
    uint64_t cframe_at = tt_address(state->cframe);
    tt_batch_add(&batch, cframe_at, &cframe, sizeof cframe);
#endif
    size_t head = batch.bytes;
    uint64_t newest = tt_address(state->datastack_chunk), top = tt_address(state->datastack_top);
    copies->used = 0;
    for (uint32_t i = 0; i < memory->count; i++) {
        const tt_chunk *chunk = &memory->chunks[i];
        uint64_t size = chunk->size;
        int is_only = memory->count == 1 && chunk->address == newest; /* of a thread that never calls deeply */
        if (is_only && top > newest && top - newest + TT_PAGE < size) size = top - newest + TT_PAGE;
        if (size > sizeof copies->bytes - copies->used) size = 0;
        tt_batch_add(&batch, chunk->address, copies->bytes + copies->used, size);
        copies->sizes[i] = size;
        copies->used += size;
    }
    for (uint32_t i = 0; i < tt_page_count(memory); i++) {
        copies->page_at[i] = memory->pages[i];
        tt_batch_add(&batch, memory->pages[i], copies->pages[i], TT_PAGE);
    }
    ssize_t copied_bytes = tt_batch_copy(&batch, pid);
    if (copied_bytes < (ssize_t)head) return 0;
    size_t wanted = copies->used, body_bytes = (size_t)copied_bytes - head;
    copies->used = body_bytes < wanted ? body_bytes : wanted;
    copies->page_count = (uint32_t)((body_bytes - copies->used) / TT_PAGE);
#if PY_VERSION_HEX < 0x030D0000
    if (tt_address(state->cframe) != cframe_at) return 0;
    *current = tt_address(cframe.current_frame);
#else
    *current = tt_address(state->current_frame);
#endif
    return 1;
}

/* Returns the copy of the memory at an address; NULL if it was not copied. */
static const void *tt_find_copy(const tt_frame_memory *memory, const tt_chunk_copies *copies, uint64_t address, size_t size)
{
    size_t begin = 0;
    for (uint32_t i = 0; i < memory->count && begin < copies->used; begin += copies->sizes[i++]) {
        uint64_t chunk = memory->chunks[i].address, length = copies->sizes[i];
        if (length > copies->used - begin) length = copies->used - begin;
        if (length >= size && address >= chunk && address - chunk <= length - size)
            return copies->bytes + begin + (address - chunk);
    }
    return NULL;
}

static void tt_note_page(tt_frame_memory *memory, uint64_t begin)
{
    for (uint32_t i = 0; i < tt_page_count(memory); i++)
        if (memory->pages[i] == begin) return;
    memory->pages[memory->page_number++ % TT_PAGES_MAX] = begin;
}

#define TT_STEPS_MAX (2 * TT_WALK_MAX) /* the interpreter has at most one frame of its own below each call */

typedef struct { /* the last page read outside the chunks */
    uint64_t begin;
    unsigned char bytes[TT_PAGE];
} tt_page_copy;

/* Returns the copy of a frame, or reads it now: frames of one chunk are close together, so a page of them is read at once.
 * The address may be any number, up to the last address: sums with it would wrap. */
static const tt_pyframe *tt_frame_copy(int pid, tt_frame_memory *memory, const tt_chunk_copies *copies,
                                       tt_page_copy *page, uint64_t address, tt_pyframe *buffer)
{
    const size_t size = offsetof(tt_pyframe, localsplus);
    const tt_pyframe *copy = tt_find_copy(memory, copies, address, size);
    if (copy) return copy;
    uint64_t begin = address & ~(uint64_t)(TT_PAGE - 1);
    if (address - begin > TT_PAGE - size) return tt_remote_read(pid, address, buffer, size) ? buffer : NULL;
    for (uint32_t i = 0; i < copies->page_count; i++)
        if (copies->page_at[i] == begin) return (const tt_pyframe *)(copies->pages[i] + (address - begin));
    if (page->begin != begin && !tt_remote_read(pid, begin, page->bytes, TT_PAGE)) return NULL;
    page->begin = begin;
    copy = (const tt_pyframe *)(page->bytes + (address - begin));
    if (copy->owner == FRAME_OWNED_BY_GENERATOR) tt_note_page(memory, begin);
    return copy;
}

static int tt_walk(int pid, tt_frame_memory *memory, const tt_chunk_copies *copies, uint64_t current,
                   tt_sampled_stack *stack)
{
    static __thread tt_page_copy page;
    tt_pyframe buffer;
    uint32_t steps = 0;
    stack->count = 0;
    page.begin = 0;
    for (uint64_t address = current, next; address; address = next) {
        if (steps++ == TT_STEPS_MAX) return 0; /* a torn stack may be circular */
        const tt_pyframe *frame = address % 8 ? NULL : tt_frame_copy(pid, memory, copies, &page, address, &buffer);
        if (!frame) return 0;
        next = tt_address(frame->previous);
        int is_call = frame->owner == FRAME_OWNED_BY_THREAD;
        if (!is_call && frame->owner != FRAME_OWNED_BY_GENERATOR) {
            if (frame->owner == FRAME_OWNED_BY_FRAME_OBJECT) return 0; /* the call has ended */
            continue; /* the interpreter's own frame, below C code */
        }
        if (!is_call && !next) return 0; /* suspended meanwhile */
        if (stack->count == TT_WALK_MAX) return 0;
        stack->frames[stack->count++] = (tt_sampled_frame){
            .address = address,
            .code = tt_address(TT_PYFRAME_CODE(frame)),
            .instruction = tt_address(TT_PYFRAME_INSTRUCTION(frame)),
            .is_in_chunk = is_call,
        };
    }
    return 1;
}

/* Walks from the first frame of the newest chunk, or of an older one if its copy is incomplete: that call has not ended as
 * long as the chunk exists. */
static int tt_walk_older(int pid, tt_frame_memory *memory, const tt_chunk_copies *copies, uint64_t newest,
                         tt_sampled_stack *stack)
{
    uint32_t i = tt_chunk_number(memory, newest);
    if (i == memory->count) i--;
    for (; i > 0; i--) { /* the oldest chunk begins with the program's first frame, which tells nothing */
        uint64_t first = memory->chunks[i].address + offsetof(_PyStackChunk, data);
        if (tt_find_copy(memory, copies, first, offsetof(tt_pyframe, localsplus)) &&
            tt_walk(pid, memory, copies, first, stack))
            return 1;
    }
    return 0;
}

int tt_read_stack(int pid, uint64_t state_at, tt_frame_memory *memory, tt_sampled_stack *stack)
{
    static __thread tt_chunk_copies copies;
    PyThreadState state;
    uint64_t current;
    if (!tt_remote_read(pid, state_at, &state, sizeof state)) return 0;
    if (!memory->count) tt_find_chunks(pid, tt_address(state.datastack_chunk), memory);
    for (int tries = 0; tries < TT_TRIES; tries++) {
        if (!tt_copy_memory(pid, state_at, &state, memory, &copies, &current)) continue;
        uint64_t newest = tt_address(state.datastack_chunk);
        if (copies.page_count < tt_page_count(memory)) memory->page_number = 0; /* one of the pages is unreadable */
        int is_complete = tt_walk(pid, memory, &copies, current, stack) ||
                          (memory->count && tt_walk_older(pid, memory, &copies, newest, stack));
        int had_chunk = tt_chunk_number(memory, newest) < memory->count;
        if (had_chunk && !tt_find_copy(memory, &copies, newest, sizeof newest)) memory->count = 0; /* an older one is gone */
        tt_find_chunks(pid, newest, memory);
        if (is_complete) return 1;
    }
    return 0;
}
