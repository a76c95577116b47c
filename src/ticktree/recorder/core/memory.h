/* Records of the memory file: taken from its end, never given back. */
#ifndef TICKTREE_MEMORY_H
#define TICKTREE_MEMORY_H

#include "recorder.h"

/* Zeroed lines, or NULL: the caller counts what it could not record. */
static __attribute__((noinline)) void *tt_allocate(tt_recorder *recorder, uint64_t bytes)
{
    tt_header *header = recorder->header;
    uint64_t from = header->used_bytes;
    uint64_t to = from + (bytes + TT_LINE - 1) / TT_LINE * TT_LINE;
    /* The next chunk is made ready here, where a new record is being made anyway, not in a section's way. */
    if (to + TT_AHEAD > recorder->arena.backed && tt_arena_back(&recorder->arena))
        header->backed_bytes = recorder->arena.backed;
    if (to > recorder->arena.backed) {
        recorder->memory_full = 1;
        return NULL;
    }
    header->used_bytes = to;
    return recorder->arena.base + from;
}

/* Links a finished record: whoever follows the chain finds it whole or not at all. */
static inline void tt_link(tt_recorder *recorder, tt_ref *newest, const void *record)
{
    __atomic_store_n(newest, tt_ref_of(recorder, record), __ATOMIC_RELEASE);
}

/* A name's record: its length in 32 bits, its bytes. 0 where there is no memory. */
static tt_ref tt_store_text(tt_recorder *recorder, const char *bytes, uint32_t length)
{
    uint8_t *text = tt_allocate(recorder, sizeof(uint32_t) + length);
    if (!text) return 0;
    memcpy(text, &length, sizeof length);
    memcpy(text + sizeof length, bytes, length);
    return tt_ref_of(recorder, text);
}

static tt_ref tt_name_ref(tt_recorder *recorder, uint32_t name_id)
{
    tt_name *name = &recorder->names[name_id];
    if (!name->ref) name->ref = tt_store_text(recorder, name->bytes, name->length);
    return name->ref;
}

/* An identifier for a name of this recorder, or -1 where there are too many. */
static int64_t tt_name_intern(tt_recorder *recorder, const char *bytes, uint32_t length)
{
    if (recorder->name_count >= recorder->name_cap) return -1;
    if (recorder->name_count == recorder->name_room) {
        uint32_t room = recorder->name_room ? 2 * recorder->name_room : 64;
        tt_name *names = realloc(recorder->names, room * sizeof *names);
        if (!names) return -1;
        recorder->names = names;
        recorder->name_room = room;
    }
    char *copy = malloc(length ? length : 1);
    if (!copy) return -1;
    memcpy(copy, bytes, length);
    recorder->names[recorder->name_count] = (tt_name){copy, length, 0};
    return recorder->name_count++;
}

static inline uint64_t *tt_octave_counts(tt_recorder *recorder, tt_ref *octave)
{
    if (TT_UNLIKELY(!*octave)) {
        void *counts = tt_allocate(recorder, sizeof(tt_octave));
        if (!counts) return NULL;
        tt_link(recorder, octave, counts);
    }
    return ((tt_octave *)tt_at(recorder, *octave))->counts;
}

static tt_frame *tt_frame_make(tt_recorder *recorder)
{
    tt_frame *frame = recorder->free_frames;
    if (TT_LIKELY(frame != NULL)) {
        recorder->free_frames = (tt_frame *)(uintptr_t)frame->below;
        return frame;
    }
    if (recorder->frame_count >= recorder->frame_cap) return NULL;
    frame = tt_allocate(recorder, sizeof *frame);
    if (!frame) return NULL;
    recorder->frame_count++;
    frame->next = recorder->header->frames;
    tt_link(recorder, &recorder->header->frames, frame);
    return frame;
}

static inline void tt_frame_free(tt_recorder *recorder, tt_frame *frame)
{
    __atomic_store_n(&frame->serial, 0, __ATOMIC_RELEASE);
    frame->below = (uint64_t)(uintptr_t)recorder->free_frames;
    recorder->free_frames = frame;
}

#endif
