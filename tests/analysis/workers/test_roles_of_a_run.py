from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_trainers import S, thread
from support.profile_strategies import profiles
from ticktree.analysis.workers.roles import has_processes, most_processes, roles, run_ns, worker_by_thread
from ticktree.profile import Node, Profile, Thread


def of(*threads) -> Profile:
    return Profile(root=Node(name="root"), threads={each.id: each for each in threads})


def named(profile: Profile, by="process") -> list[list[str]]:
    return [[worker.name for worker in role.workers] for role in roles(profile, by)]


def test_workers_of_a_role_are_numbered_in_the_order_of_their_start():
    late, early = thread("9-1/1", "actor", 7), thread("20-1/1", "actor", 3)
    (role,) = roles(of(late, early), "process")
    assert [(worker.name, worker.threads) for worker in role.workers] == [
        ("actor 0", ("20-1/1",)),
        ("actor 1", ("9-1/1",)),
    ]


def test_the_only_worker_of_a_role_has_no_number():
    assert named(of(thread("1-1/1", "learner"), thread("2-1/1", "actor", 1))) == [["learner"], ["actor"]]


def test_roles_are_in_the_order_of_their_start():
    assert named(of(thread("1-1/1", "b", 5), thread("2-1/1", "a", 9), thread("3-1/1", "b", 1))) == [
        ["b 0", "b 1"],
        ["a"],
    ]


def test_a_process_has_the_role_of_its_main_thread_and_a_thread_its_own():
    main = thread("1-1/7", "trainer", process_name="train.py")
    helper = thread("1-1/8", "learner", is_main=False)
    assert named(of(helper, main)) == [["trainer"]]
    assert named(of(helper, main), "thread") == [["trainer"], ["learner"]]


def test_threads_started_together_are_in_the_order_of_their_ids():
    (role,) = roles(of(*(thread(f"1-1/{n}", "reader") for n in (10, 9, 101))), "thread")
    assert [worker.threads for worker in role.workers] == [("1-1/9",), ("1-1/10",), ("1-1/101",)]


def test_a_worker_of_several_workers_has_a_range_of_numbers():
    many = thread("2-1/1", "task", 5, members=120)
    assert named(of(thread("1-1/1", "task"), many, thread("3-1/1", "task", 9))) == [
        ["task 0", "task 1-120", "task 121"]
    ]
    (role,) = roles(of(many), "process")
    assert (role.workers[0].name, role.count, role.equals) == ("task", 120, ())


def test_processes_started_together_are_in_the_order_of_the_numbers_in_their_names():
    named_so = {3: "SpawnProcess-2", 5: "SpawnProcess-10", 9: "SpawnProcess-1"}
    profile = of(*(thread(f"{n}-1/1", "actor", n, process_name=name) for n, name in named_so.items()))
    (role,) = roles(profile, "process")
    assert [(worker.name, worker.own_name) for worker in role.workers] == [
        ("actor 0", "SpawnProcess-1"),
        ("actor 1", "SpawnProcess-2"),
        ("actor 2", "SpawnProcess-10"),
    ]


def test_workers_named_after_their_role_keep_their_numbers():
    profile = of(*(thread(f"{n}-1/1", "env worker", 0, process_name=f"env worker-{n}") for n in (4, 2)))
    assert named(profile) == [["env worker 2", "env worker 4"]]
    same = of(*(thread(f"{n}-1/1", "env worker", 0, process_name="env worker-7") for n in (4, 2)))
    assert named(same) == [["env worker 0", "env worker 1"]]


def test_by_role_each_role_is_one_unit():
    profile = of(thread("1-1/1", "learner"), *(thread(f"{n}-1/1", "actor", n) for n in range(2, 6)))
    _, actors = roles(profile, "role")
    assert (actors.name, actors.count, len(actors.workers)) == ("actor", 4, 1)
    assert actors.workers[0].threads == ("2-1/1", "3-1/1", "4-1/1", "5-1/1")


def test_without_a_role_the_process_name_is_the_role():
    nobody = thread("2-1/1", "", 1, process_name="")
    assert named(of(thread("1-1/1", "", process_name="train.py"), nobody)) == [["train.py"], ["process"]]


def test_processes_of_different_runs_with_one_id_are_different():
    mine, yours = thread("1-1/1", "actor"), thread("1-1/2", "actor", run="run-2")
    assert named(of(mine, yours)) == [["actor 0", "actor 1"]]
    assert not has_processes(of(mine, yours))
    assert has_processes(of(mine, thread("2-1/1", "actor")))


def test_a_run_lasts_from_its_first_to_its_last_sign_of_life_and_runs_are_summed():
    one = [thread("1-1/1", "a", 2 * S, 5 * S), thread("2-1/1", "a", 4 * S, 9 * S)]
    other = thread("3-1/1", "a", 0, 3 * S, run="run-2")
    assert run_ns(of(*one)) == 7 * S
    assert run_ns(of(*one, other)) == 10 * S


def test_without_known_starts_a_run_is_as_long_as_its_tree():
    profile = Profile(root=Node(name="root", self_ns=5), threads={"1/1": thread("1/1", "a", None, None)})
    assert run_ns(profile) == 5


@settings(max_examples=60)
@given(profiles(), st.sampled_from(["process", "thread", "role"]))
def test_every_thread_belongs_to_one_worker_and_no_worker_is_empty(profile, by):
    found = roles(profile, by)
    threads = [thread for role in found for thread in role.threads]
    assert sorted(threads) == sorted(profile.threads)
    assert worker_by_thread(found).keys() == profile.threads.keys()
    assert all(worker.threads for role in found for worker in role.workers)


@settings(max_examples=60)
@given(profiles())
def test_workers_of_a_role_have_unique_names(profile):
    for role in roles(profile, "thread"):
        assert len({worker.name for worker in role.workers}) == len(role.workers)


def test_successive_processes_do_not_count_as_concurrent():
    lives = {"a": (0, 10), "b": (2, 5), "c": (5, 8), "d": (9, 20)}
    threads = [
        Thread(id=f"{name}/17", started_ns=first, last_ns=last) for name, (first, last) in lives.items()
    ]
    assert most_processes(of(*threads)) == 2
    assert most_processes(of(*threads, Thread(id="e/17"))) == 3  # not known when
