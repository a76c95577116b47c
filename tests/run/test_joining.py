"""Joining many files into one tree gives the same as adding their profiles with `+`, which is the rule."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import reduce
from operator import add

from hypothesis import given, settings
from hypothesis import strategies as st

from support.memory_images import busy_image, changed, following_threads, place, profile_of, recorder_on
from ticktree.profile import Node, Profile
from ticktree.profile import path as paths
from ticktree.run.reading import layout
from ticktree.run.reading.image import Image
from ticktree.run.reading.joining import Joiner

names = st.sampled_from(["update", "sample", "a/b", ""])
lengths = st.integers(0, 10**8)
steps = st.recursive(
    st.one_of(
        st.tuples(st.just("wait"), lengths),
        st.tuples(st.just("record"), names, lengths),
        st.tuples(st.just("gauge"), names, st.integers(-3, 3)),
    ),
    lambda inner: st.one_of(
        st.tuples(st.just("section"), names, st.lists(inner, max_size=3)),
        st.tuples(st.just("loop"), names, st.integers(0, 4), st.lists(inner, max_size=2)),
        st.tuples(st.just("thread"), st.lists(inner, max_size=2)),
    ),
    max_leaves=8,
)
programs = st.lists(steps, max_size=4)


def play(recorder, program) -> None:
    for kind, *rest in program:
        if kind == "wait":
            recorder.advance(rest[0])
        elif kind == "record":
            recorder.record_duration(rest[0], rest[1] / 1e9)
        elif kind == "gauge":
            recorder.gauge(*rest)
        elif kind == "section":
            with recorder.section(rest[0], wait=rest[0] == "sample", cpu=rest[0] == "update"):
                play(recorder, rest[1])
        elif kind == "loop":
            for _ in recorder.loop(rest[0], range(rest[1]), hz=100, warmup=2):
                play(recorder, rest[2])
        else:
            thread = threading.Thread(target=play, args=(recorder, rest[0]))
            thread.start()
            thread.join()


def image_of(program, number: int, *, is_open: bool = False) -> bytes:
    """Return the file of one process, which ended or was killed while its last section was open."""
    recorder = recorder_on(identity=(number, 1, "b"))
    if is_open:
        recorder.section("killed in it").__enter__()
    with following_threads(recorder):
        play(recorder, program)
    if not is_open:
        recorder.disable()
    image = recorder.image()
    recorder.disable()
    return image


def as_child(image: bytes, parent: int, node: int) -> bytes:
    """Return the same file, of a child that the process `parent` started while `node` was open."""
    image = changed(image, place(layout.Header, "parent_pid"), parent)
    image = changed(image, place(layout.Header, "parent_start"), 1)
    return changed(image, place(layout.Header, "parent_node"), node, 4)


def join_images(images) -> Profile:
    joiner = Joiner("run")
    for image in images:
        joiner.add(Image(image))
    profile = joiner.profile()
    assert joiner.errors == []
    profile.check()
    return profile


def insert_at(root: Node, path: str) -> Node:
    """Return the tree of a child, at its position in its parent's tree."""
    node = Node(
        name=root.name if not path else paths.name_of(path),
        children={
            name: replace(child, concurrent_ns=child.total_ns) for name, child in root.children.items()
        },
    )
    for name in reversed(("root", *paths.split(path))[:-1]):
        node = Node(name=name, children={node.name: node})
    return node


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(programs, st.booleans()), min_size=1, max_size=4), st.randoms())
def test_joining_files_gives_the_sum_of_their_profiles(processes, rng):
    images = [
        image_of(program, 1 + index, is_open=is_open) for index, (program, is_open) in enumerate(processes)
    ]
    summed = reduce(add, (join_images([image]) for image in images))
    rng.shuffle(images)
    joined = join_images(images)
    # Only one process determines the length of a run; profiles of several runs add their paths.
    assert set(joined.critical.items()) <= set(summed.critical.items())
    assert replace(joined, critical=summed.critical) == summed
    assert replace(joined, critical=summed.critical).to_json() == summed.to_json()


@settings(max_examples=40, deadline=None)
@given(programs, programs, st.data())
def test_a_childs_file_adds_its_profile_to_the_node_where_it_was_started(parent_program, child_program, data):
    parent, child = image_of(parent_program, 1), image_of(child_program, 2)
    joiner = Joiner("run")
    joiner.add(Image(parent))
    branches = joiner._branches[Image(parent).writer]
    node = data.draw(st.sampled_from(sorted(branches)))
    images = [parent, as_child(child, 1, node)]
    data.draw(st.randoms()).shuffle(images)
    child_tree = insert_at(join_images([child]).root, branches[node].path)
    assert join_images(images).root == join_images([parent]).root + child_tree


@settings(max_examples=30, deadline=None)
@given(programs)
def test_every_nanosecond_of_every_node_belongs_to_a_thread(program):
    for _, _, node in join_images([image_of(program, 1)]).root.walk():
        assert node.attributed


def test_a_child_waits_for_its_parents_file_unless_there_is_none():
    images = [busy_image() for _ in range(3)]
    first, second, third = (
        changed(image, place(layout.Header, "pid"), 1 + at) for at, image in enumerate(images)
    )
    start = Image(first).header.process_start
    second = changed(as_child(second, 1, 0), place(layout.Header, "parent_start"), start)
    third = changed(as_child(third, 9, 0), place(layout.Header, "parent_start"), start)
    joiner = Joiner("run")
    for image in (second, third):
        joiner.add(Image(image))
    assert joiner.files == 0
    joiner.add(Image(first))
    assert joiner.files == 2
    assert joiner.profile().root.at("main").count == 3 * profile_of(first).root.at("main").count


def test_children_of_a_damaged_file_are_children_of_the_root_and_do_not_wait():
    broken = changed(image_of([], 1), place(layout.Header, "nodes"), 2**31, 4)
    child = as_child(image_of([("section", "job", [("wait", 5)])], 2), 1, 30)
    for images in ((broken, child), (child, broken)):
        joiner = Joiner("run")
        for image in images:
            joiner.add(Image(image))
        assert joiner.files == 1
        assert joiner.profile().root.at("job").total_ns == 5
        assert joiner.profile().losses == {"memory_files_damaged": 1}
