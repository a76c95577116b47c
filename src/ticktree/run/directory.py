"""The directory of a run.

    ticktree-runs/YYYYMMDD-HHMMSS-NAME/
        run.json        what run this is (manifest.py)
        profile.json    the profile: of the whole run once it is finished, until then of its last fold to disk
        timeline/       the calls one by one, if requested (timeline.py)
        folded.json     until then: what was recorded by processes that have ended (folding.py)
        parts/      until then: what other machines have handed over (parts.py)

While the program runs, what it records lies in memory files (memory.py). The memory directory is the run's
state as well: a run that has one is unfinished, one that has none is finished, and the two cannot disagree.

A profiled program imports this module when it starts: nothing slow is imported here before it is needed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ticktree.errors import TicktreeError
from ticktree.files.atomic import write_atomically
from ticktree.files.guarded import MOST_OF_FACTS, FileError, MissingFileError, read_bytes, understood
from ticktree.files.owner import Owner
from ticktree.files.trust import (
    NotOwnError,
    any_directory,
    is_writable_by_all,
    names_in,
    own_directory,
    own_folder,
    require_own,
)
from ticktree.run.manifest import MANIFEST_NAME, Manifest
from ticktree.run.memory import create_memory, memory_files, remove_memory, require_memory, writer_of
from ticktree.run.naming import clean_name, make_unique

if TYPE_CHECKING:
    pass

DEFAULT_OUT = Path("ticktree-runs")
PROFILE = "profile.json"


class RunFiles:
    """The directory of one run and its memory files.

    Attributes:
        path: Its directory, absolute.
        manifest: What it says about itself.
    """

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
        """Make the directories of a new run, owned by this process.

        Args:
            name: What to call it; characters that are a nuisance in file names are replaced.
            out: Where runs are kept; made if it is missing.
            argv: The program's command line; by default this process's own.
            supervised: Whether this process supervises the program instead of being it.

        Raises:
            TicktreeError: One of the directories cannot be made.
        """
        try:
            path = make_unique(Path(out).absolute(), f"{time.strftime('%Y%m%d-%H%M%S')}-{clean_name(name)}")
        except OSError as error:
            raise TicktreeError(f"cannot keep a run in {out}: {_reason(error)}") from None
        except NotOwnError as error:
            raise NotOwnError(f"cannot keep a run in {out}: {error}") from None
        try:
            return cls._begin(name, path, tuple(sys.argv if argv is None else argv), supervised)
        except (OSError, TicktreeError) as error:
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
            # The memory first: a process that finds a run must find that its memory belongs to it.
            run._copy_manifest()
            with own_directory(path) as at:
                if names_in(at):
                    raise NotOwnError(f"{path} is not the directory that was made a moment ago")
                write_atomically(Path(MANIFEST_NAME), manifest.to_json().encode(), follow=False, dir_fd=at)
        except BaseException:
            remove_memory(memory)
            raise
        return run

    @classmethod
    def open(cls, path: Path) -> Self:
        """The run kept in `path`.

        Raises:
            TicktreeError: There is none, or its `run.json` cannot be understood.
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
        """The run kept in `path`, to record into it, after checks that it is a run of this user.

        Raises:
            TicktreeError: There is none, or not surely one of this user's.
        """
        path = Path(path).absolute()
        for mine in (path, path / MANIFEST_NAME):
            require_own(mine)
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
        """The runs kept in `out`, oldest first; what is no run, or a damaged one, is passed over."""
        return cls.list_all(out)[0]

    @classmethod
    def list_all(cls, out: Path = DEFAULT_OUT) -> tuple[Sequence[Self], Mapping[Path, FileError]]:
        """The runs kept in `out`, oldest first, and the damaged ones, each with what is wrong with its `run.json`."""
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
        """The run in `out` that was started last.

        Raises:
            TicktreeError: There is none.
        """
        runs = cls.list(out)
        if not runs:
            raise TicktreeError(no_run_in(out))
        return runs[-1]

    @property
    def id(self) -> str:
        """What tells it from every other run of every machine."""
        return self.manifest.id

    @property
    def memory_dir(self) -> Path:
        """Where its processes write their memory files; gone once the run is finished."""
        return Path(self.manifest.memory)

    def memory_files(self) -> Sequence[Path]:
        """The memory files its processes have made so far, one each; none once the run is finished.

        Some may be on disk: what a process recorded in private memory and kept at its end.
        """
        return [*memory_files(self.memory_dir), *memory_files(self.path)]

    def keep_image(self, name: str, image: bytes) -> None:
        """Keep what a process recorded in private memory, at its end, among the memory files.

        Raises:
            OSError: The directory cannot be written.
        """
        self.write(name, image)

    def is_finished(self) -> bool:
        """Whether its profile is on disk for good: it has no memory left, or none that we may read."""
        return not os.access(self.memory_dir, os.R_OK | os.X_OK)

    def is_live(self) -> bool:
        """Whether a process that may write to it still runs: its owner or one of the recorded processes."""
        if self.is_finished():
            return False
        writers = (self.manifest.owner.with_process(*writer_of(file)) for file in self.memory_files())
        return self.manifest.owner.is_alive() or any(writer.is_alive() for writer in writers)

    def is_supervised(self) -> bool:
        """Whether a supervisor is still alive, which folds and finishes it."""
        return self.manifest.supervised and self.manifest.owner.is_alive()

    def describe(self, metadata: Mapping[str, str | int | float | bool]) -> None:
        """Add facts about machine and program; they become the profile's metadata.

        Raises:
            OSError: The directory cannot be written.
        """
        self.manifest = self.manifest._replace(metadata={**self.manifest.metadata, **metadata})
        self._write_manifest()

    def put_back(self) -> bool:
        """Make the directory again if the program has deleted it; return whether that was so.

        What is recorded is in memory still, and so is what kind of run it is.

        Raises:
            OSError: It cannot be made.
        """
        if (self.path / MANIFEST_NAME).exists():
            return False
        with own_directory(self.path, make=True):
            self._write_manifest()
        return True

    def note_end(self, exit_status: int) -> None:
        """Note that the supervised program has just ended.

        Args:
            exit_status: How, as Python has it: negative for a signal.

        Raises:
            OSError: The directory cannot be written.
        """
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.manifest = self.manifest._replace(program_ended_ns=now)
        self.describe({"exit_status": exit_status})

    def write(self, name: str, data: bytes, *, folder: str = "", durable: bool = False) -> None:
        """Make a file of its directory, or of a folder there, in one step: the old one, or this one, is found.

        Args:
            name: Of the file.
            data: All that is in it.
            folder: Of its directory, which is made if it is missing.
            durable: Whether it survives a crash of the machine.

        Raises:
            OSError: The directory or the disk does not allow it.
            TicktreeError: Another directory is in the place of this one, or another user's.
        """
        with self.opened(folder, make=True) as at:
            write_atomically(Path(name), data, durable=durable, follow=False, dir_fd=at)

    def remove(self, names: Iterable[str], folder: str = "") -> None:
        """Delete files of its directory, or of a folder there; some may be gone already.

        Raises:
            OSError: The directory does not allow it, or there is no such folder.
            TicktreeError: Another directory is in the place of this one, or another user's.
        """
        with self.opened(folder) as at:
            for name in names:
                unlink_at(name, at)

    @contextmanager
    def opened(self, folder: str = "", *, make: bool = False) -> Iterator[int]:
        """Its directory, or a folder in it, for calls that take a `dir_fd`; it stays this one when renamed.

        Raises:
            OSError: There is none.
            TicktreeError: Another directory is in the place of this one, or another user's.
        """
        with own_directory(self.path) as at:
            if not self._is_in(at):
                raise NotOwnError(f"{self.path} is another run's by now; nothing is changed there")
            if folder:
                with own_folder(at, folder, self.path, make=make) as inner:
                    yield inner
            else:
                yield at

    def _is_in(self, at: int) -> bool:
        """Whether a directory is this run's, or a new one in its place, in which nothing can be overwritten."""
        try:
            return read_manifest(Path(), dir_fd=at).id == self.id
        except MissingFileError:
            return not any(name for name in os.listdir(at) if not name.startswith(f".{MANIFEST_NAME}"))
        except FileError:
            return False

    def _write_manifest(self) -> None:
        self.write(MANIFEST_NAME, self.manifest.to_json().encode())
        self._copy_manifest()

    def _copy_manifest(self) -> None:
        """For a process that finds the memory without the run."""
        with suppress(OSError):  # a full tmpfs must not cost the run
            write_atomically(self.memory_dir / MANIFEST_NAME, self.manifest.to_json().encode(), follow=False)


