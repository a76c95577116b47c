"""The directory of a run.

    ticktree-runs/YYYYMMDD-HHMMSS-NAME/
        run.json        the facts of the run (manifest.py)
        profile.json    the profile: of the whole run once it is finished, before that of its last save to disk
        timeline/       the individual calls, if requested (timeline.py)
        folded.json     until the run is finished: the records of processes that have ended (folding.py)
        parts/          until the run is finished: the profiles from other machines (parts.py)

While the program runs, its records are in memory files (memory.py). The memory directory is the run's
state as well: a run that has one is unfinished, one without is finished, and the two cannot disagree.

A profiled program imports this module when it starts: it imports slow modules only when they are needed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MAX_FACTS_BYTES, FileError, MissingFileError, decoding, read_bytes
from ticktree.files.owner import Owner
from ticktree.files.trust import (
    NotOwnError,
    is_writable_by_all,
    list_names,
    open_directory,
    open_own_directory,
    open_own_folder,
    require_own,
)
from ticktree.run.manifest import MANIFEST_NAME, Manifest
from ticktree.run.memory import create_memory, memory_files, remove_memory, require_memory, writer_of
from ticktree.run.naming import clean_name, create_unique_directory

DEFAULT_OUT = Path("ticktree-runs")
PROFILE = "profile.json"


class RunFiles:
    """The directory of one run and its memory files."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def create(
        cls,
        name: str,
        out: Path = DEFAULT_OUT,
        *,
        argv: Sequence[str] | None = None,
        supervised: bool = False,
    ) -> Self:
        """Create the directories of a new run, owned by this process.

        Args:
            name: The run's name; characters that cause trouble in file names are replaced.
            out: The directory of runs; created if it is missing.
            argv: The program's command line; by default this process's own.
            supervised: Whether this process supervises the program instead of being it.

        Raises:
            TicktreeError: One of the directories cannot be created.
        """
        path = None
        try:
            path = create_unique_directory(
                Path(out).absolute(), f"{time.strftime('%Y%m%d-%H%M%S')}-{clean_name(name)}"
            )
            return cls._begin(name, path, tuple(sys.argv if argv is None else argv), supervised)
        except (OSError, TicktreeError) as error:
            if path is not None:
                remove_unmade(path)
            kind = NotOwnError if isinstance(error, NotOwnError) else TicktreeError
            raise kind(f"cannot keep a run in {out}: {_reason(error)}") from None

    @classmethod
    def _begin(cls, name: str, path: Path, argv: tuple[str, ...], supervised: bool) -> Self:
        run_id = f"{path.name}-{os.urandom(4).hex()}"
        memory = create_memory(run_id)
        started_ns = time.time_ns()
        manifest = Manifest(
            id=run_id,
            started_ns=started_ns,
            began_ns=time.clock_gettime_ns(time.CLOCK_MONOTONIC),
            argv=argv,
            cwd=_working_directory(),
            directory=str(path),
            owner=Owner.current(),
            supervised=supervised,
            memory=str(memory),
            metadata={"name": clean_name(name), "started_ns": started_ns},
        )
        run = cls(path, manifest)
        try:
            # The memory first: a process that finds a run must find that the memory belongs to it.
            run._copy_manifest()
            with open_own_directory(path) as dir_fd:
                if list_names(dir_fd):
                    raise NotOwnError(f"{path} is not the directory that was made a moment ago")
                data = manifest.to_json().encode()
                write_atomically(Path(MANIFEST_NAME), data, follow=False, dir_fd=dir_fd)
        except BaseException:
            remove_memory(memory)
            raise
        return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the run in `path`.

        Raises:
            TicktreeError: There is none, or its `run.json` is not valid.
        """
        path = Path(path).absolute()
        try:
            return cls(path, read_manifest(path))
        except MissingFileError:
            if path.is_file():
                raise TicktreeError(f"{path} is a file, and no run's directory") from None
            raise TicktreeError(f"{path} is not a run: it holds no {MANIFEST_NAME}") from None

    @classmethod
    def join(cls, path: Path) -> Self:
        """Return the run in `path`, to record into it, after checks that it is a run of this user.

        Raises:
            TicktreeError: There is none, or it may belong to another user.
        """
        path = Path(path).absolute()
        for required in (path, path / MANIFEST_NAME):
            require_own(required)
        run = cls.open(path)
        if run.is_finished():
            return run
        require_memory(run.memory_dir)
        if any(map(is_writable_by_all, (path, path / MANIFEST_NAME))):
            copy = read_manifest(run.memory_dir)
            if copy.id != run.id or not path.samefile(run.manifest.directory):
                raise TicktreeError(f"{path} can be changed by every user; nothing is recorded there")
        return run

    @classmethod
    def list(cls, out: Path = DEFAULT_OUT) -> Sequence[Self]:
        """Return the runs in `out`, oldest first, without damaged ones."""
        return cls.list_all(out)[0]

    @classmethod
    def list_all(cls, out: Path = DEFAULT_OUT) -> tuple[Sequence[Self], Mapping[Path, FileError]]:
        """Return the runs in `out`, oldest first, and the damaged ones with the error of their `run.json`."""
        runs: list[Self] = []
        damaged: dict[Path, FileError] = {}
        with suppress(OSError):
            for path in sorted(Path(out).iterdir()):
                try:
                    runs.append(cls(path.absolute(), read_manifest(path)))
                except MissingFileError:
                    continue
                except FileError as error:
                    damaged[path] = error
        return sorted(runs, key=lambda run: (run.manifest.started_ns, run.path.name)), damaged

    @classmethod
    def newest(cls, out: Path = DEFAULT_OUT) -> Self:
        """Return the run in `out` that was started last.

        Raises:
            TicktreeError: There is none.
        """
        runs = cls.list(out)
        if not runs:
            raise TicktreeError(no_run_in(out))
        return runs[-1]

    @property
    def id(self) -> str:
        """The run's id, unique among all runs of all machines."""
        return self.manifest.id

    @property
    def memory_dir(self) -> Path:
        """The directory of the memory files; missing once the run is finished."""
        return Path(self.manifest.memory)

    def memory_files(self) -> Sequence[Path]:
        """Return the memory files so far, one per process; none once the run is finished.

        Some may be on disk: those of processes that recorded in private memory and saved it at their end.
        """
        return [*memory_files(self.memory_dir), *memory_files(self.path)]

    def is_finished(self) -> bool:
        """Return whether the profile on disk is final: the run has no memory left, or none that we may read."""
        return not os.access(self.memory_dir, os.R_OK | os.X_OK)

    def is_live(self) -> bool:
        """Return whether a process that may write to the run is alive: its owner or a recorded process."""
        if self.is_finished():
            return False
        writers = (self.manifest.owner.with_process(*writer_of(file)) for file in self.memory_files())
        return self.manifest.owner.is_alive() or any(writer.is_alive() for writer in writers)

    def is_supervised(self) -> bool:
        """Return whether a live supervisor folds and finishes the run."""
        return self.manifest.supervised and self.manifest.owner.is_alive()

    def describe(self, metadata: Mapping[str, str | int | float | bool]) -> None:
        """Add facts about machine and program; they become the profile's metadata.

        Raises:
            OSError: The directory cannot be written.
        """
        self.manifest = self.manifest._replace(metadata={**self.manifest.metadata, **metadata})
        self._write_manifest()

    def put_back(self) -> bool:
        """Create the directory again if the program has deleted it, and return whether it had.

        The records and the run's facts are still in memory.

        Raises:
            OSError: The directory cannot be created.
        """
        if (self.path / MANIFEST_NAME).exists():
            return False
        with open_own_directory(self.path, make=True):
            self._write_manifest()
        return True

    def note_end(self, exit_status: int) -> None:
        """Record that the supervised program has just ended.

        Args:
            exit_status: Its exit status, as in Python: negative for a signal.
        """
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.manifest = self.manifest._replace(program_ended_ns=now)
        self.describe({"exit_status": exit_status})

    def write(self, name: str, data: bytes, *, folder: str = "", durable: bool = False) -> None:
        """Write a file in the run's directory, or a folder there, atomically: readers find the old or the new one.

        A missing folder is created. A durable file survives a crash of the machine. For errors see `open_directory`.
        """
        with self.open_directory(folder, make=True) as dir_fd:
            write_atomically(Path(name), data, durable=durable, follow=False, dir_fd=dir_fd)

    def remove(self, names: Iterable[str], folder: str = "") -> None:
        """Delete files of the run's directory, or a folder there, if they exist; for errors see `open_directory`."""
        with self.open_directory(folder) as dir_fd:
            for name in names:
                unlink_at(name, dir_fd)

    @contextmanager
    def open_directory(self, folder: str = "", *, make: bool = False) -> Iterator[int]:
        """Open the run's directory, or a folder in it, for calls that take a `dir_fd`; a rename does not affect it.

        Raises:
            OSError: There is no such directory.
            TicktreeError: The run's directory was replaced by another run's or another user's.
        """
        with open_own_directory(self.path) as dir_fd:
            if not self._is_in(dir_fd):
                raise NotOwnError(f"{self.path} is another run's by now; nothing is changed there")
            if folder:
                with open_own_folder(dir_fd, folder, self.path, make=make) as folder_fd:
                    yield folder_fd
            else:
                yield dir_fd

    def _is_in(self, dir_fd: int) -> bool:
        """Return whether a directory is this run's, or a new empty one in its place."""
        try:
            return read_manifest(Path(), dir_fd=dir_fd).id == self.id
        except MissingFileError:
            return not any(name for name in os.listdir(dir_fd) if not name.startswith(f".{MANIFEST_NAME}"))
        except FileError:
            return False

    def _write_manifest(self) -> None:
        self.write(MANIFEST_NAME, self.manifest.to_json().encode())
        self._copy_manifest()

    def _copy_manifest(self) -> None:
        """Copy `run.json` to memory, for a process that finds the memory without the run."""
        with suppress(OSError):  # a full tmpfs must not cost the run
            write_atomically(self.memory_dir / MANIFEST_NAME, self.manifest.to_json().encode(), follow=False)


