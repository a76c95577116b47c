"""The writers of one memory file: a tree is what one thread writes, or several after another."""

from __future__ import annotations

from collections.abc import Mapping

from ticktree.profile import Writer
from ticktree.run.clock import Clock
from ticktree.run.image import Image


def writer_id(image: Image, tree: int) -> str:
    """What profiles call the writer of a tree."""
    return f"{image.writer}/{tree}"


def writers_of(image: Image, clock: Clock, parents: Mapping[int, str], run_id: str) -> list[Writer]:
    """Every writer of an image, also those that recorded nothing.

    Args:
        image: The file.
        clock: Its clock.
        parents: For each tree, the path of the node that it hangs under.
        run_id: What the profile calls this run.
    """
    header = image.header
    trees = dict(image.trees())
    # Threads started nowhere known share the run's root; the first of them is the one that began to record.
    main = next((ref for ref, tree in trees.items() if not tree.spawn_node), 0)
    process_name = image.text(header.process_name) if header.process_name else ""
    writers = []
    for ref, parent in parents.items():
        tree = trees.get(ref)  # a tree is linked after its root: a process may have died between the two
        thread_name = tree.thread_name.decode("utf-8", "ignore") if tree else ""
        role = tree.role if tree and tree.role else header.role if ref == main else 0
        writers.append(
            Writer(
                id=writer_id(image, ref),
                run=run_id,
                process_name=process_name,
                thread_name=thread_name,
                role=image.text(role) if role else "",
                is_main=ref == main,
                parent=parent,
                started_ns=clock.since_began_ns(header.first.ticks),
                last_ns=clock.since_began_ns(header.last.ticks),
            )
        )
    return writers
