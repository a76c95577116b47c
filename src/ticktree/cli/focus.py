"""Functions of --focus that were never called: reported when the program has ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticktree.cli.screen import complain

if TYPE_CHECKING:
    from ticktree.profile import Profile
    from ticktree.run.finishing import RunDirectory

_FILES_AT_MOST = 500
_HINTS = 3
# In the profile's metadata.
_FACT = "focus"


def note_focus(run: RunDirectory, names: Sequence[str]) -> None:
    """Keep the names of the functions in focus with a run."""
    if names:
        run.describe({_FACT: ",".join(names)})


def never_called_of(profile: Profile) -> list[str]:
    """Return the functions in focus, as the run's metadata has them, that none of its processes called."""
    words = (str(fact) for fact in profile.metadata.get(_FACT, ()))
    return _never_called(profile, sorted({name for word in words for name in word.split(",")}))


def _never_called(profile: Profile, names: Sequence[str]) -> list[str]:
    """Return the functions that no process of the run called; none if a process may have called them unrecorded."""
    from ticktree.outputs.markdown import focus_roots
    from ticktree.profile.machine import FOCUS_UNSEEN

    if FOCUS_UNSEEN in profile.gauges:
        return []

    called = {root.function for root, _ in focus_roots(profile)}
    return [
        name
        for name in names
        if not any(name == function or name.endswith(f".{function}") for function in called)
    ]


def complain_of_focus(profile: Profile, names: Sequence[str], program: Sequence[str]) -> None:
    """Print which of the functions were never called, with names that may have been meant.

    These come from the script of the program's command line, if it is one, and from modules next to it.
    """
    missed = _never_called(profile, names)
    script = _script_of(program)
    names_in_program = sorted({*_functions_near(script)}) if missed else []
    for name in missed:
        local_name = name.removeprefix(f"{script.stem}.") if script is not None else name
        complain(
            f"--focus {name} {_what_is_wrong(name if name in names_in_program else local_name, names_in_program)}"
        )


def functions_of(program: Sequence[str]) -> list[str]:
    """Return the names of the functions in a program's script, sorted; none if it is a module, or deleted."""
    script = _script_of(program)
    return [] if script is None else sorted(_functions_in(script))


def _script_of(program: Sequence[str]) -> Path | None:
    return next((Path(word) for word in program if word.endswith(".py") and Path(word).is_file()), None)


def _what_is_wrong(name: str, functions: Sequence[str]) -> str:
    """Return why nothing was recorded of a function, as far as its name shows."""
    if name in functions:
        return "was never called: it exists, and this run did not reach it"
    if _is_of_c(name):
        return (
            "is not written in Python; name what calls it, and --focus-c records the C functions called there"
        )
    inside = [function for function in functions if function.startswith(f"{name}.")]
    if inside:
        return f"is not a function; did you mean one in it, such as {_or(inside[:_HINTS])}?"
    import difflib  # here, because only a mistyped name needs it

    namesakes = [function for function in functions if function.rpartition(".")[2] == name.rpartition(".")[2]]
    suggestions = (
        difflib.get_close_matches(name, functions, n=_HINTS, cutoff=0.6)
        if "." in name or not namesakes
        else []
    )
    suggestions = (suggestions or namesakes)[:_HINTS]
    return f"was never called{f'; did you mean {_or(suggestions)}?' if suggestions else ''}"


def _or(names: Sequence[str]) -> str:
    return " or ".join(names)


def _is_of_c(name: str) -> bool:
    """Return whether it is a built-in function, or in a module of the standard library, not written in Python."""
    import builtins
    import importlib.util

    first, _, rest = name.partition(".")
    if not rest or isinstance(getattr(builtins, first, None), type):
        return hasattr(builtins, first)
    if first not in sys.stdlib_module_names:
        return False
    spec = importlib.util.find_spec(first)  # of a module at the top, which imports nothing
    return spec is not None and not str(spec.origin).endswith(".py")


def _functions_near(script: Path | None) -> Iterator[str]:
    """Yield the names of the functions in the program's script and in modules next to it, as --focus takes them."""
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
    import ast  # here, because it would delay the start of every run

    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield prefix + child.name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                pending.append((f"{prefix}{child.name}.", child))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                pending.append((prefix, child))
