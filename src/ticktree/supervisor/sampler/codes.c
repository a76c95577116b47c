/* What code objects are called. Their addresses are used again, so a name that was read before is taken only if the object
 * still has the same strings, and those the same hashes. */
#include "sampler.h"
#include <stdlib.h>

static int tt_batch_read(tt_batch *batch, int pid)
{
    if (!batch->count) return 1;
    return tt_batch_copied(batch, pid) == (ssize_t)batch->bytes;
}

static uint32_t tt_code_slot(const tt_codes *codes, uint64_t address)
{
    uint32_t at = (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15ULL >> 32) & (codes->slot_count - 1);
    while (codes->slots[at] && codes->items[codes->slots[at] - 1]->address != address) at = (at + 1) & (codes->slot_count - 1);
    return at;
}

static int tt_codes_grow(tt_codes *codes)
{
    uint32_t room = codes->room ? 2 * codes->room : 1024;
    tt_code **items = realloc(codes->items, room * sizeof *items);
    if (!items) return 0;
    codes->items = items;
    uint32_t *slots = calloc(4 * (size_t)room, sizeof *slots);
    if (!slots) return 0;
    free(codes->slots);
    codes->slots = slots;
    codes->slot_count = 4 * room;
    codes->room = room;
    for (uint32_t number = 0; number < codes->count; number++) /* later ones replace earlier ones of their address */
        codes->slots[tt_code_slot(codes, codes->items[number]->address)] = number + 1;
    return 1;
}

void tt_code_free(tt_code *code)
{
    free(code->name.bytes);
    free(code->file.bytes);
    free(code->table);
    free(code);
}

static void tt_text_head(tt_text *text, uint64_t address, const PyASCIIObject *head)
{
    *text = (tt_text){address, head->length, head->hash, head->state.kind, head->state.ascii, NULL};
    if (!head->state.compact) text->kind = 0;
}

size_t tt_text_bytes(const tt_text *text)
{
    size_t bytes = (size_t)text->length * text->kind;
    return bytes < TT_TEXT_LIMIT ? bytes : TT_TEXT_LIMIT;
}

static int tt_text_copy(const tt_text *text, int pid, unsigned char *to)
{
    uint64_t data = text->address + (text->is_ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject));
    return !text->length || tt_remote_read(pid, data, to, tt_text_bytes(text));
}

static int tt_text_read(tt_text *text, int pid)
{
    if (text->length < 0 || text->length > 1 << 20 || (text->kind != 1 && text->kind != 2 && text->kind != 4)) return 0;
    text->bytes = malloc(tt_text_bytes(text) + 1);
    return text->bytes && tt_text_copy(text, pid, text->bytes);
}

/* Whether the string at an address is still the one that was read: by its hash, or byte by byte where it has none. */
static int tt_same_text(const tt_text *known, int pid, uint64_t address, const PyASCIIObject *head)
{
    unsigned char now[TT_TEXT_LIMIT];
    if (known->address != address || known->length != head->length || known->kind != head->state.kind) return 0;
    if (head->hash != -1 && known->hash != -1) return head->hash == known->hash;
    return tt_text_copy(known, pid, now) && !memcmp(now, known->bytes, tt_text_bytes(known));
}

/* The number of a code object that was not met before, plus 1. It is read twice: once may be while it is made or goes. */
static uint32_t tt_code_new(tt_codes *codes, int pid, uint64_t address, const PyCodeObject *body,
                            const PyASCIIObject *name, const PyASCIIObject *file)
{
    PyVarObject table;
    PyCodeObject again;
    uint64_t table_at = (uint64_t)(uintptr_t)body->co_linetable;
    if (codes->count >= TT_CODES_MOST || (codes->count == codes->room && !tt_codes_grow(codes))) return 0;
    tt_code *code = calloc(1, sizeof *code);
    if (!code) return 0;
    code->address = address;
    code->table_address = table_at;
    code->first_line = body->co_firstlineno;
    tt_text_head(&code->name, (uint64_t)(uintptr_t)body->co_qualname, name);
    tt_text_head(&code->file, (uint64_t)(uintptr_t)body->co_filename, file);
    int whole = tt_text_read(&code->name, pid) && tt_text_read(&code->file, pid) &&
                tt_remote_read(pid, table_at, &table, sizeof table) && table.ob_size >= 0;
    if (whole) {
        code->table_length = table.ob_size < (Py_ssize_t)TT_TABLE_LIMIT ? (uint32_t)table.ob_size : TT_TABLE_LIMIT;
        code->table = malloc(code->table_length + 1);
        whole = code->table && (!code->table_length || tt_remote_read(pid, table_at + offsetof(PyBytesObject, ob_sval),
                                                                      code->table, code->table_length));
    }
    PyASCIIObject heads[2];
    whole = whole && tt_remote_read(pid, address, &again, offsetof(PyCodeObject, co_code_adaptive)) &&
            again.co_qualname == body->co_qualname && again.co_filename == body->co_filename &&
            again.co_linetable == body->co_linetable && Py_TYPE(&again) == Py_TYPE(body) &&
            tt_remote_read(pid, code->name.address, &heads[0], sizeof heads[0]) &&
            tt_remote_read(pid, code->file.address, &heads[1], sizeof heads[1]) &&
            heads[0].length == name->length && heads[1].length == file->length;
    if (!whole) {
        tt_code_free(code);
        return 0;
    }
    uint32_t slot = tt_code_slot(codes, address);
    codes->items[codes->count] = code;
    codes->slots[slot] = ++codes->count;
    return codes->count;
}

