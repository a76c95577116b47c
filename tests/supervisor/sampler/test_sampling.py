"""Programs are sampled from outside: samples show what they do, and have no effect on them."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import pytest

from support.command_line import program_of
from support.sampled_runs import (
    BEFORE,
    functions,
    named_in,
    of_root,
    run_sampled,
    samples_so_far,
    share_of,
    state_of,
)
from ticktree.analysis.sampled import sampled_threads, sampled_times
from ticktree.supervisor.sampler import sampling

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets one process read another")

# Far beyond what chance does at the numbers of samples here, on a machine with other work.
CLOSE = 0.2


def test_time_is_attributed_to_the_functions_that_took_it(tmp_path: Path) -> None:
    source = """
def short(): work(0.05)
def long(): work(0.15)
for _ in range(10):
    short(); long()
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200")
    time = of_root(profile)
    assert share_of(time, ["short"]) == pytest.approx(0.25, abs=CLOSE)
    assert share_of(time, ["long"]) == pytest.approx(0.75, abs=CLOSE)
    assert sum(row.ns for row in time.rows()) == pytest.approx(profile.root.self_ns, rel=1e-6)


WAITS = {
    "sleep": "def it(): time.sleep(0.8)\nit()",
    "lock": "lock = threading._allocate_lock(); lock.acquire()\ndef it(): lock.acquire(True, 0.8)\nit()",
    "io": "import os\nreader, _ = os.pipe()\nimport select\ndef it(): select.select([reader], [], [], 0.8)\nit()",
    "running": "def it(): work(0.8)\nit()",
}


@pytest.mark.parametrize(("state", "source"), WAITS.items(), ids=WAITS.keys())
def test_a_threads_state_is_recorded(state: str, source: str, tmp_path: Path) -> None:
    profile, _ = run_sampled(tmp_path, source, "--sample", "100", "--no-instrument")
    assert state_of(of_root(profile), "it") == state


def test_threads_wait_for_the_interpreter(tmp_path: Path) -> None:
    source = """
def loop(): work(1.0)
other = threading.Thread(target=loop)
other.start()
loop()
other.join()
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200", "--no-instrument")
    other_threads = sampled_threads(profile)["other threads"]
    # One that was just woken for it counts as running until it has a core: how long they wait is not told here.
    assert of_root(profile).states().get("gil", 0) + other_threads.states().get("gil", 0) > 0
    assert share_of(other_threads, ["loop"]) > 0.5  # on a busy machine it waits before it begins, too


def test_samples_belong_to_the_open_section(tmp_path: Path) -> None:
    source = """
import ticktree
def one(): work(1.5)
def two(): work(1.5)
with ticktree.section("a"):
    one()
    with ticktree.section("b"):
        two()
@ticktree.timed
def timed(): work(1.5)
timed()
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200")
    times = sampled_times(profile)
    assert "one" in named_in(times["a"])
    assert "two" not in named_in(times["a"])
    assert named_in(times["a/b"]) >= {"two"}
    assert "one" not in named_in(times["a/b"])
    assert "<module>" not in named_in(times["timed"])  # the call is inside the section, its caller is not
    for path, sampled in times.items():
        if path:
            assert sampled.ns == profile.root.find(path).self_ns


def test_a_suspended_task_is_not_running(tmp_path: Path) -> None:
    source = """
import asyncio, ticktree
async def busy():
    for _ in range(20):
        with ticktree.section("busy"):
            work(0.02)
            await asyncio.sleep(0.02)
async def idle():
    with ticktree.section("idle"):
        await asyncio.sleep(0.8)
async def both(): await asyncio.gather(busy(), idle())
asyncio.run(both())
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200")
    times = sampled_times(profile)
    assert times["idle"].states()["suspended"] > 0.8
    assert 0.05 < times["busy"].states()["suspended"] < 0.95
    assert "work" in named_in(times["busy"])


CHURN = """
import asyncio, gc, os
def fresh(number):
    name = f"made_{number % 7}"
    space = {}
    exec(f"def {name}(n):\\n    return sum(i for i in range(n))", space)
    return space[name]
def churn():
    number = 0
    while True:
        number += 1
        fresh(number)(30)
        if not number % 50: gc.collect(0)
def generate():
    while True: sum(x for x in (y for y in range(20)))
