"""Functions that were to be in focus and were never called: said when the program has ended."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.cli.screen import complain
from ticktree.profile import Profile

if TYPE_CHECKING:
    from ticktree.run.directory import RunDirectory

# Many a package is called by a name that is shorter than its path.
_FILES_AT_MOST = 500
# In the profile's metadata.
_FACT = "focus"


def note_focus(run: RunDirectory, names: Sequence[str]) -> None:
    """Keep with a run what is to be in focus in it."""
    if names:
        run.describe({_FACT: ",".join(names)})


def never_called_of(profile: Profile) -> list[str]:
    """The names of functions that were to be in focus, as the run itself says, and that no process of it called."""
    words = (str(fact) for fact in profile.metadata.get(_FACT, ()))
    return never_called(profile, sorted({name for word in words for name in word.split(",")}))


def never_called(profile: Profile, names: Sequence[str]) -> list[str]:
    """The names of functions that no process of the run called."""
    from ticktree.outputs.call_tree import focus_roots

    called = {root.function for root, _ in focus_roots(profile)}
    return [name for name in names if not any(name == one or name.endswith(f".{one}") for one in called)]


def complain_of_focus(profile: Profile, names: Sequence[str], program: Sequence[str]) -> None:
    """Say which of the functions were never called, and what may have been meant.

    Args:
        profile: of the run.
        names: what was to be in focus.
        program: its command line; its script, where it is one, and what lies beside it are looked through.
    """
    missed = never_called(profile, names)
    if not missed:
        return
    import difflib  # here, because only who has made a mistake needs it

    known = sorted(_known(program))
    for name in missed:
        meant = (
            difflib.get_close_matches(name, known, n=3, cutoff=0.6)
            or [one for one in known if one.rpartition(".")[2] == name.rpartition(".")[2]][:3]
        )
        hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
        complain(f"--focus {name} was never called{hint}")


def _known(program: Sequence[str]) -> Iterator[str]:
    """Names of functions in the program's script and in the modules beside it, as --focus takes them."""
    script = next((Path(word) for word in program if word.endswith(".py") and Path(word).is_file()), None)
    if script is not None:
        yield from _functions_in(script)
    folder = script.parent if script is not None else Path.cwd()
    for number, file in enumerate(sorted(folder.rglob("*.py"))):
        if number >= _FILES_AT_MOST:
            return
        if file == script:
            continue
        module = ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        yield from (f"{module}.{name}" for name in _functions_in(file))


def _functions_in(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield prefix + child.name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                waiting.append((f"{prefix}{child.name}.", child))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                waiting.append((prefix, child))
