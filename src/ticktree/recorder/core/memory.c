/* The memory that a recorder writes: one range of addresses, backed chunk by chunk, and records taken from its end.
 *
 * It is on tmpfs and never on a disk: dirty pages of a disk file are write-protected while they are written back, and
 * stall the next writer. Every chunk is reserved (posix_fallocate) and touched before it is needed: writing to an
 * unreserved page of a full tmpfs is a SIGBUS, and the first touch of 256 KiB costs some 200 µs. If even the first
 * chunk cannot be reserved, the memory is private and only this process can read it; if a later one cannot, the file
 * keeps its size, and records without room are counted. So a file is always complete.
 *
 * A run may have thousands of small processes: the first chunk is 32 KiB, and each later chunk a quarter of the file,
 * up to 256 KiB.
 */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TT_CHUNK_MIN (32ull * 1024)
#define TT_CHUNK_MAX (256ull * 1024)
/* Backed but unused bytes at the end: more than any record takes. */
#define TT_HEADROOM (12ull * 1024)
/* A section without room may be entered a million times per second: after a refusal, so many requests do not ask the
 * system. There may be room again afterwards. */
#define TT_RETRIES_SKIPPED 255u
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
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return address == MAP_FAILED ? NULL : address;
}

/* Maps a file of another process: only if this user owns it, it has this size, and it begins with these two words. */
void *tt_join_file(const char *path, size_t bytes, uint64_t magic, uint64_t format)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return NULL;
    struct stat status;
    int is_valid = !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
               status.st_size == (off_t)bytes;
    uint64_t *header = is_valid ? tt_map_file(fd, bytes) : NULL;
    close(fd);
    if (!header || (__atomic_load_n(header, __ATOMIC_ACQUIRE) == magic && header[1] == format)) return header;
    munmap(header, bytes);
    return NULL;
}

/* The smallest chunk, in whole pages: one page if pages are larger than TT_CHUNK_MIN. */
static uint64_t tt_chunk_unit(void)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return page > TT_CHUNK_MIN ? page : TT_CHUNK_MIN;
}

static int tt_arena_extend(tt_arena *arena, uint64_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (arena->fd >= 0) {
        if (tt_reserve_blocks(arena->fd, arena->backed, bytes)) return 0;
        flags = MAP_SHARED;
    }
    void *address = mmap(arena->base + arena->backed, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_POPULATE,
                    arena->fd, arena->fd < 0 ? 0 : (off_t)arena->backed);
    if (address == MAP_FAILED) return 0;
    arena->backed += bytes;
    return 1;
}

static uint64_t tt_arena_limit(const tt_arena *arena)
{
    return arena->fd >= 0 && arena->file_limit < TT_RESERVED_BYTES ? arena->file_limit : TT_RESERVED_BYTES;
}

/* Adds a chunk; 0: no addresses, no room on tmpfs, or no memory left. */
static int tt_arena_grow(tt_arena *arena)
{
    uint64_t unit = tt_chunk_unit(), limit = tt_arena_limit(arena);
    if (arena->backed + unit > limit) return 0;
    if (arena->retries_to_skip) {
        arena->retries_to_skip--;
        return 0;
    }
    uint64_t available = (limit - arena->backed) / unit * unit;
    uint64_t bytes = arena->backed / 4 / unit * unit;
    if (bytes > TT_CHUNK_MAX) bytes = TT_CHUNK_MAX / unit * unit;
    if (bytes > available) bytes = available;
    /* If a large chunk finds no room, a small one may. */
    if ((bytes > unit && tt_arena_extend(arena, bytes)) || tt_arena_extend(arena, unit)) return 1;
    arena->retries_to_skip = TT_RETRIES_SKIPPED;
    return 0;
}

/* Adds the first chunk: on tmpfs if there is room, else private. */
static int tt_arena_start(tt_arena *arena, const char *path)
{
    if (arena->fd >= 0 && !tt_arena_grow(arena)) {
        unlink(path);
        close(arena->fd);
        arena->fd = -1;
        arena->retries_to_skip = 0;
    }
    return arena->backed || tt_arena_grow(arena);
}

/* `path` NULL: private memory. The file must not exist yet, and links are not followed; -1: it cannot be created, 0:
 * there is no memory. An arena that already has its addresses (a child after fork) keeps them: pointers into it stay
 * valid. */
