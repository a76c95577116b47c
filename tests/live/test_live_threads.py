"""Who gets a column, and under which name."""

from __future__ import annotations

from support import live_scenes as scenes
from ticktree.live.columns import worker_columns, workers_of
from ticktree.profile import Profile, Thread


def profile_of(*threads: Thread) -> Profile:
    return Profile(threads={thread.id: thread for thread in threads})


def titles(*threads: Thread) -> tuple[str, list[str]]:
    kind, workers = workers_of(profile_of(*threads))
    return kind, [column.title for column in worker_columns(None, workers, kind, 0)]


def process(number: int, **fields) -> Thread:
    return Thread(**{"id": f"{number}-9/0", "is_main": True, **fields})


def test_processes_are_named_by_role_and_numbered_if_several_share_it():
    kind, workers = workers_of(
        profile_of(
            process(4, role="actor", started_ns=9, last_ns=9),
            process(3, role="actor", started_ns=8, last_ns=9),
            process(2, role="learner", started_ns=1, last_ns=9),
        )
    )
    assert kind == "processes"
    assert [(worker.name, set(worker.threads)) for worker in workers] == [
        ("learner", {"2-9/0"}),
        ("actor 0", {"3-9/0"}),
        ("actor 1", {"4-9/0"}),
    ]


def test_a_process_has_the_name_of_its_main_thread_and_all_its_threads():
    main = Thread(id="5-9/1", role="learner", is_main=True)
    helper = Thread(id="5-9/0", role="loader", thread_name="loader")
    kind, workers = workers_of(profile_of(main, helper, process(6, role="actor")))
    assert kind == "processes"
    assert {worker.name: set(worker.threads) for worker in workers} == {
        "actor": {"6-9/0"},
        "learner": {"5-9/0", "5-9/1"},
    }


def test_a_single_process_has_a_column_per_thread():
    main = Thread(id="5-9/0", role="main", is_main=True)
    assert titles(main, Thread(id="5-9/1", role="camera")) == ("threads", ["main", "camera"])


def test_a_single_thread_needs_no_column():
    assert titles(process(1)) == ("", [])
    assert titles() == ("", [])


def test_names_are_safe_to_show_and_never_empty():
    assert titles(process(1, role="\x1b[31m"), process(2)) == ("processes", ["\\x1b[31m", "process"])


def test_time_is_that_of_all_its_threads():
    profile = scenes.trainer()[-1].profile
    _, workers = workers_of(profile)
    act = profile.root.at("act")
    assert sum(worker.total_ns(act) for worker in workers) == act.total_ns
    assert [worker.total_ns(act) > 0 for worker in workers] == [False, True, True, True]
