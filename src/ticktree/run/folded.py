"""What has been folded of a run: the profile of processes whose memory files are there no more.

    ticktree-runs/RUN/folded.json

It exists while the run continues, from the first fold until the run is finished. A file that it names counts
as gone, whether it has been deleted already or not. Of each process it keeps where its nodes are: children
that it started may still begin to record, as children of these nodes.

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

from ticktree.files.guarded import MissingFileError, content_of, json_in, opened, understood
from ticktree.profile import Profile
from ticktree.profile.codec import value_in
from ticktree.run.memory import ProcessKey
from ticktree.run.naming import FOLDED
from ticktree.run.reading.image import DamagedError, GoneError, Image, UnbegunError
from ticktree.run.reading.joining import Longest, Loose
from ticktree.run.reading.signals import Edge, NodeAddress
from ticktree.run.reading.tree import NodeLocation, NodeLocations

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

FORMAT = "ticktree-folded/1"
_MOST_BYTES = 1 << 30

# What tells one version of the file from the next, which is another file under the same name.
Version = tuple[int, int, int]


@dataclass(frozen=True)
class Folded:
    """The folded part of a run.

    Attributes:
        profile: Of all its processes together, without wake edges: they are known of the whole run only.
        files: Whose file each was, by the file's name.
        places: Where each node is, by process and reference.
        loose: Wake edges.
        longest: The critical path that was found so far.
        version: Of the file it was read from; None where there is none.
    """

    profile: Profile = field(default_factory=Profile)
    files: Mapping[str, ProcessKey] = field(default_factory=dict)
    places: Mapping[ProcessKey, Mapping[int, NodeLocation]] = field(default_factory=dict)
    loose: tuple[Loose, ...] = ()
    longest: Longest = field(default_factory=Longest)
    version: Version | None = None

    def with_more(self, profile: Profile, loose: Sequence[Loose], longest: Longest) -> Folded:
        """This and what files more say."""
        return replace(
            self,
            profile=self.profile + profile,
            loose=(*self.loose, *loose),
            longest=self.longest.or_longer(longest),
        )

    def with_files(self, files: Mapping[str, ProcessKey], places: NodeLocations) -> Folded:
        """This, naming some files more."""
        more = {writer: places[writer] for writer in files.values()}
        return replace(self, files={**self.files, **files}, places={**self.places, **more})

    def to_text(self) -> str:
        """The text of `folded.json`; workers of one kind lay out their nodes alike, which is written once."""
        at_path: dict[str, int] = {}
        at_layout: dict[tuple[int, ...], int] = {}
        files = []
        for name, process in self.files.items():
            laid = tuple(
                number
                for ref, spot in self.places[process].items()
                for number in (ref, at_path.setdefault(spot.path, len(at_path)), spot.tree)
            )
            files.append([name, *process, at_layout.setdefault(laid, len(at_layout))])
        fields = {
            "format": FORMAT,
            "files": files,
            "paths": list(at_path),
            "layouts": [list(laid) for laid in at_layout],
            "loose": [[path, writer, *_flat(edge)] for path, writer, edge in self.loose],
            "longest": [
                self.longest.writer,
                [[*place.process, place.node, ns] for place, ns in self.longest.shares.items()],
            ],
            # As a text in the text: trees are deeper than json can write.
            "profile": self.profile.to_json(),
        }
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_text(cls, text: str, version: Version | None = None) -> Folded:
        """Reads what `to_text` wrote.

        Raises:
            FileError: It is nothing that could have been written.
        """
        with understood(FOLDED):
            fields: dict[str, Any] = json_in(text)
            if fields["format"] != FORMAT:
                raise ValueError(f"its format is not {FORMAT}")
            paths = [str(path) for path in fields["paths"]]
            layouts = [
                {
                    int(ref): NodeLocation(paths[at], int(tree))
                    for ref, at, tree in zip(laid[0::3], laid[1::3], laid[2::3], strict=True)
                }
                for laid in fields["layouts"]
            ]
            files = {str(name): _process(numbers) for name, *numbers, _ in fields["files"]}
            places = {_process(numbers): layouts[at] for _, *numbers, at in fields["files"]}
            loose = tuple(Loose(str(path), str(by), _edge(flat)) for path, by, *flat in fields["loose"])
            main, shares = fields["longest"]
            longest = Longest(
                str(main),
                {NodeAddress(_process(numbers), int(node)): int(ns) for *numbers, node, ns in shares},
            )
            return cls(
                Profile.from_value(value_in(fields["profile"])), files, places, loose, longest, version
            )


def read_folded(folder: Path, known: Folded | None = None) -> Folded:
    """What has been folded of the run kept in `folder`; nothing, where there is no such file.

    Args:
        folder: The run's directory.
        known: What it was when it was last read: given back, if it is still that.

    Raises:
        FileError: The file cannot be read, or is nothing that could have been written.
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
    """A run's parts; nothing is in two of them, and nothing in none.

    Attributes:
        images: The memory files that could be read, by path.
        errors: What is wrong with those that could not.
        folded: All that has been folded.
        unbegun: Files in which nothing has been written yet.
    """

    images: dict[Path, Image] = field(default_factory=dict)
    errors: dict[Path, DamagedError] = field(default_factory=dict)
    folded: Folded = field(default_factory=Folded)
    unbegun: list[Path] = field(default_factory=list)

    def leave_out_folded(self) -> None:
        """Drops what was read of files that have been folded since: their processes had ended, it is the same."""
        names = self.folded.files
        self.images = {path: image for path, image in self.images.items() if path.name not in names}
        self.errors = {path: error for path, error in self.errors.items() if path.name not in names}
        self.unbegun = [path for path in self.unbegun if path.name not in names]


def gather(run: RunFiles, read: Callable[[Path], Image] = Image.of_file) -> Gathered:
    """Reads a run's files while its processes write to them, and others may fold them.

    A file is deleted only after `folded.json` names it. So what was found is whole if that is the same before
    and after; where it is not, what it names by now is left out of what was read.

    Args:
        run: The run.
        read: Reads one file.
    """
    found = Gathered()

    def look() -> Folded:
        try:
            return read_folded(run.path, found.folded)
        except DamagedError as error:
            found.errors[run.path / FOLDED] = error
            return found.folded

    found.folded = look()
    for path in run.memory_files():
        if path.name in found.folded.files:
            continue
        try:
            found.images[path] = read(path)
        except GoneError:
            continue  # folded meanwhile, or the run was finished
        except UnbegunError:
            found.unbegun.append(path)
        except DamagedError as error:
            found.errors[path] = error
    while (now := look()) is not found.folded:
        found.folded = now
    found.leave_out_folded()
    return found