async def task(): await asyncio.sleep(0)
async def tasks():
    while True: await asyncio.gather(*(task() for _ in range(20)))
def start():
    while True:
        thread = threading.Thread(target=sum, args=(range(10),)); thread.start(); thread.join()
def fork():
    while True:
        if not os.fork(): os._exit(0)
        os.wait()
        time.sleep(0.01)
for function in (churn, generate, start, fork): threading.Thread(target=function, daemon=True).start()
print("begun", flush=True)
asyncio.run(tasks())
"""


def names_of(code: CodeType) -> set[str]:
    """Return the names of a code object and of those in it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {code.co_qualname}.union(*map(names_of, inner))


def names_in(file: str, own: set[str]) -> set[str]:
    """Return all names that code of a file may have."""
    if file in ("program.py", "<string>"):
        return own
    return names_of(compile(Path(file).read_bytes(), file, "exec"))


@pytest.mark.slow
def test_names_are_correct_while_code_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SHARE", 0.5)  # of a core, or it would take minutes
    (tmp_path / "program.py").write_text(BEFORE + CHURN)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "program.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            sampler = sampling.Sampling(tmp_path, 1000, is_attached=True)
            sampler.begin(program.pid)
            until(lambda: sample_count(sampler) >= 10_000, program)
            sampled = sampler.end()
        finally:
            program.kill()
    assert sampled is not None
    function_names = {f"made_{number}" for number in range(7)}
    expected = names_of(compile(BEFORE + CHURN, "program.py", "exec")) | function_names
    expected |= {f"{name}.<locals>.<genexpr>" for name in function_names}
    names_by_file: dict[str, set[str]] = defaultdict(set)
    for line in {line for stack in sampled.stacks for line in stack.lines}:
        names_by_file[line.file.removeprefix(f"{tmp_path}/")].add(line.function)
    wrong_names = {file: names - names_in(file, expected) for file, names in names_by_file.items()}
    assert not any(wrong_names.values()), wrong_names
    assert names_by_file["program.py"] >= {"churn", "generate", "tasks", "start", "fork"}
    assert names_by_file["<string>"] & function_names
    count = sum(weight.count for weight in sampled.stacks.values())
    print(f"{count} samples, dropped {dict(sampled.dropped)}")


def sample_count(sampler: sampling.Sampling) -> int:
    sampler.look()
    return sum(weight.count for weight in sampler._result().stacks.values())


