from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ticktree.errors import TicktreeError
from ticktree.supervisor.program import Program, interpreter_flags


@pytest.mark.parametrize(
    ("command_line", "flags"),
    [
        ("python x.py", ""),
        ("python -m ticktree run x.py", ""),
        ("python -mticktree run -O x.py", ""),
        ("python -u -OO -m ticktree run x.py", "-u -OO"),
        ("python -uBm ticktree run x.py", "-uB"),
        ("python -uBmticktree run x.py", "-uB"),
        ("python -X dev -X importtime=2 bin/ticktree run -u x.py", "-X dev -X importtime=2"),
        ("python -Xdev -Wignore -W error -m ticktree", "-Xdev -Wignore -W error"),
        ("python -IX dev -m ticktree", "-IX dev"),
        ("python -bbXdev -c code", "-bbXdev"),
        ("python --check-hash-based-pycs always -E -m ticktree", "--check-hash-based-pycs always -E"),
        ("python -O - run", "-O"),
        ("python -O -- -u", "-O"),
        ("python -W", "-W "),
        ("python", ""),
    ],
)
def test_the_flags_are_all_words_before_the_program(command_line: str, flags: str) -> None:
    assert " ".join(interpreter_flags(command_line.split())) == flags


def test_a_script_is_run_with_this_interpreter_and_its_arguments_untouched(tmp_path: Path) -> None:
    program = Program("train.py", False, ("-m", "--", "a b", "\udcff"))
    command = program.command()
    assert command[0] == sys.executable
    assert command[-5:] == ["train.py", "-m", "--", "a b", "\udcff"]


@pytest.mark.parametrize(
    ("head", "is_found"),
    [
        ("#!/usr/bin/env python3\n", True),
        ("#!/bin/sh\n'''exec' /long/path/bin/python \"$0\" \"$@\"\n' '''\n", True),
        ("#!/bin/bash\npython=1\n"[:12], False),
        ("\x7fELF python", False),
    ],
    ids=["python", "python by way of a shell", "a shell script", "no script"],
)
def test_a_command_of_this_interpreter_is_found_by_its_name(
    head: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scripts = tmp_path / "bin"
    scripts.mkdir()
    (scripts / "launch").write_text(head)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(scripts))
    program = Program.named("launch", False, ("-x",))
    assert program == Program(str(scripts / "launch") if is_found else "launch", False, ("-x",))
    assert Program.named("launch", True, ()).target == "launch"
    (tmp_path / "launch").touch()  # a file of that name here is meant
    assert Program.named("launch", False, ()).target == "launch"


def test_a_module_is_run_as_a_module() -> None:
    assert Program("pkg.train", True, ("-v",)).command()[-3:] == ["-m", "pkg.train", "-v"]


@pytest.mark.parametrize(
    ("target", "is_module", "name"),
    [
        ("train.py", False, "train"),
        ("robots/arm/main.py", False, "arm"),
        ("robots/arm/__main__.py", False, "arm"),
        ("robots/arm", False, "arm"),
        ("pkg.train", True, "pkg.train"),
    ],
)
def test_a_run_has_the_most_specific_name(target: str, is_module: bool, name: str) -> None:
    assert Program(target, is_module, ()).name == name


def test_the_folder_of_a_module_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert Program("pkg.train", True, ()).folder == tmp_path / "pkg"
    assert Program("no_such_package.train", True, ()).folder == tmp_path


def test_a_program_that_python_cannot_find_is_refused(tmp_path: Path) -> None:
    for target in ("missing.py", "", "\0", "x" * 5000):
        with pytest.raises(TicktreeError):
            Program(target, False, ()).check()
    with pytest.raises(TicktreeError, match=r"a directory without a __main__\.py"):
        Program(str(tmp_path), False, ()).check()
    (tmp_path / "__main__.py").touch()
    Program(str(tmp_path), False, ()).check()
