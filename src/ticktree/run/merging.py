"""Merge any number of runs as parts of one job, in any grouping."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ticktree.errors import TicktreeError
from ticktree.files.guarded import MAX_DATA_BYTES, decoding, read_bytes
from ticktree.profile import Profile, Thread, codec
from ticktree.profile.renaming import rename_threads
from ticktree.profile.table import sums_of

_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One execution of a program on several machines: merged, its runs are one run.

    Attributes:
        keeps_threads: whether to keep each thread's part: then the profile grows with every process.
    """

    id: str
    keeps_threads: bool = True

    @classmethod
    def of(cls, sources: Sequence[Path], name: str | None = None, *, keeps_threads: bool = True) -> Job:
        """Return a job whose id depends on its sources, but not on their order."""
        names = "\0".join(sorted(str(source.absolute()) for source in sources))
        digest = hashlib.sha256(names.encode(errors="surrogateescape")).hexdigest()
        return cls(f"{name or 'job'}-{digest[:_DIGITS]}", keeps_threads)


# Separates a process's id from the tag of its run: processes of two machines may have the same pid and start, as in
# containers that are started together.
_SEPARATOR = "@"
_TAG_DIGITS = 16


@dataclass(frozen=True)
class Part:
    """Some runs of a job, merged.

    Attributes:
        runs: the first source of each run, by the run's tag.
        again: pairs of a source that repeats a run, and the run's first source.
        programs: number of sources per program; sources with an unknown program are not counted.
        failed: sources that could not be read, each with the reason.
    """

    profile: Profile = field(default_factory=Profile)
    sources: int = 0
    runs: Mapping[str, str] = field(default_factory=dict)
    again: frozenset[tuple[str, str]] = frozenset()
    programs: Mapping[str, int] = field(default_factory=dict)
    failed: frozenset[tuple[str, str]] = frozenset()

    def __reduce__(self) -> tuple[Any, ...]:
        # The profile as JSON: trees may be deeper than pickle's recursion limit.
        fields = (self.sources, dict(self.runs), self.again, dict(self.programs), self.failed)
        return _unpickle, (self.profile.to_json(), *fields)


def read_part(source: Path, job: Job, read: Callable[[Path], Profile]) -> Part:
    """Return what `ticktree report` reads as a part of `job`; if it cannot be read, a part with only the failure."""
    try:
        profile = read(source)
    except TicktreeError as error:
        return Part(failed=frozenset({(str(source), str(error))}))
    program = program_name(profile)
    return Part(
        profile=_assign_to_job(profile, job),
        sources=1,
        runs=dict.fromkeys(_run_tags(profile), str(source)),
        programs={program: 1} if program else {},
    )


def merge_parts(parts: Iterable[Part]) -> Part:
    """Return the merged part of `parts`; an empty part if there are none."""
    parts = list(parts)
    runs: dict[str, str] = {}
    repeats: set[tuple[str, str]] = set()
    for part in parts:
        for tag in part.runs.keys() & runs.keys():
            first, second = sorted((part.runs[tag], runs[tag]))
            repeats.add((second, first))
        # The alphabetically first, so that the order of the parts does not matter.
        runs.update((tag, min(source, runs.get(tag, source))) for tag, source in part.runs.items())
    return Part(
        profile=Profile().merge(*(part.profile for part in parts)),
        sources=sum(part.sources for part in parts),
        runs=runs,
        again=frozenset(repeats.union(*(part.again for part in parts))),
        programs=sums_of(part.programs for part in parts),
        failed=frozenset().union(*(part.failed for part in parts)),
    )


def _unpickle(profile: str, *fields: Any) -> Part:
    return Part(Profile.from_json(profile), *fields)


def _assign_to_job(profile: Profile, job: Job) -> Profile:
    if not job.keeps_threads:
        return rename_threads(profile, None, {}, job.id)
    hosts = profile.metadata.get("host", frozenset())
    host = str(next(iter(hosts))) if len(hosts) == 1 else ""
    new_ids = {key: _tag_thread(thread) for key, thread in profile.threads.items()}
    threads = {
        new_ids[key]: replace(thread, id=new_ids[key], run=job.id, host=thread.host or host)
        for key, thread in profile.threads.items()
    }
    return rename_threads(profile, new_ids.__getitem__, threads, job.id)


def _tag_thread(thread: Thread) -> str:
    """Return the id of a thread with the tag of its run, which merged threads already have."""
    process, slash, tree = thread.id.partition("/")
    return thread.id if _SEPARATOR in process else f"{process}{_SEPARATOR}{_tag(thread.run)}{slash}{tree}"


def _run_tags(profile: Profile) -> set[str]:
    """Return the tags of a profile's runs, as far as they are known."""
    if not profile.threads:
        return {_tag(run) for _, _, node in profile.root.walk() for run in node.per_run}
    ids = map(_tag_thread, profile.threads.values())
    return {thread_id.partition("/")[0].partition(_SEPARATOR)[2] for thread_id in ids}


def _tag(run: str) -> str:
    return hashlib.sha256(run.encode(errors="surrogatepass")).hexdigest()[:_TAG_DIGITS]


def program_name(profile: Profile) -> str:
    """Return the script's name or the module in a profile's command; "" if there is none, or several.

    Arguments and directories may differ between machines although the program is the same.
    """
    commands = profile.metadata.get("command", frozenset())
    names = {_program_name(str(command)) for command in commands}
    return names.pop() if len(names) == 1 else ""


def _program_name(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:  # not written by ticktree
        return command
    if words[:1] == ["-m"]:
        return " ".join(words[:2])
    return Path(words[0]).name if words else ""


def read_saved(path: Path) -> Profile:
    """Return the profile in a file in ticktree's format.

    Raises:
        TicktreeError: The file cannot be read or is not a valid profile.
    """
    content = read_bytes(path, MAX_DATA_BYTES)
    with decoding(path):
        profile = Profile.from_value(codec.parse_json(content))
        profile.check()
        return profile