ENDS = {
    "forks": ("import os\nif not os.fork():\n    work(0.3); os._exit(0)\nos.wait(); work(0.2)", 0),
    "spawns": (
        "import subprocess\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(0.3)'])\nwork(0.2)",
        0,
    ),
    "execs": ("import os\nwork(0.2)\nos.execv(sys.executable, [sys.executable, '-c', 'print(5)'])", 0),
    "exits": ("work(0.2)\nimport os; os._exit(3)", 3),
    "ends at once": ("", 0),
    "starts threads until it ends": (
        "for _ in range(300):\n    t = threading.Thread(target=work, args=(0.002,), daemon=True); t.start()",
        0,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_programs_end_as_without_sampling(name: str, tmp_path: Path) -> None:
    source, status = ENDS[name]
    _, done = run_sampled(tmp_path, source, "--sample", "1000", status=status)
    assert "Traceback" not in done.stderr


def test_sampling_continues_after_exec(tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(BEFORE + "def after_exec(): work_until_sampled('after_exec')\nafter_exec()\n")
    becomes = f"os.execv(sys.executable, [sys.executable, {str(other)!r}])"
    source = f"def before(): work(0.5)\nbefore()\n{becomes}"
    profile, _ = run_sampled(tmp_path, source, "--sample", "200")
    seen = {line.function for stack in profile.samples.stacks for line in stack.lines}
    assert seen >= {"before", "after_exec"}


def test_child_processes_are_distinguished(tmp_path: Path) -> None:
    source = """
import multiprocessing
def spawned_child(): work_until_sampled("spawned_child")
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=spawned_child)
    process.start(); process.join()
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "200", "--no-instrument")
    assert "spawned_child" in named_in(sampled_threads(profile)["other processes"])
    assert "spawned_child" not in named_in(of_root(profile))


@pytest.mark.slow
def test_a_stopped_program_is_not_sampled(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BEFORE + "print('begun', flush=True)\nwork(600)\n")
    command = [sys.executable, "-m", "ticktree", "run", "--sample", "200", "--quiet", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as supervisor:
        try:
            assert supervisor.stdout is not None
            supervisor.stdout.readline()
            pid = program_of(supervisor.pid)
            (memory,) = (
                path
                for path in Path(f"/dev/shm/ticktree-{os.geteuid()}").iterdir()
                if list(path.glob(f"{pid}-*.tt"))
            )
            until(lambda: samples_so_far(memory) > 0)
            os.kill(pid, signal.SIGSTOP)
            before = stable_sample_count(memory)
            time.sleep(5)
            assert samples_so_far(memory) == before
            os.kill(pid, signal.SIGCONT)
            until(lambda: samples_so_far(memory) > before)
        finally:
            supervisor.kill()  # and the program with it


def until(condition: Callable[[], bool], program: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        assert program is None or program.poll() is None
        time.sleep(0.05)


def stable_sample_count(memory: Path) -> int:
    """Return the number of samples once all that were taken until now have been saved."""
    time.sleep(5)
    return samples_so_far(memory)


def test_sections_that_explain_the_time_need_no_samples(tmp_path: Path) -> None:
    source = "import ticktree\nwith ticktree.section('all'): work(0.5)\n"
    assert run_sampled(tmp_path, source)[0].samples is None
    assert run_sampled(tmp_path, source, "--sample", "100")[0].samples is not None


@pytest.mark.slow
def test_time_outside_sections_is_sampled(tmp_path: Path) -> None:
    source = (
        "import ticktree\ndef hidden(): work(0.7)\nwith ticktree.section('little'): work(0.1)\nhidden()\n"
    )
    profile, done = run_sampled(tmp_path, source)
    assert share_of(of_root(profile), ["hidden"]) > 0.5
    assert "[sampled]" in done.stderr
    assert run_sampled(tmp_path, source, "--no-sample")[0].samples is None


TICKS = """
import ticktree
def step(): work(0.03)
def early(): work({self_s})
def late(): work({self_s})
begun = time.perf_counter()
for tick in ticktree.loop("train", range({ticks})):
    with ticktree.section("step"): step()
    early() if time.perf_counter() < begun + 7 else late()
"""


@pytest.mark.slow
def test_self_time_of_ticks_is_sampled(tmp_path: Path) -> None:
    profile, done = run_sampled(tmp_path, TICKS.format(self_s=0.03, ticks=40))
    assert share_of(sampled_times(profile)["train"], ["early"]) > 0.5
    assert "[sampled]" in done.stderr
    assert run_sampled(tmp_path, TICKS.format(self_s=0.003, ticks=40))[0].samples is None


SLOW_START = """
import ticktree
def load(): work(5.5)
def step(): work(0.01)
def other(): work(0.03)
with ticktree.section("first"): work(0.01)
load()
for tick in ticktree.loop("train", range(100)):
    with ticktree.section("step"): step()
    other()
"""


@pytest.mark.slow
def test_a_long_start_up_does_not_decide_about_the_ticks(tmp_path: Path) -> None:
    profile, _ = run_sampled(tmp_path, SLOW_START)
    counts = Counter(
        line.function
        for stack, weight in profile.samples.stacks.items()
        for line in stack.lines
        if line.function in ("load", "other")
        for _ in range(weight.count)
    )
    assert (
        counts["other"] > 0.25 * counts["load"]
    )  # of 3 s and 5.5 s; where it only looked from time to time, 0.1


@pytest.mark.slow
def test_samples_continue_once_they_are_needed(tmp_path: Path) -> None:
    profile, _ = run_sampled(tmp_path, TICKS.format(self_s=0.03, ticks=180))
    seen = sum(
        weight.count
        for stack, weight in profile.samples.stacks.items()
        if any(line.function == "late" for line in stack.lines)
    )
    assert seen > 20  # of 1.9 s; where it only looked whether it stays so, 4


def test_a_program_without_sections_is_sampled(tmp_path: Path) -> None:
    source = """
def load(): work(0.02)
def learn(): work(0.06)
def train(steps):
    for step in range(steps):
        load()
        learn()
train(20)
"""
    profile, done = run_sampled(tmp_path, source)
    assert "Where the run goes [sampled]" in done.stderr
    assert "Nothing was recorded" not in done.stderr
    number = (BEFORE + source).splitlines().index("    for step in range(steps):") + 1
    assert (
        f'Mark the loop at program.py:{number}: for step in ticktree.loop("train", range(steps)):'
        in done.stderr
    )
    assert "ticktree run --focus train program.py" in done.stderr
    assert set(functions(of_root(profile))) & {"work", "work_until"}


def refuse_to_read_others() -> None:
    """Make process_vm_readv fail with EPERM, for this process and its children, like a container's policy."""
    allow, fail, no_new_privileges, set_filter = 0x7FFF0000, 0x00050000 | errno.EPERM, 38, 22
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 310), (0x06, 0, 0, fail), (0x06, 0, 0, allow)]  # 310: on x86-64
    program = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_of = struct.pack("@HxxxxxxP", len(steps), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0
    assert libc.prctl(set_filter, 2, ctypes.create_string_buffer(filter_of), 0, 0) == 0


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of the system call is that of x86-64")
def test_a_refusal_by_the_system_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(BEFORE + "work(0.3)\nprint('done')")
    for options, is_said in ((["--sample", "100"], True), ([], True), (["--no-sample"], False)):
        command = [sys.executable, "-m", "ticktree", "run", *options, "program.py"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=refuse_to_read_others,
        )
        assert (done.returncode, done.stdout) == (0, "done\n")
        said = "the system does not let ticktree read its memory (Operation not permitted)"
        assert (said in done.stderr) == is_said
        assert "Nothing was recorded" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of the system call is that of x86-64")
def test_a_thread_in_the_program_samples_if_the_system_refuses(tmp_path: Path) -> None:
    source = """
import os, multiprocessing
def short(): work(0.05)
def long(): work(0.15)
def sleeps(): time.sleep(0.7)
def forked(): work_until_sampled("forked")
def spawned(): work_until_sampled("spawned")
if __name__ == "__main__":
    before = threading.active_count()
    for name in ("fork", "spawn"):
        process = multiprocessing.get_context(name).Process(target={"fork": forked, "spawn": spawned}[name])
        process.start(); process.join()
    for _ in range(10):
        short(); long()
    sleeps()
    print(threading.active_count() - before)
"""
    profile, done = run_sampled(
        tmp_path, source, "--sample", "thread:200", "--no-instrument", refused=refuse_to_read_others
    )
    time = of_root(profile)
    long = share_of(time, ["long"])
    assert long / (long + share_of(time, ["short"])) == pytest.approx(0.75, abs=CLOSE)
    assert state_of(time, "sleeps") == "sleep"
    assert {"forked", "spawned"} <= named_in(sampled_threads(profile)["other processes"])
    assert done.stdout == "0\n"
    assert "s of CPU time on threads in the program" in done.stderr


def test_a_thread_in_the_program_knows_the_sections(tmp_path: Path) -> None:
    source = """
import os, ticktree
def one(): work(0.6)
def two(): work(0.6)
def becomes(): work(0.6)
if len(sys.argv) > 1: becomes(); sys.exit()
with ticktree.section("a"):
    one()
    with ticktree.section("b"): two()
os.execv(sys.executable, [sys.executable, "program.py", "again"])
"""
    profile, _ = run_sampled(tmp_path, source, "--sample", "thread")
    times = sampled_times(profile)
    assert "one" in named_in(times["a"]) - named_in(times["a/b"])
    assert "two" in named_in(times["a/b"]) - named_in(times["a"])
    assert "becomes" in named_in(sampled_threads(profile)["other processes"])
    assert times["a/b"].ns == profile.root.find("a/b").self_ns


def test_the_option_is_a_rate_or_thread(tmp_path: Path) -> None:
    for rate in ("0", "2000", "threads", "thread:x", "nan"):
        command = [sys.executable, "-m", "ticktree", "run", "--sample", rate, "program.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert (done.returncode, "neither a rate from 1 to 1000 Hz nor thread[:HZ]" in done.stderr) == (
            2,
            rate != "thread:",
        )


def test_a_supervised_program_keeps_its_input(tmp_path: Path) -> None:
    source = "work(0.3)\nprint(sys.stdin.read())"
    (tmp_path / "program.py").write_text(BEFORE + source)
    command = [sys.executable, "-m", "ticktree", "run", "--sample", "500", "--quiet", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, input="a line", capture_output=True, text=True, timeout=300)
    assert done.stdout == "a line\n"