int tt_arena_open(tt_arena *arena, const char *path, uint64_t file_limit)
{
    if (arena->fd >= 0) close(arena->fd);
    arena->fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (path && arena->fd < 0) return -1;
    arena->file_limit = file_limit;
    arena->backed = 0;
    arena->retries_to_skip = 0;
    void *address = mmap(arena->base, TT_RESERVED_BYTES, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (arena->base ? MAP_FIXED : 0), -1, 0);
    if (address == MAP_FAILED) return 0;
    arena->base = address;
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

/* Like FNV-1a, but eight bytes at a time (little-endian, like all supported machines). */
uint64_t tt_hash(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *next = bytes;
    for (size_t size; length; length -= size, next += size) {
        uint64_t chunk = 0;
        size = length < sizeof chunk ? length : sizeof chunk;
        memcpy(&chunk, next, size);
        hash = (hash ^ chunk) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Mixes every bit of the hash into every bit of the key; never 0, which marks an unused slot. */
uint64_t tt_hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCDULL;
    hash = (hash ^ hash >> 33) * 0xC4CEB9FE1A85EC53ULL;
    hash ^= hash >> 33;
    return hash ? hash : 1;
}

/* An array with room for one more item, possibly at a new address; NULL: no memory, and the array is unchanged. */
void *tt_grown(void *items, uint32_t count, uint32_t *room, uint32_t min_room, size_t bytes)
{
    if (count < *room) return items;
    uint32_t new_room = *room ? 2 * *room : min_room;
    void *new_items = realloc(items, new_room * bytes);
    if (new_items) *room = new_room;
    return new_items;
}

/* Fibonacci hashing: Knuth, TAOCP 6.4. The entry `step` places after a key's first. */
static tt_entry *tt_map_entry(const tt_map *map, uint64_t key, uint32_t step)
{
    return &map->entries[((uint32_t)((key * 0x9E3779B97F4A7C15ULL) >> 32) + step) & (map->room - 1)];
}

uint64_t tt_map_next(const tt_map *map, uint64_t key, uint32_t *step)
{
    while (map->room) {
        const tt_entry *entry = tt_map_entry(map, key, (*step)++);
        if (!entry->value || entry->key == key) return entry->value;
    }
    return 0;
}

uint64_t tt_map_get(const tt_map *map, uint64_t key)
{
    uint32_t step = 0;
    return tt_map_next(map, key, &step);
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
    for (uint32_t i = 0; i < map->room; i++)
        if (map->entries[i].value) tt_map_add(&grown, map->entries[i].key, map->entries[i].value);
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

/* Zeroed lines, or NULL: the caller then counts the loss. */
void *tt_allocate(tt_recorder *recorder, uint64_t bytes)
{
    tt_header *header = recorder->header;
    uint64_t from = header->used_bytes;
    uint64_t to = from + (bytes + TT_LINE - 1) / TT_LINE * TT_LINE;
    /* The next chunk is prepared here, where a new record costs time anyway, not while a section is entered. */
    if (to + TT_HEADROOM > recorder->arena.backed && tt_arena_grow(&recorder->arena))
        header->backed_bytes = recorder->arena.backed;
    if (to > recorder->arena.backed) {
        recorder->memory_full = 1;
        return NULL;
    }
    header->used_bytes = to;
    return recorder->arena.base + from;
}

/* A name's record: its length in 32 bits, then its bytes. 0: no memory. */
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

/* An identifier for a name of this recorder; -1: too many names. */
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

/* Adds a frame. NULL: there are too many, which is counted. */
tt_frame *tt_frame_make(tt_recorder *recorder)
{
    int has_room = recorder->frame_count < recorder->frame_cap;
    tt_frame *frame = has_room ? tt_allocate(recorder, sizeof *frame) : NULL;
    if (!frame) {
        tt_lose(recorder, has_room ? TT_LOSS_MEMORY : TT_LOSS_FRAMES);
        return NULL;
    }
    recorder->frame_count++;
    TT_PREPEND(recorder, &recorder->header->frames, frame);
    return frame;
}

/* -- the timeline ------------------------------------------------------------------------------------------ */

#define TT_EVENTS_MIN 1024u /* a smaller ring is not worth its room */
#define TT_LANE_CAP 1024u   /* calls past it share lane 0 */

/* Backs exactly so many bytes at once: a ring is reserved and touched before anything is recorded. */
static int tt_ring_reserve(tt_recorder *recorder, uint64_t bytes)
{
    tt_arena *arena = &recorder->arena;
    uint64_t unit = tt_chunk_unit(), to = recorder->header->used_bytes + bytes + TT_HEADROOM;
    if (to <= arena->backed) return 1;
    uint64_t missing = (to - arena->backed + unit - 1) / unit * unit;
    uint64_t limit = tt_arena_limit(arena);
    /* Nodes and histograms need room too: the ring takes at most three quarters. */
    if (arena->backed + missing > limit - limit / 4 || !tt_arena_extend(arena, missing)) return 0;
    recorder->header->backed_bytes = arena->backed;
    return 1;
}

static tt_ring *tt_ring_make(tt_recorder *recorder, uint64_t capacity)
{
    uint64_t bytes = sizeof(tt_ring) + capacity * sizeof(tt_event);
    tt_ring *ring = tt_ring_reserve(recorder, bytes) ? tt_allocate(recorder, bytes) : NULL;
    if (ring) ring->capacity = capacity;
    return ring;
}

/* The lane of a thread, or of one of the contexts that interleave in it; the same one each time. */
tt_ref tt_lane_of(tt_recorder *recorder, uint64_t thread_id, const char *thread_name, uint32_t number)
{
    if (!recorder->ring) return 0;
    tt_lane *lane = tt_at_or_null(recorder, recorder->header->lanes);
    for (; lane; lane = tt_at_or_null(recorder, lane->next))
        if (lane->thread_id == thread_id && lane->number == number && !strcmp(lane->thread_name, thread_name))
            return tt_ref_of(recorder, lane);
    lane = recorder->header->lane_count < TT_LANE_CAP ? tt_allocate(recorder, sizeof *lane) : NULL;
    if (!lane) return 0;
    lane->thread_id = thread_id;
    lane->number = number;
    strncpy(lane->thread_name, thread_name, TT_THREAD_NAME);
    TT_PREPEND(recorder, &recorder->header->lanes, lane);
    recorder->header->lane_count++;
    return tt_ref_of(recorder, lane);
}

/* The lane of a stack other than its thread's own. `last_lane`: its lane when it was last in use. */
tt_ref tt_lane_of_stack(tt_recorder *recorder, const tt_thread *thread, tt_ref last_lane, uint32_t number)
{
    if (last_lane || !thread->base.lane) return last_lane;
    const tt_lane *thread_lane = tt_at(recorder, thread->base.lane);
    return tt_lane_of(recorder, thread_lane->thread_id, thread_lane->thread_name, number);
}

static void tt_lanes_of_thread(tt_recorder *recorder, tt_thread *thread)
{
    const tt_tree *tree = tt_at(recorder, thread->slot->tree);
    thread->base.lane = tt_lane_of(recorder, tree->thread_id, tree->thread_name, 0);
    for (tt_stack *stack = thread->stacks; stack; stack = stack->next)
        stack->lane = tt_lane_of_stack(recorder, thread, stack->lane, stack->number);
}

/* Gives a file its ring, once. Without room for so many events it is smaller: half, a quarter, ... */
void tt_timeline_begin(tt_recorder *recorder)
{
    uint64_t capacity = recorder->event_capacity;
    if (recorder->ring || !capacity) return;
    do {
        recorder->ring = tt_ring_make(recorder, capacity);
        capacity /= 2;
    } while (!recorder->ring && capacity >= TT_EVENTS_MIN);
    if (!recorder->ring) return;
    recorder->event_index = 0;
    tt_link(recorder, &recorder->header->ring, recorder->ring);
    for (tt_thread *thread = recorder->threads; thread; thread = thread->next) tt_lanes_of_thread(recorder, thread);
}

/* Not inlined, so that programs without a timeline do not pay for it. */
void tt_event_put(tt_recorder *recorder, tt_ref lane, tt_ref node, uint64_t start, uint64_t end)
{
    tt_ring *ring = recorder->ring;
    __atomic_store_n(&ring->begun, ring->begun + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    ((tt_event *)(ring + 1))[recorder->event_index] = (tt_event){start, end, node, lane};
    if (++recorder->event_index == ring->capacity) recorder->event_index = 0;
    __atomic_store_n(&ring->done, ring->done + 1, __ATOMIC_RELEASE);
}

#define TT_MISSED_PROBES 8u

/* The sum of a node in missed ticks. Nodes are hashed into a table; a node without a free row near its own is in the
 * next table, so a tick costs the same however many nodes there are. NULL: no memory. */
uint64_t *tt_missed_sum(tt_recorder *recorder, tt_ref *table_ref, tt_ref node)
{
    unsigned start = (node * 0x9E3779B1u >> 16) % TT_MISSED_ROWS;
    for (;;) {
        if (!*table_ref) {
            void *new_table = tt_allocate(recorder, sizeof(tt_missed_rows));
            if (!new_table) return NULL;
            tt_link(recorder, table_ref, new_table);
        }
        tt_missed_rows *table = tt_at(recorder, *table_ref);
        for (unsigned probe = 0; probe < TT_MISSED_PROBES; probe++) {
            tt_worst_row *row = &table->rows[(start + probe) % TT_MISSED_ROWS];
            if (!row->node) row->node = node;
            if (row->node == node) return &row->sum;
        }
        table_ref = &table->next;
    }
}