def read_manifest(folder: Path, dir_fd: int | None = None) -> Manifest:
    """What the `run.json` in a directory says.

    Args:
        folder: The directory.
        dir_fd: The directory that `folder` starts from; a link is then not followed.

    Raises:
        FileError: It cannot be read, or says what cannot be.
    """
    path = folder / MANIFEST_NAME
    content = read_bytes(path, MOST_OF_FACTS, follow=dir_fd is None, dir_fd=dir_fd)
    with understood(path):
        return Manifest.from_json(content)


def no_run_in(out: Path, name: str | None = None) -> str:
    """The message for a user who looks for runs where there are none.

    Args:
        out: Where.
        name: What they would be called; None for any.
    """
    called = "" if name is None else f" called {name}"
    # Our own directory is made by the first run; another one was likely mistyped.
    gone = "" if Path(out) == DEFAULT_OUT or Path(out).is_dir() else ", which is no directory"
    return f"no run{called} in {out} yet{gone}; `ticktree run SCRIPT` makes one"


def remove_unmade(path: Path) -> bool:
    """Remove the directory of a run that never held a `run.json`; return whether it is gone now.

    Nothing is removed from a directory that holds anything but the temporary file of a killed process.
    """
    with suppress(OSError, TicktreeError), own_directory(path) as at:
        if all(name.startswith(f".{MANIFEST_NAME}.") for name in names_in(at)):
            for name in names_in(at):
                unlink_at(name, at)
    with suppress(OSError, TicktreeError), any_directory(path.parent) as at:
        os.rmdir(path.name, dir_fd=at)
    return not path.exists()


def unlink_at(name: str, at: int) -> None:
    """Delete a file of an opened directory; one that is already gone is no error."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=at)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - Path.cwd() is the same and as likely to fail
    except FileNotFoundError:
        return ""
