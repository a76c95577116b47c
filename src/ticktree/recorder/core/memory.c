/* The memory that a recorder writes: one range of addresses, backed chunk by chunk; and records, taken from its end.
 *
 * On tmpfs and never on a disk: dirty pages of a disk file are write-protected while they are written back and
 * stall the next writer. Every chunk is reserved (posix_fallocate) and touched before it is needed: writing
 * to an unreserved page of a full tmpfs is a SIGBUS, and the first touch of 256 KiB costs some 200 µs. Where not even
 * the first chunk can be reserved, all is private memory, which only this process can read; where a later one cannot,
 * the file stays as large as it is, and what finds no place in it is counted. So a file is always whole.
 *
 * A run may be thousands of small processes: the first chunk is 32 KiB, and a chunk is a quarter of what there is
 * already, up to 256 KiB.
 */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TT_CHUNK_LEAST (32ull * 1024)
#define TT_CHUNK_MOST (256ull * 1024)
/* Kept free ahead of what is used: more than any record takes. */
#define TT_AHEAD (12ull * 1024)
/* What does not fit may be entered a million times per second: of so many requests for room where there was none, one is
 * passed on to the system. There may be room again by then. */
#define TT_ASKS_SKIPPED 255u
#define TT_RESERVED_BYTES (64ull * 1024 * 1024)

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif

int tt_reserve_blocks(int fd, uint64_t offset, uint64_t bytes)
{
#if defined(__linux__)
    return posix_fallocate(fd, (off_t)offset, (off_t)bytes);
#else
    return ftruncate(fd, (off_t)(offset + bytes)) ? errno : 0;
#endif
}

void *tt_map_file(int fd, size_t bytes)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Maps what another process has made: only a file that is ours, whole, and begins with these two words. */
void *tt_join_file(const char *path, size_t bytes, uint64_t magic, uint64_t format)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct stat status;
    int good = !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
               status.st_size == (off_t)bytes;
    uint64_t *words = good ? tt_map_file(fd, bytes) : NULL;
    close(fd);
    if (!words || (__atomic_load_n(words, __ATOMIC_ACQUIRE) == magic && words[1] == format)) return words;
    munmap(words, bytes);
    return NULL;
}

/* Chunks are whole pages; where pages are larger than the least chunk, one page is. */
static uint64_t tt_chunk_unit(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return page > TT_CHUNK_LEAST ? page : TT_CHUNK_LEAST;
}

static int tt_arena_extend(tt_arena *arena, uint64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (arena->fd >= 0) {
        if (tt_reserve_blocks(arena->fd, arena->backed, bytes)) return 0;
        flags = MAP_SHARED;
    }
    void *at = mmap(arena->base + arena->backed, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_POPULATE,
                    arena->fd, arena->fd < 0 ? 0 : (off_t)arena->backed);
    if (at == MAP_FAILED) return 0;
    arena->backed += bytes;
    return 1;
}

/* One more chunk; 0 where addresses, tmpfs or all memory are used up. */
static int tt_arena_back(tt_arena *arena)
{
    uint64_t unit = tt_chunk_unit();
    uint64_t most = arena->fd >= 0 && arena->file_limit < TT_RESERVED_BYTES ? arena->file_limit : TT_RESERVED_BYTES;
    if (arena->backed + unit > most) return 0;
    if (arena->asks_to_skip) {
        arena->asks_to_skip--;
        return 0;
    }
    uint64_t left = (most - arena->backed) / unit * unit;
    uint64_t bytes = arena->backed / 4 / unit * unit;
    if (bytes > TT_CHUNK_MOST) bytes = TT_CHUNK_MOST / unit * unit;
    if (bytes > left) bytes = left;
    /* Where a large one finds no room a small one may. */
    if ((bytes > unit && tt_arena_extend(arena, bytes)) || tt_arena_extend(arena, unit)) return 1;
    arena->asks_to_skip = TT_ASKS_SKIPPED;
    return 0;
}

