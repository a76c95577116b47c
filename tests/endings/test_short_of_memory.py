"""Programs that run with little memory, few descriptors or small files: they end as without ticktree, and know why."""

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


def limited(which, most):
    return {"preexec_fn": lambda: resource.setrlimit(which, (most, most))}


def lines_of_ours(said, at_most):
    """Every line is ours and says something; nothing is a traceback."""
    lines = said.splitlines()
    assert all(len(line) > len("ticktree: ") and line.startswith("ticktree: ") for line in lines), said
    assert len(lines) <= at_most, said


@pytest.mark.parametrize("supervised", [True, False], ids=["run", "enable"])
@pytest.mark.parametrize("most", [32, 60, 90, 120, 160, 200, 400])
def test_with_limited_address_space_the_program_ends_as_without_ticktree(
    place, monkeypatch, most, supervised
):
    limit = limited(resource.RLIMIT_AS, most * MEGABYTES)
    off = {**place.environment, "TICKTREE_OFF": "1"}
    plain = place.run(place.command(PROGRAM.format(enable=False), supervised=False), env=off, **limit)
    assert (plain.returncode, plain.stdout) == (3, "done\n"), "Python itself needs more here"
    done = place.run(place.command(PROGRAM.format(enable=not supervised), supervised=supervised), **limit)
    assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
    lines_of_ours(done.stderr, 3)
    place.sweep(monkeypatch)
    if "cannot record" not in done.stderr and "nothing will be saved" not in done.stderr:
        assert counts(place.profile(frozenset({"processes_without_room"}))).get("x", 100) == 100
    assert place.left_in_memory() == []


def test_if_memory_runs_out_before_the_end_a_later_command_saves_the_run(place, monkeypatch):
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
    done = place.run(place.command(program, supervised=False))
    assert (done.returncode, done.stdout) == (3, "done\n")
    lines_of_ours(done.stderr, 1)
    assert "`ticktree report` will save it" in done.stderr
    place.sweep(monkeypatch)
    assert counts(place.profile()) == {"x": 1000}


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


def test_enable_does_not_raise_without_a_free_descriptor(place):
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
    done = place.run(place.command(program, supervised=False))
    assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
    lines_of_ours(done.stderr, 1)
    assert "Too many open files" in done.stderr


def test_without_a_free_descriptor_at_the_end_a_later_command_saves_the_run(place, monkeypatch):
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
    done = place.run(place.command(program, supervised=False))
    assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
    lines_of_ours(done.stderr, 2)
    place.sweep(monkeypatch)
    assert counts(place.profile()) == {"x": 1}


def test_with_a_file_size_limit_the_report_says_that_there_was_no_room(place):
    done = place.run(place.command(PROGRAM.format(enable=False)), **limited(resource.RLIMIT_FSIZE, 2048))
    assert (done.returncode, done.stdout) == (3, "done\n")
    lines_of_ours(done.stderr, 4)
    assert place.profile(frozenset({"processes_without_room"})).losses == {"processes_without_room": 1}
    report = place.run([sys.executable, "-m", "ticktree", "report"])
    assert "no room for the memory file" in report.stderr + report.stdout


def test_messages_never_go_to_standard_output(place):
    """Python prints there what is printed on a standard error that is closed."""
    environment = {**place.environment, "TICKTREE_MEMORY_DIR": str(place.path / "missing")}
    command = place.command(PROGRAM.format(enable=True), supervised=False)
    done = place.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command], env=environment)
    assert (done.returncode, done.stdout) == (3, "done\n")
    done = place.run(["sh", "-c", 'exec "$@" 2>/dev/full', "sh", *command], env=environment)
    assert done.stdout == "done\n"


def test_messages_with_a_path_cannot_move_the_cursor(place):
    environment = {**place.environment, "TICKTREE_MEMORY_DIR": str(place.path / "a\x1b[2Jb")}
    done = place.run(place.command(PROGRAM.format(enable=True), supervised=False), env=environment)
    assert done.stderr.startswith("ticktree: ")
    assert "\x1b" not in done.stderr


def test_memory_deleted_while_the_program_runs_is_not_reported_as_saved(place):
    program = """
import os, shutil, sys, ticktree
with ticktree.section("x"): pass
shutil.rmtree(os.path.join(os.environ["TICKTREE_MEMORY_DIR"], f"ticktree-{os.getuid()}"))
print("done")
sys.exit(3)
"""
    done = place.run(place.command(program))
    assert (done.returncode, done.stdout) == (3, "done\n")
    lines_of_ours(done.stderr, 1)
    assert "never saved, and gone from memory" in done.stderr
    assert "kept" not in done.stderr


def test_after_pythons_last_year_programs_run_and_commands_print_no_traceback(place):
    place.write(
        "import time\n"
        "def clock(*_): raise OverflowError('timestamp too large to convert to C _PyTime_t')\n"
        "time.time = time.time_ns = clock",
        "sitecustomize.py",
    )
    environment = {**place.environment, "PYTHONPATH": str(place.path)}
    for supervised in (True, False):
        command = place.command(PROGRAM.format(enable=not supervised), supervised=supervised)
        done = place.run(command, env=environment)
        assert (done.returncode, done.stdout) == (3, "done\n"), done.stderr
        lines_of_ours(done.stderr, 1)
        assert "timestamp too large" in done.stderr