static size_t tt_frame_words(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030C0000
    return (size_t)code->co_framesize;
#else
    return (size_t)code->co_nlocalsplus + (size_t)code->co_stacksize + FRAME_SPECIALS_SIZE;
#endif
}

/* A chunk of frames begins with a page, its header, and a word that stays free in the first one. */
#define TT_CHUNK_HEAD (offsetof(_PyStackChunk, data) + sizeof(PyObject *))

/* Calls lie one behind the other: each begins where the one that called it ends, or another chunk. A stack of which parts
 * are older than others does not look so. Returns the number of the innermost frame from which on outwards all fit. */
static uint32_t tt_first_that_fits(const tt_sampled_frame *frames, const PyCodeObject *bodies, const uint32_t *body_of,
                                   uint32_t count)
{
    uint32_t first = 0, callee = count;
    for (uint32_t at = 0; at < count; at++) { /* innermost first */
        if (!frames[at].in_chunk) continue;
        if (callee < count && frames[at].address + 8 * tt_frame_words(&bodies[body_of[at]]) != frames[callee].address &&
            frames[callee].address % TT_PAGE > TT_CHUNK_HEAD)
            first = at;
        callee = at;
    }
    return first;
}

/* Numbers the code objects of frames, each once: a recursion has hundreds of frames of one. Returns how many there are. */
static uint32_t tt_distinct_codes(const tt_sampled_frame *frames, uint32_t count, uint64_t *addresses, uint32_t *body_of)
{
    uint32_t distinct = 0;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t body = 0;
        while (body < distinct && addresses[body] != frames[at].code) body++;
        if (body == distinct) addresses[distinct++] = frames[at].code;
        body_of[at] = body;
    }
    return distinct;
}

uint32_t tt_name_frames(tt_codes *codes, int pid, uint64_t code_type, const tt_sampled_frame *frames, uint32_t count,
                        uint32_t *numbers, uint32_t *offsets)
{
    static __thread PyCodeObject bodies[TT_FRAMES_KEPT];
    static __thread PyASCIIObject names[TT_FRAMES_KEPT], files[TT_FRAMES_KEPT];
    static __thread tt_batch batch;
    uint64_t addresses[TT_FRAMES_KEPT];
    uint32_t body_of[TT_FRAMES_KEPT], number_of[TT_FRAMES_KEPT];
    uint32_t distinct = tt_distinct_codes(frames, count, addresses, body_of);
    batch.count = 0, batch.bytes = 0;
    for (uint32_t at = 0; at < distinct; at++)
        tt_batch_add(&batch, addresses[at], &bodies[at], offsetof(PyCodeObject, co_code_adaptive));
    if (!tt_batch_read(&batch, pid)) return 0;
    for (uint32_t at = 0; at < distinct; at++)
        if ((uint64_t)(uintptr_t)Py_TYPE(&bodies[at]) != code_type) return 0;
    uint32_t first = tt_first_that_fits(frames, bodies, body_of, count);
    if (first && count - first < TT_FRAMES_OUTER) return 0;
    batch.count = 0, batch.bytes = 0;
    for (uint32_t at = 0; at < distinct; at++) {
        tt_batch_add(&batch, (uint64_t)(uintptr_t)bodies[at].co_qualname, &names[at], sizeof names[at]);
        tt_batch_add(&batch, (uint64_t)(uintptr_t)bodies[at].co_filename, &files[at], sizeof files[at]);
    }
    if (!tt_batch_read(&batch, pid)) return 0;
    if (!codes->room && !tt_codes_grow(codes)) return 0;
    for (uint32_t at = 0; at < distinct; at++) {
        uint32_t number = codes->slots[tt_code_slot(codes, addresses[at])];
        const tt_code *known = number ? codes->items[number - 1] : NULL;
        int is_same = known && known->first_line == bodies[at].co_firstlineno &&
                      known->table_address == (uint64_t)(uintptr_t)bodies[at].co_linetable &&
                      tt_same_text(&known->name, pid, (uint64_t)(uintptr_t)bodies[at].co_qualname, &names[at]) &&
                      tt_same_text(&known->file, pid, (uint64_t)(uintptr_t)bodies[at].co_filename, &files[at]);
        if (!is_same) number = tt_code_new(codes, pid, addresses[at], &bodies[at], &names[at], &files[at]);
        if (!number) return 0;
        number_of[at] = number - 1;
    }
    for (uint32_t at = first; at < count; at++) {
        numbers[at - first] = number_of[body_of[at]];
        uint64_t begin = frames[at].code + offsetof(PyCodeObject, co_code_adaptive);
        uint64_t bytes = sizeof(_Py_CODEUNIT) * (uint64_t)Py_SIZE(&bodies[body_of[at]]);
        uint64_t offset = frames[at].instruction - begin; /* before the first instruction: as if it ran */
        offsets[at - first] = offset < bytes ? (uint32_t)offset : 0;
    }
    return count - first;
}