/* The first chunk: on tmpfs if there is room, else private. */
static int tt_arena_start(tt_arena *arena, const char *path)
{
    if (arena->fd >= 0 && !tt_arena_back(arena)) {
        unlink(path);
        close(arena->fd);
        arena->fd = -1;
        arena->asks_to_skip = 0;
    }
    return arena->backed || tt_arena_back(arena);
}

/* `path` NULL: private memory. The file must not exist yet, and no link is followed; -1 where it cannot be made, 0
 * where there is no memory. Where the arena already has its addresses (a child after fork), it keeps them: pointers
 * into it stay good. */
int tt_arena_open(tt_arena *arena, const char *path, uint64_t file_limit)
{
    if (arena->fd >= 0) close(arena->fd);
    arena->fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (path && arena->fd < 0) return -1;
    arena->file_limit = file_limit;
    arena->backed = 0;
    arena->asks_to_skip = 0;
    void *at = mmap(arena->base, TT_RESERVED_BYTES, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (arena->base ? MAP_FIXED : 0), -1, 0);
    if (at == MAP_FAILED) return 0;
    arena->base = at;
    return tt_arena_start(arena, path);
}

void tt_arena_close(tt_arena *arena)
{
    if (arena->base) munmap(arena->base, TT_RESERVED_BYTES);
    if (arena->fd >= 0) close(arena->fd);
    arena->base = NULL;
    arena->fd = -1;
}

/* -- the hash table ---------------------------------------------------------------------------------------------- */

