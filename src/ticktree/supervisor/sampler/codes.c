/* Names of code objects. Addresses are reused, so a name that was read before is used only if the object still has the same
 * strings, and these the same hashes. */
#include "sampler.h"
#include <stdlib.h>

static int tt_batch_read(tt_batch *batch, int pid)
{
    return !batch->count || tt_batch_copy(batch, pid) == (ssize_t)batch->bytes;
}

static uint32_t tt_code_slot(const tt_codes *codes, uint64_t address)
{
    uint32_t slot = (uint32_t)((address >> 4) * 0x9E3779B97F4A7C15ULL >> 32) & (codes->slot_count - 1);
    while (codes->slots[slot] && codes->items[codes->slots[slot] - 1]->address != address)
        slot = (slot + 1) & (codes->slot_count - 1);
    return slot;
}

static int tt_codes_grow(tt_codes *codes)
{
    uint32_t capacity = codes->capacity ? 2 * codes->capacity : 1024;
    tt_code **items = realloc(codes->items, capacity * sizeof *items);
    if (!items) return 0;
    codes->items = items;
    uint32_t *slots = calloc(4 * (size_t)capacity, sizeof *slots);
    if (!slots) return 0;
    free(codes->slots);
    codes->slots = slots;
    codes->slot_count = 4 * capacity;
    codes->capacity = capacity;
    for (uint32_t i = 0; i < codes->count; i++) /* later ones replace earlier ones of their address */
        codes->slots[tt_code_slot(codes, codes->items[i]->address)] = i + 1;
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

/* Whether the string at an address is still the one that was read: by its hash, or byte by byte if it has none. */
static int tt_is_same_text(const tt_text *text, int pid, uint64_t address, const PyASCIIObject *head)
{
    unsigned char copy[TT_TEXT_LIMIT];
    if (text->address != address || text->length != head->length || text->kind != head->state.kind) return 0;
    if (head->hash != -1 && text->hash != -1) return head->hash == text->hash;
    return tt_text_copy(text, pid, copy) && !memcmp(copy, text->bytes, tt_text_bytes(text));
}

/* Adds a new code object and returns its number plus 1. It is read twice: the first read may see it half created or freed. */
static uint32_t tt_code_add(tt_codes *codes, int pid, uint64_t address, const PyCodeObject *body,
                            const PyASCIIObject *name, const PyASCIIObject *file)
{
    PyVarObject table;
    PyCodeObject reread;
    uint64_t table_at = tt_address(body->co_linetable);
    if (codes->count >= TT_CODES_MAX || (codes->count == codes->capacity && !tt_codes_grow(codes))) return 0;
    tt_code *code = calloc(1, sizeof *code);
    if (!code) return 0;
    code->address = address;
    code->table_address = table_at;
    code->first_line = body->co_firstlineno;
    tt_text_head(&code->name, tt_address(body->co_qualname), name);
    tt_text_head(&code->file, tt_address(body->co_filename), file);
    int is_complete = tt_text_read(&code->name, pid) && tt_text_read(&code->file, pid) &&
                      tt_remote_read(pid, table_at, &table, sizeof table) && table.ob_size >= 0;
    if (is_complete) {
        code->table_length = table.ob_size < (Py_ssize_t)TT_TABLE_LIMIT ? (uint32_t)table.ob_size : TT_TABLE_LIMIT;
        code->table = malloc(code->table_length + 1);
        uint64_t bytes_at = table_at + offsetof(PyBytesObject, ob_sval);
        is_complete = code->table &&
                      (!code->table_length || tt_remote_read(pid, bytes_at, code->table, code->table_length));
    }
    PyASCIIObject heads[2];
    is_complete = is_complete && tt_remote_read(pid, address, &reread, offsetof(PyCodeObject, co_code_adaptive)) &&
                  reread.co_qualname == body->co_qualname && reread.co_filename == body->co_filename &&
                  reread.co_linetable == body->co_linetable && Py_TYPE(&reread) == Py_TYPE(body) &&
                  tt_remote_read(pid, code->name.address, &heads[0], sizeof heads[0]) &&
                  tt_remote_read(pid, code->file.address, &heads[1], sizeof heads[1]) &&
                  heads[0].length == name->length && heads[1].length == file->length;
    if (!is_complete) {
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

/* Frames of calls follow each other: each begins where its caller's ends, or in another chunk. In a stack with parts older
 * than others they do not. Returns the index of the innermost frame from which on outwards all fit. */
static uint32_t tt_first_consistent_frame(const tt_sampled_frame *frames, const PyCodeObject *bodies,
                                          const uint32_t *body_index, uint32_t count)
{
    uint32_t first = 0, callee = count;
    for (uint32_t i = 0; i < count; i++) { /* innermost first */
        if (!frames[i].is_in_chunk) continue;
        if (callee < count && frames[i].address + 8 * tt_frame_words(&bodies[body_index[i]]) != frames[callee].address &&
            frames[callee].address % TT_PAGE > TT_CHUNK_HEAD)
            first = i;
        callee = i;
    }
    return first;
}

/* Numbers the code objects of frames once each: a recursion has hundreds of frames of one. Returns how many there are. */
static uint32_t tt_find_distinct_codes(const tt_sampled_frame *frames, uint32_t count, uint64_t *addresses,
                                       uint32_t *body_index)
{
    uint32_t distinct = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t body = 0;
        while (body < distinct && addresses[body] != frames[i].code) body++;
        if (body == distinct) addresses[distinct++] = frames[i].code;
        body_index[i] = body;
    }
    return distinct;
}

uint32_t tt_name_frames(tt_codes *codes, int pid, uint64_t code_type, const tt_sampled_frame *frames, uint32_t count,
                        uint32_t *numbers, uint32_t *offsets)
{
    static __thread PyCodeObject bodies[TT_FRAMES_MAX];
    static __thread PyASCIIObject names[TT_FRAMES_MAX], files[TT_FRAMES_MAX];
    static __thread tt_batch batch;
    uint64_t addresses[TT_FRAMES_MAX];
    uint32_t body_index[TT_FRAMES_MAX], code_numbers[TT_FRAMES_MAX];
    uint32_t distinct = tt_find_distinct_codes(frames, count, addresses, body_index);
    batch.count = 0, batch.bytes = 0;
    for (uint32_t i = 0; i < distinct; i++)
        tt_batch_add(&batch, addresses[i], &bodies[i], offsetof(PyCodeObject, co_code_adaptive));
    if (!tt_batch_read(&batch, pid)) return 0;
    for (uint32_t i = 0; i < distinct; i++)
        if (tt_address(Py_TYPE(&bodies[i])) != code_type) return 0;
    uint32_t first = tt_first_consistent_frame(frames, bodies, body_index, count);
    if (first && count - first < TT_FRAMES_OUTER) return 0;
    batch.count = 0, batch.bytes = 0;
    for (uint32_t i = 0; i < distinct; i++) {
        tt_batch_add(&batch, tt_address(bodies[i].co_qualname), &names[i], sizeof names[i]);
        tt_batch_add(&batch, tt_address(bodies[i].co_filename), &files[i], sizeof files[i]);
    }
    if (!tt_batch_read(&batch, pid)) return 0;
    if (!codes->capacity && !tt_codes_grow(codes)) return 0;
    for (uint32_t i = 0; i < distinct; i++) {
        uint32_t number = codes->slots[tt_code_slot(codes, addresses[i])];
        const tt_code *code = number ? codes->items[number - 1] : NULL;
        int is_same = code && code->first_line == bodies[i].co_firstlineno &&
                      code->table_address == tt_address(bodies[i].co_linetable) &&
                      tt_is_same_text(&code->name, pid, tt_address(bodies[i].co_qualname), &names[i]) &&
                      tt_is_same_text(&code->file, pid, tt_address(bodies[i].co_filename), &files[i]);
        if (!is_same) number = tt_code_add(codes, pid, addresses[i], &bodies[i], &names[i], &files[i]);
        if (!number) return 0;
        code_numbers[i] = number - 1;
    }
    for (uint32_t i = first; i < count; i++) {
        numbers[i - first] = code_numbers[body_index[i]];
        uint64_t begin = frames[i].code + offsetof(PyCodeObject, co_code_adaptive);
        uint64_t bytes = sizeof(_Py_CODEUNIT) * (uint64_t)Py_SIZE(&bodies[body_index[i]]);
        uint64_t offset = frames[i].instruction - begin; /* before the first instruction: as if it ran */
        offsets[i - first] = offset < bytes ? (uint32_t)offset : 0;
    }
    return count - first;
}
