"""JSON codecs of a profile's fields: tree, loops, gauges, threads. They validate everything that they read."""

from __future__ import annotations

from collections.abc import Mapping

from ticktree.profile import metadata as meta
from ticktree.profile import path as paths
from ticktree.profile.fields import Codec, Fields, Object, quoted
from ticktree.profile.gauge import Gauge
from ticktree.profile.loop import Loop
from ticktree.profile.measures import key_of
from ticktree.profile.metadata import Metadata, Value
from ticktree.profile.node import MAX_DEPTH, Node
from ticktree.profile.node_json import clock_of
from ticktree.profile.stats import Stats
from ticktree.profile.table import from_object, to_object
from ticktree.profile.thread import CriticalNode, Thread


def _write_tree(root: Node, numbers: Mapping[str, int]) -> Object:
    result = _write_node(root, paths.ROOT, numbers)
    queue = [(root, result)]
    for node, written in queue:  # breadth first, and not by recursion: trees are deep
        for key in sorted(node.children):
            child = _write_node(node.children[key], paths.child(written["path"], key), numbers)
            written["children"].append(child)
            queue.append((node.children[key], child))
    return result


def _write_node(node: Node, path: str, numbers: Mapping[str, int]) -> Object:
    written = to_object(node, numbers)
    return {"name": written.pop("name"), "path": path, **written, "children": []}


def _read_tree(fields: Fields, key: str) -> Node:
    # Nodes are opened from the root down, then built from the leaves up.
    root = Fields(fields.raw(key), key, fields.threads)
    entries = [(_open_node(root, None), -1, 0)]
    for index, (entry, _, depth) in enumerate(entries):  # breadth first: the list grows while it is walked
        if depth > MAX_DEPTH:
            entry.fail(f"the tree is more than {MAX_DEPTH} nodes deep")
        path = entry.text("path")
        entries.extend(
            (_open_node(child, path), index, depth + 1) for child in entry.objects("children", key)
        )
    children: list[dict[str, Node]] = [{} for _ in entries]
    for entry, parent, _ in reversed(entries[1:]):
        node = _read_node(entry, children.pop())
        if node.key in children[parent]:
            entry.fail("there are two nodes of this name here")
        children[parent][node.key] = node
    return _read_node(entries[0][0], children[0])


def _open_node(fields: Fields, parent: str | None) -> Fields:
    """Return the fields of a node after checking its path; `parent` is its parent's path, None for the root."""
    key = key_of(fields.text("name"), clock_of(fields))
    path = paths.ROOT if parent is None else paths.child(parent, key)
    fields.where = f"node {quoted(path)}"
    if fields.text("path") != path:
        fields.fail("its path is another than its place in the tree")
    return fields


def _read_node(fields: Fields, children: dict[str, Node]) -> Node:
    node = from_object(Node, fields, children=dict(reversed(children.items())))
    if ("steady" in fields or node.warmup is not None) and node.stats != from_object(Stats, fields):
        fields.fail("its calls are not those of its warm-up and its steady phase together")
    if node.total_ns != fields.integer("total_ns"):
        fields.fail(f"the times do not sum: 'total_ns' should be {node.total_ns}")
    return node


def _write_metadata(metadata: Metadata, _: Mapping[str, int]) -> Object:
    return {key: meta.value_or_list(metadata[key]) for key in sorted(metadata)}


def _read_metadata(fields: Fields, key: str) -> Metadata:
    result: dict[str, frozenset[Value]] = {}
    entries = fields.sub(key, key)
    for name in entries:
        value = entries.raw(name)
        values = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(item, (str, int, float)) for item in values):
            entries.fail(f"{quoted(name)} should hold strings, numbers or truths")
        result[name] = frozenset(values)
    return result


def _write_list(parts: Mapping[str, Loop | Thread], numbers: Mapping[str, int]) -> list[Object]:
    return [to_object(parts[key], numbers) for key in sorted(parts)]


def _read_loops(fields: Fields, key: str) -> dict[str, Loop]:
    loops: dict[str, Loop] = {}
    for entry in fields.objects(key, "loop"):
        path = entry.text("path")
        entry.where = f"loop {quoted(path)}"
        try:
            names = paths.split(path)
        except ValueError as error:
            entry.fail(str(error))
        if not names or entry.text("name") != names[-1]:
            entry.fail("its name is not the last of its path")
        if path in loops:
            fields.fail(f"the loop {quoted(path)} is there twice")
        loops[path] = from_object(Loop, entry)
    return loops


def _write_gauges(gauges: Mapping[str, Gauge], numbers: Mapping[str, int]) -> Object:
    return {name: to_object(gauges[name], numbers) for name in sorted(gauges)}


def _read_gauges(fields: Fields, key: str) -> dict[str, Gauge]:
    entries = fields.sub(key, key)
    return {
        name: from_object(Gauge, entries.sub(name, f"gauge {quoted(name)}"), name=name) for name in entries
    }


def _read_threads(fields: Fields, key: str) -> dict[str, Thread]:
    threads: dict[str, Thread] = {}
    for entry in fields.objects(key, "thread"):
        entry.where = f"thread {quoted(entry.text('id'))}"
        thread = from_object(Thread, entry)
        if thread.id in threads:
            fields.fail(f"the thread {quoted(thread.id)} is there twice")
        threads[thread.id] = thread
    return threads


def _write_critical(critical: Mapping[CriticalNode, int], numbers: Mapping[str, int]) -> list[Object]:
    longest_first = sorted(critical.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"path": place.path, "thread": numbers[place.thread], "ns": ns} for place, ns in longest_first]


def _read_critical(fields: Fields, key: str) -> dict[CriticalNode, int]:
    def read(entry: Fields) -> tuple[CriticalNode, int]:
        return CriticalNode(entry.thread("thread"), entry.text("path")), entry.integer("ns")

    return fields.table(key, read, "place", "critical path")


TREE = Codec(_write_tree, _read_tree)
METADATA = Codec(_write_metadata, _read_metadata)
LOOPS = Codec(_write_list, _read_loops)
GAUGES = Codec(_write_gauges, _read_gauges)
THREADS = Codec(_write_list, _read_threads)
CRITICAL = Codec(_write_critical, _read_critical)
