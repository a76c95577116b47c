"""What a run has gathered of the other runs of its job: at their end (session/gathering.py), or so far.

ticktree-runs/RUN/job/expected               how many there are
ticktree-runs/RUN/job/ID.json.gz             the profile of one of them, by its id, that came at its end
ticktree-runs/RUN/job/ID.so-far.json.gz      the last that came of it before
ticktree-runs/RUN/job/so-far.json            of which ranks those are, and how far they go
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.files.guarded import MOST_OF_FACTS, FileError, json_in, read_bytes, understood
from ticktree.run.naming import clean_name

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

JOB = "job"
_EXPECTED = "expected"
_ENDING = ".json.gz"
_SO_FAR = ".so-far"
_INDEX = "so-far.json"
_LONGEST = 160
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class SoFar:
    """What came of a run before its end.

    Attributes:
        host: Its machine.
        ranks: Its ranks.
        ticks: How many ticks it had made by then, at least; 0: nothing came yet.
        at_ns: When the last came, by the clock of the machine that keeps it, since 1970.
        too_large: The bytes of what was too large to come; 0 where it was not.
    """

    host: str
    ranks: tuple[int, ...]
    ticks: int = 0
    at_ns: int = 0
    too_large: int = 0


def expect(run: RunFiles, count: int) -> None:
    """Note how many other runs there are.

    Raises:
        OSError: The directory cannot be written.
    """
    _write(run, _EXPECTED, f"{count}\n".encode())


def gathered(run: Path) -> Sequence[Path]:
    """The profiles of other runs that a run's directory holds, each as far as it goes."""
    found: dict[str, Path] = {}
    for path in sorted((run / JOB).glob(f"*{_ENDING}")):
        run_id = str(copied_run(path))
        if run_id not in found or not is_in_part(path):
            found[run_id] = path
    return sorted(found.values())


def keep(run: RunFiles, run_id: str, profile: bytes) -> None:
    """Keep the whole profile of another run, as gzipped JSON.

    Raises:
        OSError: The directory cannot be written.
    """
    name = _file_name(run_id)
    _write(run, f"{name}{_ENDING}", profile)
    run.remove([f"{name}{_SO_FAR}{_ENDING}"], folder=JOB)


def keep_so_far(run: RunFiles, run_id: str, profile: bytes) -> None:
    """Keep what another run has recorded so far, likewise, in place of what it had before.

    Raises:
        OSError: The directory cannot be written.
    """
    _write(run, f"{_file_name(run_id)}{_SO_FAR}{_ENDING}", profile)


def note_so_far(run: RunFiles, runs: Mapping[str, SoFar]) -> None:
    """Note what has come so far, by the id of its run.

    Raises:
        OSError: The directory cannot be written.
    """
    _write(run, _INDEX, json.dumps({run_id: asdict(each) for run_id, each in runs.items()}).encode())


def copied_run(path: Path) -> str | None:
    """The id of the run that a file is a gathered copy of; None where it is none."""
    is_copy = path.parent.name == JOB and path.name.endswith(_ENDING)
    return path.name.removesuffix(_ENDING).removesuffix(_SO_FAR) if is_copy else None


def missing(run: Path) -> int:
    """How many of the other runs did not come."""
    with suppress(FileError, ValueError):
        return max(0, int(read_bytes(run / JOB / _EXPECTED, MOST_OF_FACTS)) - len(gathered(run)))
    return 0


def is_in_part(path: Path) -> bool:
    """Whether a file is a gathered copy of what a run had recorded before its end."""
    return path.parent.name == JOB and path.name.endswith(f"{_SO_FAR}{_ENDING}")


def how_far(run: Path) -> Iterator[str]:
    """Tell until when the ranks of each other run were gathered, if gathering during the job was enabled."""
    whole = {copied_run(path) for path in gathered(run) if not is_in_part(path)}
    for run_id, each in sorted(_read(run).items(), key=lambda item: item[1].ranks):
        yield _words(each, is_whole=run_id in whole)


def how_far_of(copy: Path) -> str:
    """Say the same of a gathered copy of what a run had recorded before its end."""
    each = _read(copy.parent.parent).get(str(copied_run(copy)))
    return copy.name if each is None else _words(each, is_whole=False)


def _words(each: SoFar, *, is_whole: bool) -> str:
    numbers = ", ".join(map(str, each.ranks))
    who = f"rank{'s' if len(each.ranks) > 1 else ''} {numbers} on {each.host}"
    return f"{who} {'at its end' if is_whole else _until(each)}"


def _until(each: SoFar) -> str:
    if each.ticks:
        when = time.strftime("%H:%M:%S", time.localtime(each.at_ns / 1e9))
        return f"up to tick {each.ticks:,}, at {when}"
    if each.too_large:
        return f"not: its profile of {each.too_large / 1e6:.0f} MB is too large"
    return "never"


def _read(run: Path) -> dict[str, SoFar]:
    path = run / JOB / _INDEX
    with suppress(FileError), understood(path):
        found = json_in(read_bytes(path, MOST_OF_FACTS))
        return {_file_name(run_id): _so_far(**fields) for run_id, fields in found.items()}
    return {}


def _so_far(host: str, ranks: list[int], **amounts: int) -> SoFar:
    """What the index says of a run.

    Raises:
        ValueError: It says what cannot be; likewise TypeError.
    """
    every = (*ranks, *amounts.values())
    if not isinstance(host, str) or not all(type(each) is int and 0 <= each < 1 << 63 for each in every):
        raise ValueError("a run's name, ranks or amounts cannot be")
    return SoFar(host, tuple(ranks), **amounts)


def _write(run: RunFiles, name: str, content: bytes) -> None:
    run.write(name, content, folder=JOB)


def _file_name(run_id: str) -> str:
    """An id as a file may be called: it is another machine's word."""
    name = clean_name(run_id, longest=None)
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"