def read_manifest(folder: Path, dir_fd: int | None = None) -> Manifest:
    """Return the manifest in a directory's `run.json`; with a `dir_fd`, links are not followed.

    Raises:
        FileError: The file cannot be read, or is not valid.
    """
    path = folder / MANIFEST_NAME
    content = read_bytes(path, MAX_FACTS_BYTES, follow=dir_fd is None, dir_fd=dir_fd)
    with decoding(path):
        return Manifest.from_json(content)


def no_run_in(out: Path, name: str | None = None) -> str:
    """Return the message for a user who looks for runs where there are none."""
    suffix = "" if name is None else f" called {name}"
    # The first run creates the default directory; another directory was probably mistyped.
    hint = "" if Path(out) == DEFAULT_OUT or Path(out).is_dir() else ", which is no directory"
    return f"no run{suffix} in {out} yet{hint}; `ticktree run SCRIPT` makes one"


def remove_unmade(path: Path) -> bool:
    """Remove the directory of a run that never had a `run.json`, and return whether it is gone.

    A directory that contains anything but the temporary files of killed processes stays as it is.
    """
    with suppress(OSError, TicktreeError), open_own_directory(path) as dir_fd:
        if all(name.startswith(f".{MANIFEST_NAME}.") for name in list_names(dir_fd)):
            for name in list_names(dir_fd):
                unlink_at(name, dir_fd)
    with suppress(OSError, TicktreeError), open_directory(path.parent) as dir_fd:
        os.rmdir(path.name, dir_fd=dir_fd)
    return not path.exists()


def unlink_at(name: str, dir_fd: int) -> None:
    """Delete a file of an opened directory, if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=dir_fd)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - Path.cwd() is the same and as likely to fail
    except FileNotFoundError:
        return ""
