"""The program to run: parse what the command line names, and build plain Python's command for it."""

from __future__ import annotations

import os
import re
import shlex
import stat
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from ticktree.errors import TicktreeError


class Program(NamedTuple):
    """A Python program and its arguments.

    Attributes:
        target: A script, a directory or zip file with a `__main__`, `-` (standard input), or a module.
        is_module: Whether the target is a module, to be run as `python -m` does.
        arguments: The program's `sys.argv[1:]`.
    """

    target: str
    is_module: bool
    arguments: tuple[str, ...]

    @classmethod
    def named(cls, target: str, is_module: bool, arguments: tuple[str, ...]) -> Program:
        """Return the program that a user names: a file, or else a command of this environment, such as `torchrun`.

        Commands of other environments are ignored: this interpreter lacks the packages that they import.

        Raises:
            TicktreeError: The target is another interpreter than ours, or one with flags.
        """
        if not is_module and is_interpreter(target):
            return cls._after_interpreter(target, arguments)
        if not is_module and target != "-" and not os.path.lexists(target):
            import sysconfig  # not in a profiled program, which may have a module of that name

            command = Path(sysconfig.get_path("scripts"), target)
            if os.sep not in target and _is_python(command):
                target = str(command)
        return cls(target, is_module, arguments)

    @classmethod
    def _after_interpreter(cls, interpreter: str, arguments: tuple[str, ...]) -> Program:
        """Return the program of `python SCRIPT`: users of other tools name the interpreter, too."""
        words = arguments[1:] if arguments[:1] == ("-m",) else arguments
        rest = shlex.join(arguments) or "SCRIPT"
        if words[:1] and words[0].startswith("-") and words[0] != "-":
            raise TicktreeError(
                f"flags of the interpreter go before ticktree: {interpreter} FLAGS -m ticktree run SCRIPT"
            )
        if not words or not _runs_us(interpreter):
            raise TicktreeError(
                f"ticktree runs programs with {sys.executable}; leave out {interpreter!r}: ticktree run {rest}"
            )
        return cls.named(words[0], words is not arguments, words[1:])

    @property
    def name(self) -> str:
        """The name of the program's runs."""
        if self.is_module:
            return self.target
        path = Path(self.target).absolute()
        # Many projects call their entry main.py; the name of its directory is more specific.
        return path.parent.name if path.stem in ("main", "__main__") else path.stem

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that would follow `python` on a command line."""
        return ("-m", self.target, *self.arguments) if self.is_module else (self.target, *self.arguments)

    @property
    def folder(self) -> Path:
        """The directory that is likely to be under version control."""
        if self.target == "-":
            return Path.cwd()
        if not self.is_module:
            script = Path(self.target)
            return script if script.is_dir() else script.parent
        # Look up only the package's location: importing it here would run its code.
        spec = PathFinder.find_spec(self.target.partition(".")[0], [str(Path.cwd()), *sys.path])
        return Path(spec.origin).parent if spec and spec.origin else Path.cwd()

    def command(self) -> list[str]:
        """Return the command that runs the program with our interpreter and its flags.

        Raises:
            TicktreeError: The interpreter does not know its own path.
        """
        if not sys.executable:
            raise TicktreeError("this Python does not know its own path (sys.executable is empty)")
        return [sys.executable, *interpreter_flags(sys.orig_argv), *self.argv]

    def check(self) -> None:
        """Check that Python will find the target; errors in its code are left to Python to report.

        Raises:
            TicktreeError: Python would not find it.
        """
        if self.is_module or self.target == "-":
            return
        path = Path(self.target)
        try:
            is_folder = stat.S_ISDIR(os.stat(self.target).st_mode)  # noqa: PTH116 - a Path takes "" for "."
        except (OSError, ValueError):
            # A word without a separator may be meant as a command or as a script.
            is_word = self.target and os.sep not in self.target and not self.target.endswith(".py")
            suffix = ", nor a Python command of that name in this environment" if is_word else ""
            raise TicktreeError(f"{self.target}: there is no such script{suffix}") from None
        if not os.access(path, os.R_OK):
            raise TicktreeError(f"{self.target}: may not be read")
        if is_folder and not any((path / f"__main__.{suffix}").is_file() for suffix in ("py", "pyc")):
            raise TicktreeError(f"{self.target}: is a directory without a __main__.py")


def is_interpreter(word: str) -> bool:
    """Return whether a word names a Python interpreter, and not a file here that may be a program."""
    is_name = re.fullmatch(r"python(3(\.\d+)?)?", Path(word).name) is not None
    return is_name and not Path(word).is_dir() and (os.sep in word or not os.path.lexists(word))


def _runs_us(word: str) -> bool:
    """Return whether the name of an interpreter means the one that runs us, in the same environment."""
    import shutil  # not in a profiled program, which may have a module of that name

    command = shutil.which(word)
    if command is None:
        return os.sep not in word
    path, own_path = Path(command).absolute(), Path(sys.executable)  # environments differ in their links
    return path.parent == own_path.parent and path.samefile(own_path)


def _is_python(script: Path) -> bool:
    """Return whether a file begins as installers write commands: if the path is long, some start it via a shell."""
    try:
        with script.open("rb") as file:
            head = file.read(1024)
    except (OSError, ValueError):
        return False
    return head.startswith(b"#!") and any(b"python" in line for line in head.splitlines()[:2])


def command_name(orig_argv: Sequence[str]) -> str:
    """Return the name of the program in an interpreter's command line; "python" if it has none.

    Args:
        orig_argv: Like `sys.orig_argv`.
    """
    _, rest = _split(orig_argv)
    match = re.fullmatch(r"-[^-cmWX]*m(.*)", rest[0], re.DOTALL) if rest else None
    if match is not None:
        return match[1] or (rest[1] if len(rest) > 1 else "python")
    return "python" if not rest or rest[0].startswith("-") else Program(rest[0], False, ()).name


def interpreter_flags(orig_argv: Sequence[str]) -> list[str]:
    """Return the flags in an interpreter's command line: all words before the script or `-m MODULE`, as typed.

    Args:
        orig_argv: Like `sys.orig_argv`: the interpreter, its flags, what it runs, that program's arguments.
    """
    return _split(orig_argv)[0]


def _split(orig_argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the interpreter's flags and the words from the script, `-m` or `-c` on."""
    flags: list[str] = []
    rest = list(orig_argv[1:])
    while rest:
        word = rest[0]
        if word.startswith("--") and word != "--":
            count = 2 if word == "--check-hash-based-pycs" else 1
        else:
            # A cluster of letters; W and X take the rest of it or the next word, c and m begin the program.
            match = re.fullmatch(r"-([^cmWX-]*)(?:([WX])(.*)|([cm]).*)?", word, re.DOTALL)
            if match is None or word == "-":
                break
            letters, option, value, begins_program = match.groups()
            if begins_program:
                flags += [f"-{letters}"] if letters else []
                break
            count = 2 if option and not value else 1
        flags += [*rest, ""][:count]  # a missing last word counts as empty
        rest = rest[count:]
    return flags, rest
