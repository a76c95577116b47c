"""The folded part of a run: the profile of processes whose memory files have been deleted.

    ticktree-runs/RUN/folded.json

It exists from the first fold until the run is finished. A memory file that it names counts as deleted, whether it
is yet or not. It keeps the locations of each process's nodes: children that the process started may still begin to
record, as children of these nodes.

History of the format
    ticktree-folded/1  the first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticktree.files.guarded import MissingFileError, decoding, open_file, parse_json, read_content
from ticktree.profile import Profile
from ticktree.run.memory import ProcessKey
from ticktree.run.naming import FOLDED
from ticktree.run.reading.image import DamagedError, Image, NoRecordsError
from ticktree.run.reading.joining import LongestPath, UnresolvedWaits, WakesTally
from ticktree.run.reading.signals import Edge, NodeAddress
from ticktree.run.reading.tree import NodeLocation, NodeLocations

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

FORMAT = "ticktree-folded/1"
_MOST_BYTES = 1 << 30

# Identifies a version of the file; the next version is another file under the same name.
Version = tuple[int, int, int]


@dataclass(frozen=True)
class FoldedRecords:
    """The folded part of a run.

    Attributes:
        profile: The profile of all its processes, without wake edges, which only the whole run can place.
        locations: The location of each node, by process and reference.
        longest: The longest critical path so far.
        version: Version of the file it was read from; None if there is none.
    """

    profile: Profile = field(default_factory=Profile)
    files: Mapping[str, ProcessKey] = field(default_factory=dict)
    locations: Mapping[ProcessKey, Mapping[int, NodeLocation]] = field(default_factory=dict)
    unresolved: tuple[UnresolvedWaits, ...] = ()
    longest: LongestPath = field(default_factory=LongestPath)
    version: Version | None = None

    def merge(
        self, profile: Profile, wakes: WakesTally, files: Mapping[str, ProcessKey], locations: NodeLocations
    ) -> FoldedRecords:
        """Return this with the profile, wake edges, critical path and locations of nodes of more files."""
        new_locations = {program: locations[program] for program in files.values()}
        return replace(
            self,
            profile=self.profile + profile,
            files={**self.files, **files},
            locations={**self.locations, **new_locations},
            unresolved=(*self.unresolved, *wakes.unresolved),
            longest=self.longest.longer_of(wakes.longest),
        )

    def to_text(self) -> str:
        """Return the text of `folded.json`; workers of one kind have the same layout of nodes, written once."""
        path_numbers: dict[str, int] = {}
        layout_numbers: dict[tuple[int, ...], int] = {}
        files = []
        for name, process in self.files.items():
            layout = tuple(
                number
                for ref, location in self.locations[process].items()
                for number in (ref, path_numbers.setdefault(location.path, len(path_numbers)), location.tree)
            )
            files.append([name, *process, layout_numbers.setdefault(layout, len(layout_numbers))])
        fields = {
            "format": FORMAT,
            "files": files,
            "paths": list(path_numbers),
            "layouts": [list(layout) for layout in layout_numbers],
            "unresolved": [[path, thread, *_flatten_edge(edge)] for path, thread, edge in self.unresolved],
            "longest": [
                self.longest.thread,
                [[*address.process, address.node, ns] for address, ns in self.longest.shares.items()],
            ],
            # As a string: trees may be deeper than json can write.
            "profile": self.profile.to_json(),
        }
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_text(cls, text: str, version: Version | None = None) -> FoldedRecords:
        """Return the folded part in a text that `to_text` wrote."""
        with decoding(FOLDED):
            fields: dict[str, Any] = parse_json(text)
            if fields["format"] != FORMAT:
                raise ValueError(f"its format is not {FORMAT}")
            paths = [str(path) for path in fields["paths"]]
            layouts = [
                {
                    int(ref): NodeLocation(paths[number], int(tree))
                    for ref, number, tree in zip(layout[0::3], layout[1::3], layout[2::3], strict=True)
                }
                for layout in fields["layouts"]
            ]
            files = {str(name): _key(numbers) for name, *numbers, _ in fields["files"]}
            locations = {_key(numbers): layouts[number] for _, *numbers, number in fields["files"]}
            unresolved = tuple(_parse_waits(*row) for row in fields["unresolved"])
            main, rows = fields["longest"]
            shares = {NodeAddress(_key(numbers), int(node)): int(ns) for *numbers, node, ns in rows}
            longest = LongestPath(str(main), shares)
            return cls(Profile.from_json(fields["profile"]), files, locations, unresolved, longest, version)


def read_folded(folder: Path, previous: FoldedRecords | None = None) -> FoldedRecords:
    """Return the folded part of the run in `folder`: empty if there is no file, `previous` if that has not changed.

    Raises:
        FileError: The file cannot be read, or is not valid.
    """
    path = folder / FOLDED
    try:
        with open_file(path, _MOST_BYTES, follow=False) as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
            if previous is not None and previous.version == version:
                return previous
            text = read_content(file)
    except MissingFileError:
        return previous if previous is not None and previous.version is None else FoldedRecords()
    return FoldedRecords.from_text(text.decode(errors="replace"), version)


def _flatten_edge(edge: Edge) -> list[str | int]:
    waker, times = edge.waker, (edge.waits, edge.waited_ns, edge.latency_ns)
    return [edge.node, edge.channel, *waker.process, waker.node, *times]


def _parse_waits(path: Any, thread: Any, node: Any, channel: Any, *numbers: Any) -> UnresolvedWaits:
    waker = NodeAddress(_key(numbers[:3]), int(numbers[3]))
    waits, waited_ns, latency_ns = map(int, numbers[4:])
    edge = Edge(int(node), str(channel), waker, waits, waited_ns, latency_ns)
    return UnresolvedWaits(str(path), str(thread), edge)


def _key(numbers: Sequence[Any]) -> ProcessKey:
    pid, start, incarnation = numbers
    return ProcessKey(int(pid), int(start), int(incarnation))


@dataclass
class RunRecords:
    """The records of a run, each in exactly one of these parts.

    Attributes:
        images: The readable memory files, by path.
        errors: The errors of the others.
        folded: The folded part.
    """

    images: dict[Path, Image] = field(default_factory=dict)
    errors: dict[Path, DamagedError] = field(default_factory=dict)
    folded: FoldedRecords = field(default_factory=FoldedRecords)
    empty_paths: list[Path] = field(default_factory=list)


def read_records(run: RunFiles, read: Callable[[Path], Image] = Image.of_file) -> RunRecords:
    """Read a run's files while its processes write to them, and others may fold them.

    A file is deleted only after `folded.json` names it. So the result is complete if `folded.json` is the same before
    and after; if it is not, the files that it names by now are left out of the images.
    """
    records = RunRecords()

    def reread() -> FoldedRecords:
        try:
            return read_folded(run.path, records.folded)
        except DamagedError as error:
            records.errors[run.path / FOLDED] = error
            return records.folded

    records.folded = reread()
    for path in run.memory_files():
        if path.name in records.folded.files:
            continue
        try:
            records.images[path] = read(path)
        except MissingFileError:
            continue  # it was folded meanwhile, or the run was finished
        except NoRecordsError:
            records.empty_paths.append(path)
        except DamagedError as error:
            records.errors[path] = error
    while (folded := reread()) is not records.folded:
        records.folded = folded
    # The records of ended processes are the same there.
    names = records.folded.files
    records.images = {path: image for path, image in records.images.items() if path.name not in names}
    records.errors = {path: error for path, error in records.errors.items() if path.name not in names}
    records.empty_paths = [path for path in records.empty_paths if path.name not in names]
    return records
