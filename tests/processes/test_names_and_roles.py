"""Names and roles of processes and threads."""

from __future__ import annotations

import json

import pytest

TELL = """
import json, multiprocessing, os, subprocess, sys, threading

def tell(*_):
    with ticktree.section("work"):
        pass

def actor():
    tell()

class Learner:
    def learn(self):
        ticktree.role("learner")
        tell()

def said():
    from ticktree.session import current
    found = []
    for path in current.run.memory_files():
        from ticktree.run.reading.image import Image
        image = Image.of_file(path)
        text = lambda ref: image.text(ref) if ref else ""
        trees = [(tree.thread_name.decode(), text(tree.role)) for _, tree in image.trees()]
        found.append((text(image.header.process_name), text(image.header.role), trees))
    print(json.dumps(found))
"""


@pytest.fixture
def record_names(run_python):
    """Run a program; return (process's name, role, [(thread's name, role)]) of each of its processes."""

    def run(program):
        result = run_python("import ticktree\n" + TELL + program)
        assert result.stderr == ""
        return [
            (name, role, [tuple(tree) for tree in trees]) for name, role, trees in json.loads(result.stdout)
        ]

    return run


def names(processes):
    return sorted(name for name, _, _ in processes)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_process_has_its_name_or_its_functions(record_names, method):
    processes = record_names(
        f"""
if __name__ == "__main__":
    ticktree.enable(quiet=True)
    context = multiprocessing.get_context({method!r})
    processes = [
        context.Process(target=actor),
        context.Process(target=actor, name="my actor 7"),
        context.Process(target=Learner().learn),
    ]
    for process in processes:
        process.start()
        process.join()
        assert process.exitcode == 0
    said()
"""
    )
    assert names(processes) == ["Learner.learn-3", "actor-1", "my actor 7", "program"]
    assert {name: role for name, role, _ in processes} == {
        "program": "",
        "actor-1": "",
        "my actor 7": "",
        "Learner.learn-3": "learner",
    }


def test_workers_of_pools_have_their_role(record_names):
    processes = record_names(
        """
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    ticktree.enable(quiet=True)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(tell, [1])
        pool.close()
        pool.join()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        executor.submit(tell).result()
    said()
"""
    )
    assert names(processes) == ["executor worker-2", "pool worker-1", "program"]


def test_programs_have_the_name_of_their_script_or_module(record_names, tmp_path):
    folder = tmp_path / "trainer"
    folder.mkdir()
    code = "import ticktree\nwith ticktree.section('work'): pass\n"
    for name in ("main.py", "evaluate.py"):
        (folder / name).write_text(code)
    (tmp_path / "a_module.py").write_text(code)
    processes = record_names(
        """
if __name__ == "__main__":
    ticktree.enable(quiet=True)
    for command in (["trainer/main.py"], ["-O", "trainer/evaluate.py", "-c"], ["-m", "a_module"], ["-c", code]):
        subprocess.run([sys.executable, *command], check=True)
    said()
""".replace("code]", repr(code) + "]")
    )
    assert names(processes) == ["a_module", "evaluate", "program", "python", "trainer"]


def test_a_forked_process_has_its_parents_name_but_not_its_role(record_names):
    processes = record_names(
        """
ticktree.role("learner")
ticktree.enable(quiet=True)
pid = os.fork()
if not pid:
    tell()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
said()
"""
    )
    assert sorted((name, role) for name, role, _ in processes) == [("program", ""), ("program", "learner")]


def test_a_role_set_on_a_thread_is_that_threads(record_names):
    ((name, role, trees),) = record_names(
        """
def thread(role):
    if role:
        ticktree.role(role)
    tell()
ticktree.enable(quiet=True)
tell()
ticktree.role("learner")
for at, role in enumerate(["actor", "", "critic"]):
    one = threading.Thread(target=thread, name=f"t{at}", args=(role,))
    one.start()
    one.join()
said()
"""
    )
    assert (name, role) == ("program", "learner")
    assert sorted(trees) == [("MainThread", ""), ("t0", "actor"), ("t1", ""), ("t2", "critic")]


def test_short_lived_threads_share_the_tree_of_their_role(record_names):
    ((_, _, trees),) = record_names(
        """
def thread(role):
    ticktree.role(role)
    tell()
ticktree.enable(quiet=True)
for at in range(40):
    one = threading.Thread(target=thread, args=(f"role {at % 3}",))
    one.start()
    one.join()
said()
"""
    )
    assert {role for _, role in trees if role} == {"role 0", "role 1", "role 2"}
    # Five, and a few more: a thread gives its tree back as it goes, maybe a moment after whoever joined it goes on.
    assert len(trees) < 40 / 4


def test_an_executors_thread_keeps_its_role_for_all_its_work(record_names):
    ((_, _, trees),) = record_names(
        """
from concurrent.futures import ThreadPoolExecutor
ticktree.enable(quiet=True)
with ThreadPoolExecutor(1, initializer=ticktree.role, initargs=("actor",)) as executor:
    for at in range(3):
        with ticktree.section(f"submit {at}"):
            executor.submit(tell).result()
said()
"""
    )
    assert sum(role == "actor" for _, role in trees) >= 3


def test_a_role_changed_between_sections_begins_another_tree(run_session, calls):
    profile, result = run_session(
        """
        import threading
        from ticktree.run.reading.image import Image
        from ticktree.session import current
        def thread():
            with ticktree.section("before"):
                pass
            ticktree.role("late")
            with ticktree.section("after"):
                with ticktree.section("inner"):
                    ticktree.role("never mind")
        ticktree.enable(quiet=True)
        with ticktree.section("start"):
            one = threading.Thread(target=thread)
            one.start()
            one.join()
        image = Image(current.recorder.image())
        print([image.text(tree.role) if tree.role else "" for _, tree in image.trees()])
        """
    )
    assert calls(profile) == {"start": 1, "start/before": 1, "start/after": 1, "start/after/inner": 1}
    assert result.stdout == "['', '', 'never mind']\n"


def test_roles_with_any_characters_are_accepted(run_python):
    run_python(
        """
        import ticktree, threading
        recorder = ticktree.Recorder()
        for role in ("", "a" * 9999, "\\udcff\\0"):
            recorder.role(role)
            thread = threading.Thread(target=recorder.role, args=(role,))
            thread.start()
            thread.join()
            ticktree.role(role)
        recorder.snapshot().check()
        """
    )
