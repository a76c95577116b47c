"""Profiles that a run has gathered from the other runs of its job, at their end (session/gathering.py) or so far.

ticktree-runs/RUN/job/expected               the number of other runs
ticktree-runs/RUN/job/ID.json.gz             the profile of one of them, by its id, that arrived at its end
ticktree-runs/RUN/job/ID.so-far.json.gz      the last profile that arrived before its end
ticktree-runs/RUN/job/so-far.json            the ranks of these, and how far they go

Whatever writes there raises an OSError if the directory cannot be written.
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

from ticktree.files.guarded import MAX_FACTS_BYTES, FileError, decoding, parse_json, read_bytes
from ticktree.run.naming import clean_name

if TYPE_CHECKING:
    from ticktree.run.directory import RunFiles

JOB = "job"
_EXPECTED = "expected"
_SUFFIX = ".json.gz"
_SO_FAR = ".so-far"
_INDEX = "so-far.json"
_MAX_NAME = 160
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class RankProgress:
    """What arrived from a run before its end.

    Attributes:
        ticks: Number of ticks in the last profile, at least; 0 if none has arrived.
        at_ns: When it arrived, in nanoseconds since 1970 by the clock of this machine.
        too_large: Size in bytes of a profile that was too large to send; 0 if none was.
    """

    host: str
    ranks: tuple[int, ...]
    ticks: int = 0
    at_ns: int = 0
    too_large: int = 0


def write_expected(run: RunFiles, count: int) -> None:
    """Record how many other runs there are."""
    run.write(_EXPECTED, f"{count}\n".encode(), folder=JOB)


def gathered_profiles(run: Path) -> Sequence[Path]:
    """Return the latest profile of each other run in a run's directory."""
    latest: dict[str, Path] = {}
    for path in sorted((run / JOB).glob(f"*{_SUFFIX}")):
        run_id = str(copied_run_id(path))
        if run_id not in latest or not is_partial(path):
            latest[run_id] = path
    return sorted(latest.values())


def write_final_profile(run: RunFiles, run_id: str, profile: bytes) -> None:
    """Keep the whole profile of another run, as gzipped JSON."""
    name = _file_name(run_id)
    run.write(f"{name}{_SUFFIX}", profile, folder=JOB)
    run.remove([f"{name}{_SO_FAR}{_SUFFIX}"], folder=JOB)


def write_partial_profile(run: RunFiles, run_id: str, profile: bytes) -> None:
    """Keep the profile so far of another run, as gzipped JSON, in place of the previous one."""
    run.write(f"{_file_name(run_id)}{_SO_FAR}{_SUFFIX}", profile, folder=JOB)


def write_progress(run: RunFiles, runs: Mapping[str, RankProgress]) -> None:
    """Record what has arrived so far, by the id of the run."""
    run.write(
        _INDEX, json.dumps({run_id: asdict(so_far) for run_id, so_far in runs.items()}).encode(), folder=JOB
    )


def copied_run_id(path: Path) -> str | None:
    """Return the id of the run that a gathered file is a copy of; None for other files."""
    is_copy = path.parent.name == JOB and path.name.endswith(_SUFFIX)
    return path.name.removesuffix(_SUFFIX).removesuffix(_SO_FAR) if is_copy else None


def count_missing(run: Path) -> int:
    """Return the number of other runs whose profiles did not arrive."""
    with suppress(FileError, ValueError):
        return max(0, int(read_bytes(run / JOB / _EXPECTED, MAX_FACTS_BYTES)) - len(gathered_profiles(run)))
    return 0


def is_partial(path: Path) -> bool:
    """Return whether a file is a gathered copy of a run's profile before its end."""
    return path.parent.name == JOB and path.name.endswith(f"{_SO_FAR}{_SUFFIX}")


def describe_progress(run: Path) -> Iterator[str]:
    """Yield how far the ranks of each other run were gathered, if gathering during the job was enabled."""
    complete = {copied_run_id(path) for path in gathered_profiles(run) if not is_partial(path)}
    for run_id, so_far in sorted(_read_index(run).items(), key=lambda item: item[1].ranks):
        yield _describe(so_far, is_complete=run_id in complete)


def describe_partial(copy: Path) -> str:
    """Return how far a gathered copy of a run's profile before its end goes."""
    so_far = _read_index(copy.parent.parent).get(str(copied_run_id(copy)))
    return copy.name if so_far is None else _describe(so_far, is_complete=False)


def _describe(so_far: RankProgress, *, is_complete: bool) -> str:
    numbers = ", ".join(map(str, so_far.ranks))
    ranks = f"rank{'s' if len(so_far.ranks) > 1 else ''} {numbers} on {so_far.host}"
    return f"{ranks} {'at its end' if is_complete else _describe_time(so_far)}"


def _describe_time(so_far: RankProgress) -> str:
    if so_far.ticks:
        time_of_day = time.strftime("%H:%M:%S", time.localtime(so_far.at_ns / 1e9))
        return f"up to tick {so_far.ticks:,}, at {time_of_day}"
    if so_far.too_large:
        return f"not: its profile of {so_far.too_large / 1e6:.0f} MB is too large"
    return "never"


def _read_index(run: Path) -> dict[str, RankProgress]:
    path = run / JOB / _INDEX
    with suppress(FileError), decoding(path):
        index = parse_json(read_bytes(path, MAX_FACTS_BYTES))
        return {_file_name(run_id): _parse_entry(**fields) for run_id, fields in index.items()}
    return {}


def _parse_entry(host: str, ranks: list[int], **amounts: int) -> RankProgress:
    """Return a run's entry of the index.

    Raises:
        ValueError: A value is not valid; likewise TypeError.
    """
    numbers = (*ranks, *amounts.values())
    if not isinstance(host, str) or not all(type(n) is int and 0 <= n < 1 << 63 for n in numbers):
        raise ValueError("a run's name, ranks or amounts cannot be")
    return RankProgress(host, tuple(ranks), **amounts)


def _file_name(run_id: str) -> str:
    """Return a valid file name for an id, which comes from another machine."""
    name = clean_name(run_id, max_length=None)
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[:_MAX_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"
