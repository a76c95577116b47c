/* Nodes: a section at its place in the tree, found by (parent, name), made on first entry. */
#ifndef TICKTREE_TREE_H
#define TICKTREE_TREE_H

#include "memory.h"

#define TT_NAMELESS UINT32_MAX /* the name_id of sections past the cap of names: they have no nodes */

static void tt_stats_clear(tt_stats *stats) { *stats = (tt_stats){0, 0, UINT64_MAX, 0}; }

static inline uint32_t tt_key_slot(uint64_t key, uint32_t slots)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15ULL) >> 32) & (slots - 1);
}

static void tt_index_put(tt_recorder *recorder, uint64_t key, tt_ref node)
{
    uint32_t at = tt_key_slot(key, recorder->node_slots);
    while (recorder->node_refs[at]) at = (at + 1) & (recorder->node_slots - 1);
    recorder->node_keys[at] = key;
    recorder->node_refs[at] = node;
}

static int tt_index_grow(tt_recorder *recorder)
{
    uint32_t old_slots = recorder->node_slots, slots = old_slots ? 2 * old_slots : 256;
    uint64_t *old_keys = recorder->node_keys, *keys = calloc(slots, sizeof *keys);
    tt_ref *old_refs = recorder->node_refs, *refs = calloc(slots, sizeof *refs);
    if (!keys || !refs) {
        free(keys);
        free(refs);
        return 0;
    }
    recorder->node_keys = keys;
    recorder->node_refs = refs;
    recorder->node_slots = slots;
    for (uint32_t at = 0; at < old_slots; at++)
        if (old_refs[at]) tt_index_put(recorder, old_keys[at], old_refs[at]);
    free(old_keys);
    free(old_refs);
    return 1;
}

static tt_ref tt_index_get(const tt_recorder *recorder, uint64_t key)
{
    if (!recorder->node_slots) return 0;
    uint32_t at = tt_key_slot(key, recorder->node_slots);
    while (recorder->node_refs[at]) {
        if (recorder->node_keys[at] == key) return recorder->node_refs[at];
        at = (at + 1) & (recorder->node_slots - 1);
    }
    return 0;
}

static tt_node *tt_node_new(tt_recorder *recorder, tt_ref name)
{
    tt_node *node = tt_allocate(recorder, sizeof *node);
    if (!node) return NULL;
    node->name = name;
    node->window_shift = recorder->window_shift;
    tt_stats_clear(&node->stats);
    tt_stats_clear(&node->warmup);
    return node;
}

static void tt_node_link(tt_recorder *recorder, tt_node *node)
{
    node->next = recorder->header->nodes;
    tt_link(recorder, &recorder->header->nodes, node);
    recorder->header->node_count++;
}

/* A node's loop is the innermost loop at or above its parent. */
static tt_ref tt_loop_around(tt_recorder *recorder, tt_ref parent)
{
    tt_node *node = tt_node_at(recorder, parent);
    return node->flags & TT_NODE_LOOP ? parent : node->loop;
}

/* Past the cap, or without memory, 0: the call then has no node and its time stays in the parent. */
static tt_ref tt_node_make(tt_recorder *recorder, tt_ref parent, uint32_t name_id)
{
    tt_node *above = tt_node_at(recorder, parent);
    if (recorder->header->node_count >= recorder->header->node_cap || above->depth >= recorder->depth_cap) return 0;
    if (2 * (recorder->header->node_count + 1) > recorder->node_slots && !tt_index_grow(recorder)) return 0;
    tt_ref name = tt_name_ref(recorder, name_id);
    tt_node *node = name ? tt_node_new(recorder, name) : NULL;
    if (!node) return 0;
    tt_ref ref = tt_ref_of(recorder, node);
    node->depth = above->depth + 1;
    node->parent = parent;
    node->tree = above->tree;
    node->loop = tt_loop_around(recorder, parent);
    node->sibling = above->first_child;
    tt_node_link(recorder, node);
    above->first_child = ref;
    tt_index_put(recorder, (uint64_t)parent << 32 | name_id, ref);
    return ref;
}

/* Set by the Cython side: resolves where a section is entered, once a node. It may run any code. */
static void (*tt_site_note)(tt_recorder *, tt_node *, tt_section *);

static tt_ref tt_node_find_slowly(tt_section *section, tt_ref parent)
{
    tt_recorder *recorder = section->recorder;
    if (section->name_id == TT_NAMELESS) return 0;
    tt_ref node = tt_index_get(recorder, (uint64_t)parent << 32 | section->name_id);
    if (!node) node = tt_node_make(recorder, parent, section->name_id);
    if (!node) return 0;
    tt_node *record = tt_node_at(recorder, node);
    record->flags |= section->node_flags;
    section->is_unnoted = !record->site;
    section->cached_parent = parent;
    section->cached_node = node;
    return node;
}

static inline tt_ref tt_node_find(tt_section *section, tt_ref parent)
{
    return TT_LIKELY(section->cached_parent == parent) ? section->cached_node : tt_node_find_slowly(section, parent);
}

/* A tree for a thread started under `spawn` (0: nowhere known). */
static tt_tree_slot *tt_tree_make(tt_recorder *recorder, tt_ref spawn)
{
    tt_tree_slot *slot = calloc(1, sizeof *slot);
    tt_tree *tree = slot ? tt_allocate(recorder, sizeof *tree) : NULL;
    tt_node *root = tree ? tt_node_new(recorder, 0) : NULL;
    if (!root) {
        free(slot);
        return NULL;
    }
    root->flags = TT_NODE_ROOT;
    root->parent = spawn;
    root->depth = spawn ? tt_node_at(recorder, spawn)->depth : 0;
    root->tree = tt_ref_of(recorder, tree);
    tt_node_link(recorder, root);
    tree->root = tt_ref_of(recorder, root);
    tree->spawn_node = spawn;
    tree->next = recorder->header->trees;
    tt_link(recorder, &recorder->header->trees, tree);
    *slot = (tt_tree_slot){.tree = root->tree, .root = tree->root, .spawn = spawn, .next = recorder->slots};
    recorder->slots = slot;
    return slot;
}

#endif
