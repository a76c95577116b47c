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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticktree.files.guarded import MissingFileError, content_of, json_in, opened, understood
from ticktree.profile import Profile
from ticktree.run.memory import ProcessKey
from ticktree.run.naming import FOLDED
from ticktree.run.reading.image import DamagedError, Image, UnbegunError
from ticktree.run.reading.joining import Longest, Loose, WakesTally
from ticktree.run.reading.signals import Edge, NodeAddress
from ticktree.run.reading.tree import NodeLocation, NodeLocations

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

FORMAT = "ticktree-folded/1"
_MOST_BYTES = 1 << 30

# Identifies a version of the file; the next version is another file under the same name.
Version = tuple[int, int, int]


@dataclass(frozen=True)
class Folded:
    """The folded part of a run.

    Attributes:
        profile: The profile of all its processes, without wake edges, which only the whole run can place.
        places: The location of each node, by process and reference.
        longest: The longest critical path so far.
        version: Version of the file it was read from; None if there is none.
    """

    profile: Profile = field(default_factory=Profile)
    files: Mapping[str, ProcessKey] = field(default_factory=dict)
    places: Mapping[ProcessKey, Mapping[int, NodeLocation]] = field(default_factory=dict)
    loose: tuple[Loose, ...] = ()
    longest: Longest = field(default_factory=Longest)
    version: Version | None = None

    def with_more(
        self, profile: Profile, wakes: WakesTally, files: Mapping[str, ProcessKey], places: NodeLocations
    ) -> Folded:
        """Return this with the profile, wake edges, critical path and locations of nodes of more files."""
        more = {writer: places[writer] for writer in files.values()}
        return replace(
            self,
            profile=self.profile + profile,
            files={**self.files, **files},
            places={**self.places, **more},
            loose=(*self.loose, *wakes.loose),
            longest=self.longest.or_longer(wakes.longest),
        )

    def to_text(self) -> str:
        """Return the text of `folded.json`; workers of one kind have the same layout of nodes, written once."""
        at_path: dict[str, int] = {}
        at_layout: dict[tuple[int, ...], int] = {}
        files = []
        for name, process in self.files.items():
            layout = tuple(
                number
                for ref, spot in self.places[process].items()
                for number in (ref, at_path.setdefault(spot.path, len(at_path)), spot.tree)
            )
            files.append([name, *process, at_layout.setdefault(layout, len(at_layout))])
        fields = {
            "format": FORMAT,
            "files": files,
            "paths": list(at_path),
            "layouts": [list(layout) for layout in at_layout],
            "loose": [[path, writer, *_flat(edge)] for path, writer, edge in self.loose],
            "longest": [
                self.longest.writer,
                [[*place.process, place.node, ns] for place, ns in self.longest.shares.items()],
            ],
            # As a string: trees may be deeper than json can write.
            "profile": self.profile.to_json(),
        }
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_text(cls, text: str, version: Version | None = None) -> Folded:
        """Return the folded part in a text that `to_text` wrote."""
        with understood(FOLDED):
            fields: dict[str, Any] = json_in(text)
            if fields["format"] != FORMAT:
                raise ValueError(f"its format is not {FORMAT}")
            paths = [str(path) for path in fields["paths"]]
            layouts = [
                {
                    int(ref): NodeLocation(paths[at], int(tree))
                    for ref, at, tree in zip(layout[0::3], layout[1::3], layout[2::3], strict=True)
                }
                for layout in fields["layouts"]
            ]
            files = {str(name): _process(numbers) for name, *numbers, _ in fields["files"]}
            places = {_process(numbers): layouts[at] for _, *numbers, at in fields["files"]}
            loose = tuple(Loose(str(path), str(by), _edge(flat)) for path, by, *flat in fields["loose"])
            main, shares = fields["longest"]
            longest = Longest(
                str(main),
                {NodeAddress(_process(numbers), int(node)): int(ns) for *numbers, node, ns in shares},
            )
            return cls(Profile.from_json(fields["profile"]), files, places, loose, longest, version)


def read_folded(folder: Path, known: Folded | None = None) -> Folded:
    """Return the folded part of the run in `folder`: empty if there is no file, `known` if that has not changed.

    Raises:
        FileError: The file cannot be read, or is not valid.
    """
    path = folder / FOLDED
    try:
        with opened(path, _MOST_BYTES, follow=False) as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_mtime_ns, status.st_size)
            if known is not None and known.version == version:
                return known
            text = content_of(file)
    except MissingFileError:
        return known if known is not None and known.version is None else Folded()
    return Folded.from_text(text.decode(errors="replace"), version)


def _flat(edge: Edge) -> list[str | int]:
    by, times = edge.by, (edge.waits, edge.waited_ns, edge.handover_ns)
    return [edge.node, edge.channel, *by.process, by.node, *times]


def _edge(flat: list[Any]) -> Edge:
    node, channel, *numbers = flat
    by = NodeAddress(_process(numbers[:3]), int(numbers[3]))
    waits, waited_ns, handover_ns = map(int, numbers[4:])
    return Edge(int(node), str(channel), by, waits, waited_ns, handover_ns)


def _process(numbers: list[Any]) -> ProcessKey:
    pid, start, incarnation = numbers
    return ProcessKey(int(pid), int(start), int(incarnation))


@dataclass
class Gathered:
    """The records of a run, each in exactly one of these parts.

    Attributes:
        images: The readable memory files, by path.
        errors: The errors of the others.
        folded: The folded part.
    """

    images: dict[Path, Image] = field(default_factory=dict)
    errors: dict[Path, DamagedError] = field(default_factory=dict)
    folded: Folded = field(default_factory=Folded)
    unbegun: list[Path] = field(default_factory=list)


def gather(run: RunFiles, read: Callable[[Path], Image] = Image.of_file) -> Gathered:
    """Read a run's files while its processes write to them, and others may fold them.

    A file is deleted only after `folded.json` names it. So the result is complete if `folded.json` is the same before
    and after; if it is not, the files that it names by now are left out of the images.
    """
    gathered = Gathered()

    def look() -> Folded:
        try:
            return read_folded(run.path, gathered.folded)
        except DamagedError as error:
            gathered.errors[run.path / FOLDED] = error
            return gathered.folded

    gathered.folded = look()
    for path in run.memory_files():
        if path.name in gathered.folded.files:
            continue
        try:
            gathered.images[path] = read(path)
        except MissingFileError:
            continue  # it was folded meanwhile, or the run was finished
        except UnbegunError:
            gathered.unbegun.append(path)
        except DamagedError as error:
            gathered.errors[path] = error
    while (now := look()) is not gathered.folded:
        gathered.folded = now
    # The records of ended processes are the same there.
    names = gathered.folded.files
    gathered.images = {path: image for path, image in gathered.images.items() if path.name not in names}
    gathered.errors = {path: error for path, error in gathered.errors.items() if path.name not in names}
    gathered.unbegun = [path for path in gathered.unbegun if path.name not in names]
    return gathered