/* In the manner of FNV-1a, eight bytes at a time (little-endian, as all machines are that this runs on). */
uint64_t tt_hash(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    for (size_t part; length; length -= part, at += part) {
        uint64_t word = 0;
        part = length < sizeof word ? length : sizeof word;
        memcpy(&word, at, part);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Every bit of the hash to every bit of the key; never 0, which marks a place that was never used. */
uint64_t tt_hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCDULL;
    hash = (hash ^ hash >> 33) * 0xC4CEB9FE1A85EC53ULL;
    hash ^= hash >> 33;
    return hash ? hash : 1;
}

/* An array with room for one more item, which may have moved; NULL where there is no memory: then it stays as it is. */
void *tt_grown(void *items, uint32_t count, uint32_t *room, uint32_t least, size_t bytes)
{
    if (count < *room) return items;
    uint32_t more = *room ? 2 * *room : least;
    void *grown = realloc(items, more * bytes);
    if (grown) *room = more;
    return grown;
}

/* Fibonacci hashing: Knuth, TAOCP 6.4. `step` entries after a key's own place. */
static tt_entry *tt_map_entry(const tt_map *map, uint64_t key, uint32_t step)
{
    return &map->entries[((uint32_t)((key * 0x9E3779B97F4A7C15ULL) >> 32) + step) & (map->room - 1)];
}

uint64_t tt_map_next(const tt_map *map, uint64_t key, uint32_t *at)
{
    while (map->room) {
        const tt_entry *entry = tt_map_entry(map, key, (*at)++);
        if (!entry->value || entry->key == key) return entry->value;
    }
    return 0;
}

uint64_t tt_map_get(const tt_map *map, uint64_t key)
{
    uint32_t at = 0;
    return tt_map_next(map, key, &at);
}

void tt_map_add(tt_map *map, uint64_t key, uint64_t value)
{
    uint32_t step = 0;
    while (tt_map_entry(map, key, step)->value) step++;
    *tt_map_entry(map, key, step) = (tt_entry){key, value};
    map->count++;
}

int tt_map_reserve(tt_map *map)
{
    if (2 * (map->count + 1) <= map->room) return 1;
    tt_map grown = {.room = map->room ? 2 * map->room : 64};
    grown.entries = calloc(grown.room, sizeof *grown.entries);
    if (!grown.entries) return 0;
    for (uint32_t at = 0; at < map->room; at++)
        if (map->entries[at].value) tt_map_add(&grown, map->entries[at].key, map->entries[at].value);
    free(map->entries);
    *map = grown;
    return 1;
}

void tt_map_clear(tt_map *map)
{
    if (map->entries) memset(map->entries, 0, map->room * sizeof *map->entries);
    map->count = 0;
}

void tt_map_free(tt_map *map)
{
    free(map->entries);
    *map = (tt_map){NULL, 0, 0};
}

/* -- records ----------------------------------------------------------------------------------------------- */

/* Zeroed lines, or NULL: the caller counts what it could not record. */
void *tt_allocate(tt_recorder *recorder, uint64_t bytes)
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

/* A name's record: its length in 32 bits, its bytes. 0 where there is no memory. */
tt_ref tt_store_text(tt_recorder *recorder, const char *bytes, uint32_t length)
{
    uint8_t *text = tt_allocate(recorder, sizeof(uint32_t) + length);
    if (!text) return 0;
    memcpy(text, &length, sizeof length);
    memcpy(text + sizeof length, bytes, length);
    return tt_ref_of(recorder, text);
}

tt_ref tt_name_ref(tt_recorder *recorder, uint32_t name_id)
{
    tt_name *name = &recorder->names[name_id];
    if (!name->ref) name->ref = tt_store_text(recorder, name->bytes, name->length);
    return name->ref;
}

/* An identifier for a name of this recorder, or -1 where there are too many. */
int64_t tt_name_intern(tt_recorder *recorder, const char *bytes, uint32_t length)
{
    if (recorder->name_count >= recorder->name_cap) return -1;
    tt_name *names = tt_grown(recorder->names, recorder->name_count, &recorder->name_room, 64, sizeof *names);
    if (!names) return -1;
    recorder->names = names;
    char *copy = malloc(length ? length : 1);
    if (!copy) return -1;
    memcpy(copy, bytes, length);
    recorder->names[recorder->name_count] = (tt_name){copy, length, 0};
    return recorder->name_count++;
}

/* One more frame. NULL, and counted, where there are too many. */
tt_frame *tt_frame_make(tt_recorder *recorder)
{
    tt_frame *frame = recorder->frame_count < recorder->frame_cap ? tt_allocate(recorder, sizeof *frame) : NULL;
    if (!frame) {
        tt_lose(recorder, recorder->frame_count < recorder->frame_cap ? TT_LOSS_MEMORY : TT_LOSS_FRAMES);
        return NULL;
    }
    recorder->frame_count++;
    frame->next = recorder->header->frames;
    tt_link(recorder, &recorder->header->frames, frame);
    return frame;
}

/* -- the timeline ------------------------------------------------------------------------------------------ */

#define TT_EVENTS_LEAST 1024u    /* a ring that finds no room for these is not worth its place */
#define TT_LANE_CAP 1024u        /* what runs past it shares lane 0 */

/* One more chunk of exactly so many bytes, in one go: a ring is reserved and touched before anything is recorded. */
static int tt_ring_back(tt_recorder *recorder, uint64_t bytes)
{
    tt_arena *arena = &recorder->arena;
    uint64_t unit = tt_chunk_unit(), to = recorder->header->used_bytes + bytes + TT_AHEAD;
    if (to <= arena->backed) return 1;
    uint64_t more = (to - arena->backed + unit - 1) / unit * unit;
    uint64_t most = arena->fd >= 0 && arena->file_limit < TT_RESERVED_BYTES ? arena->file_limit : TT_RESERVED_BYTES;
    /* Nodes and histograms need room as well: at most three quarters of it all are the ring's. */
    if (arena->backed + more > most - most / 4 || !tt_arena_extend(arena, more)) return 0;
    recorder->header->backed_bytes = arena->backed;
    return 1;
}

static tt_ring *tt_ring_make(tt_recorder *recorder, uint64_t capacity)
{
    uint64_t bytes = sizeof(tt_ring) + capacity * sizeof(tt_event);
    tt_ring *ring = tt_ring_back(recorder, bytes) ? tt_allocate(recorder, bytes) : NULL;
    if (ring) ring->capacity = capacity;
    return ring;
}

/* The lane of a thread, or of one of the contexts that interleave in it; found again on return. */
tt_ref tt_lane_of(tt_recorder *recorder, uint64_t thread_id, const char *thread_name, uint32_t number)
{
    if (!recorder->ring) return 0;
    for (tt_ref ref = recorder->header->lanes; ref;) {
        tt_lane *lane = tt_at(recorder, ref);
        if (lane->thread_id == thread_id && lane->number == number && !strcmp(lane->thread_name, thread_name)) return ref;
        ref = lane->next;
    }
    if (recorder->header->lane_count >= TT_LANE_CAP) return 0;
    tt_lane *lane = tt_allocate(recorder, sizeof *lane);
    if (!lane) return 0;
    lane->thread_id = thread_id;
    lane->number = number;
    strncpy(lane->thread_name, thread_name, TT_THREAD_NAME);
    lane->next = recorder->header->lanes;
    tt_link(recorder, &recorder->header->lanes, lane);
    recorder->header->lane_count++;
    return tt_ref_of(recorder, lane);
}

/* Of a stack other than its thread's own. `known`: the lane it had when it was last in use. */
tt_ref tt_lane_of_stack(tt_recorder *recorder, const tt_thread *thread, tt_ref known, uint32_t number)
{
    if (known || !thread->base.lane) return known;
    const tt_lane *own = tt_at(recorder, thread->base.lane);
    return tt_lane_of(recorder, own->thread_id, own->thread_name, number);
}

static void tt_lanes_of_thread(tt_recorder *recorder, tt_thread *thread)
{
    const tt_tree *tree = tt_at(recorder, thread->slot->tree);
    thread->base.lane = tt_lane_of(recorder, tree->thread_id, tree->thread_name, 0);
    for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
        stack->lane = tt_lane_of_stack(recorder, thread, stack->lane, stack->number);
}

/* Gives a file its ring, once. Where there is no room for so many events, for as many as there is: half, a quarter, ... */
void tt_timeline_begin(tt_recorder *recorder)
{
    uint64_t capacity = recorder->event_capacity;
    if (recorder->ring || !capacity) return;
    do {
        recorder->ring = tt_ring_make(recorder, capacity);
        capacity /= 2;
    } while (!recorder->ring && capacity >= TT_EVENTS_LEAST);
    if (!recorder->ring) return;
    recorder->event_at = 0;
    tt_link(recorder, &recorder->header->ring, recorder->ring);
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next) tt_lanes_of_thread(recorder, thread);
}

