"""Creates the environments of the make targets: every package has the version in a lock.

    python scripts/locked.py LOCK create FOLDER      a new environment of this Python, with what builds ticktree
    python scripts/locked.py LOCK install ARGUMENTS  what `pip install ARGUMENTS` would, into this Python's environment
    python scripts/locked.py LOCK run COMMAND        a command that uses pip, for this Python's environment
    python scripts/locked.py LOCK write ARGUMENTS    the lock itself: the newest versions that ARGUMENTS allow

A lock is for one environment and one Python. It has a line `name==version` for each package, and no address or path.
`install` and `run` fail where the lock lacks a package that is installed, or has it at another version. With --newest
first the lock is not read. What follows --no-deps in the ARGUMENTS of `write` is resolved without its
requirements.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from importlib.metadata import distributions
from pathlib import Path

PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def canonical(name: str) -> str:
    """The name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def public(version: str) -> str:
    """The version without its build: torch 2.13.0+cpu is torch 2.13.0."""
    return version.partition("+")[0]


def read(lock: Path) -> dict[str, str]:
    """The versions by name."""
    if not lock.is_file():
        sys.exit(f"{lock} does not exist: make lock")
    first, *lines = lock.read_text().splitlines()
    if first != f"# {PYTHON}":
        sys.exit(f"{lock} is for {first.removeprefix('# ')}, and {sys.executable} is {PYTHON}")
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def check(lock: Path) -> None:
    """End with a message where a package is installed that the lock does not have at that version."""
    lock_versions = read(lock)
    folders = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    versions = {canonical(package.name): public(package.version) for package in distributions(path=folders)}
    versions.pop("ticktree", None)
    if wrong := [
        f"{name} {version} (locked: {lock_versions.get(name, 'no')})"
        for name, version in sorted(versions.items())
        if lock_versions.get(name) != version
    ]:
        sys.exit(
            f"installed, but not locked so in {lock}: {', '.join(wrong)}; run `make lock`, or `make clean`"
        )


def pip(python: Path | str, *arguments: str) -> list[str]:
    """The command that runs this Python's pip."""
    return [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]


def run(command: list[str], lock: Path | None = None) -> None:
    """Run a command that uses pip. Only wheels: what the build of another package needs is in no lock."""
    environment = {**os.environ, "PIP_ONLY_BINARY": ":all:"}
    if lock is not None:
        environment["PIP_CONSTRAINT"] = str(lock)
    status = subprocess.run(command, env=environment, check=False).returncode
    if status:
        sys.exit(f"status {status}, with the versions of {lock or 'no lock'}: {' '.join(command)}")


def build_requirements() -> list[str]:
    """What builds ticktree. Installed like everything else, since builds in isolation choose their own versions."""
    return ["pip", *tomllib.loads(PYPROJECT.read_text())["build-system"]["requires"]]


def resolve(python: Path, arguments: list[str]) -> dict[str, str]:
    """The versions that `pip install` would choose for an empty environment."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        run(pip(python, "install", "--dry-run", "--ignore-installed", "--report", report.name, *arguments))
        packages = [package["metadata"] for package in json.loads(Path(report.name).read_text())["install"]]
    return {canonical(package["name"]): public(package["version"]) for package in packages}


def write(lock: Path, arguments: list[str]) -> None:
    """Write the newest versions that the arguments allow."""
    split = arguments.index("--no-deps") if "--no-deps" in arguments else len(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        python = create(Path(scratch), None)
        versions = resolve(python, [*build_requirements(), *arguments[:split]])
        if arguments[split:]:
            versions |= resolve(python, arguments[split:])
    versions.pop("ticktree", None)
    lines = [f"# {PYTHON}", *(f"{name}=={version}" for name, version in sorted(versions.items()))]
    lock.write_text("\n".join(lines) + "\n")


def create(folder: Path, lock: Path | None) -> Path:
    """Make the environment, and install what builds ticktree."""
    run([sys.executable, "-m", "venv", "--clear", str(folder)])
    python = folder / "bin" / "python"
    run(pip(python, "install", "--upgrade", *build_requirements()), lock)
    return python


def main(lock: Path, action: str, arguments: list[str], *, newest: bool) -> None:
    """Run the command line."""
    constraints = None if newest else lock
    if action == "write":
        write(lock, arguments)
    elif action == "create":
        if constraints:
            read(constraints)
        create(Path(arguments[0]), constraints)
    elif action in ("install", "run"):
        wheels = [argument for argument in arguments if action == "install" and argument.endswith(".whl")]
        if wheels:  # pip leaves what is installed at the same version
            run(pip(sys.executable, "install", "--force-reinstall", "--no-deps", *wheels))
        run(pip(sys.executable, "install", *arguments) if action == "install" else arguments, constraints)
        if constraints:
            check(constraints)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    argv = [argument for argument in sys.argv[1:] if argument != "--newest"]
    if len(argv) < 3:
        sys.exit(__doc__)
    main(Path(argv[0]), argv[1], argv[2:], newest="--newest" in sys.argv[1:2])
