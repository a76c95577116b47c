"""Programs with little memory, few descriptors or small files end as without ticktree, with a message."""

from __future__ import annotations

import resource
import sys

import pytest

from support.crashing_programs import counts

MEGABYTES = 1 << 20
PROGRAM = """
import sys, ticktree
if {enable}: ticktree.enable()
for number in range(100):
    with ticktree.section("x"): pass
print("done")
sys.exit(3)
"""


def limits(resource_name, limit_value):
    return {"preexec_fn": lambda: resource.setrlimit(resource_name, (limit_value, limit_value))}


def check_messages(text, max_lines):
    """Check that every line is a message of ours, and none is a traceback."""
    lines = text.splitlines()
    assert all(len(line) > len("ticktree: ") and line.startswith("ticktree: ") for line in lines), text
    assert len(lines) <= max_lines, text


@pytest.mark.parametrize("supervised", [True, False], ids=["run", "enable"])
@pytest.mark.parametrize("limit_value", [32, 60, 90, 120, 160, 200, 400])
def test_with_limited_address_space_the_program_ends_as_without_ticktree(
    sandbox, monkeypatch, limit_value, supervised
):
    limit = limits(resource.RLIMIT_AS, limit_value * MEGABYTES)
    off = {**sandbox.environment, "TICKTREE_OFF": "1"}
    plain = sandbox.run(sandbox.command(PROGRAM.format(enable=False), supervised=False), env=off, **limit)
    assert (plain.returncode, plain.stdout) == (3, "done\n"), "Python itself needs more here"
    result = sandbox.run(
        sandbox.command(PROGRAM.format(enable=not supervised), supervised=supervised), **limit
    )
    assert (result.returncode, result.stdout) == (3, "done\n"), result.stderr
    check_messages(result.stderr, 3)
    sandbox.sweep(monkeypatch)
    if "cannot record" not in result.stderr and "nothing will be saved" not in result.stderr:
        assert counts(sandbox.profile(frozenset({"processes_without_room"}))).get("x", 100) == 100
    assert sandbox.left_in_memory() == []


def test_if_memory_runs_out_before_the_end_a_later_command_saves_the_run(sandbox, monkeypatch):
    program = """
import resource, sys, ticktree
ticktree.enable()
for number in range(1000):
    with ticktree.section("x"): pass
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (20 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print("done")
sys.exit(3)
"""
    result = sandbox.run(sandbox.command(program, supervised=False))
    assert (result.returncode, result.stdout) == (3, "done\n")
    check_messages(result.stderr, 1)
    assert "`ticktree report` will save it" in result.stderr
    sandbox.sweep(monkeypatch)
    assert counts(sandbox.profile()) == {"x": 1000}


ALL_DESCRIPTORS = """
import os, resource, sys, ticktree
def take_all():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return taken
"""


def test_enable_does_not_raise_without_a_free_descriptor(sandbox):
    program = (
        ALL_DESCRIPTORS
        + """
taken = take_all()
ticktree.enable()
with ticktree.section("x"): pass
ticktree.enable()
os.write(1, b"done\\n")
for fd in taken: os.close(fd)
sys.exit(3)
"""
    )
    result = sandbox.run(sandbox.command(program, supervised=False))
    assert (result.returncode, result.stdout) == (3, "done\n"), result.stderr
    check_messages(result.stderr, 1)
    assert "Too many open files" in result.stderr


def test_without_a_free_descriptor_at_the_end_a_later_command_saves_the_run(sandbox, monkeypatch):
    program = (
        ALL_DESCRIPTORS
        + """
ticktree.enable()
with ticktree.section("x"): pass
taken = take_all()
os.write(1, b"done\\n")
sys.exit(3)
"""
    )
    result = sandbox.run(sandbox.command(program, supervised=False))
    assert (result.returncode, result.stdout) == (3, "done\n"), result.stderr
    check_messages(result.stderr, 2)
    sandbox.sweep(monkeypatch)
    assert counts(sandbox.profile()) == {"x": 1}


def test_with_a_file_size_limit_the_report_says_that_there_was_no_room(sandbox):
    result = sandbox.run(sandbox.command(PROGRAM.format(enable=False)), **limits(resource.RLIMIT_FSIZE, 2048))
    assert (result.returncode, result.stdout) == (3, "done\n")
    check_messages(result.stderr, 4)
    assert sandbox.profile(frozenset({"processes_without_room"})).losses == {"processes_without_room": 1}
    report = sandbox.run([sys.executable, "-m", "ticktree", "report"])
    assert "no room for the memory file" in report.stderr + report.stdout


def test_messages_never_go_to_standard_output(sandbox):
    """If standard error is closed, Python prints its output there."""
    environment = {**sandbox.environment, "TICKTREE_MEMORY_DIR": str(sandbox.path / "missing")}
    command = sandbox.command(PROGRAM.format(enable=True), supervised=False)
    result = sandbox.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], env=environment)
    assert (result.returncode, result.stdout) == (3, "done\n")
    result = sandbox.run(["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *command], env=environment)
    assert result.stdout == "done\n"


def test_messages_with_a_path_cannot_move_the_cursor(sandbox):
    environment = {**sandbox.environment, "TICKTREE_MEMORY_DIR": str(sandbox.path / "a\x1b[2Jb")}
    result = sandbox.run(sandbox.command(PROGRAM.format(enable=True), supervised=False), env=environment)
    assert result.stderr.startswith("ticktree: ")
    assert "\x1b" not in result.stderr


def test_memory_deleted_while_the_program_runs_is_not_reported_as_saved(sandbox):
    program = """
import os, shutil, sys, ticktree
with ticktree.section("x"): pass
shutil.rmtree(os.path.join(os.environ["TICKTREE_MEMORY_DIR"], f"ticktree-{os.getuid()}"))
print("done")
sys.exit(3)
"""
    result = sandbox.run(sandbox.command(program))
    assert (result.returncode, result.stdout) == (3, "done\n")
    check_messages(result.stderr, 1)
    assert "never saved, and gone from memory" in result.stderr
    assert "kept" not in result.stderr


def test_after_pythons_last_year_programs_run_and_commands_print_no_traceback(sandbox):
    sandbox.write(
        "import time\n"
        "def clock(*_): raise OverflowError('timestamp too large to convert to C _PyTime_t')\n"
        "time.time = time.time_ns = clock",
        "sitecustomize.py",
    )
    environment = {**sandbox.environment, "PYTHONPATH": str(sandbox.path)}
    for supervised in (True, False):
        command = sandbox.command(PROGRAM.format(enable=not supervised), supervised=supervised)
        result = sandbox.run(command, env=environment)
        assert (result.returncode, result.stdout) == (3, "done\n"), result.stderr
        check_messages(result.stderr, 1)
        assert "timestamp too large" in result.stderr