static inline tt_event *tt_events_of(tt_ring *ring) { return (tt_event *)(ring + 1); }

/* Out of line, to keep it out of the way of programs without a timeline. */
void tt_event_put(tt_recorder *recorder, tt_ref lane, tt_ref node, uint64_t start, uint64_t end)
{
    tt_ring *ring = recorder->ring;
    __atomic_store_n(&ring->begun, ring->begun + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    tt_events_of(ring)[recorder->event_at] = (tt_event){start, end, node, lane};
    if (++recorder->event_at == ring->capacity) recorder->event_at = 0;
    __atomic_store_n(&ring->done, ring->done + 1, __ATOMIC_RELEASE);
}

#define TT_MISSED_PROBES 8u

/* The sum of a node in missed ticks. The refs of nodes are scattered over a table; what finds no place near its own is
 * in the next one, so that a tick costs the same however many nodes there are. NULL: no memory. */
uint64_t *tt_missed_sum(tt_recorder *recorder, tt_ref *table_ref, tt_ref node)
{
    unsigned begin = (node * 0x9E3779B1u >> 16) % TT_MISSED_ROWS;
    for (;;) {
        if (!*table_ref) {
            void *made = tt_allocate(recorder, sizeof(tt_missed_rows));
            if (!made) return NULL;
            tt_link(recorder, table_ref, made);
        }
        tt_missed_rows *table = tt_at(recorder, *table_ref);
        for (unsigned probe = 0; probe < TT_MISSED_PROBES; probe++) {
            tt_worst_row *row = &table->rows[(begin + probe) % TT_MISSED_ROWS];
            if (!row->node) row->node = node;
            if (row->node == node) return &row->sum;
        }
        table_ref = &table->next;
    }
}
