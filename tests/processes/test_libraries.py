"""Worker processes of the libraries that learning programs use."""

from __future__ import annotations

import pytest

SLOW = pytest.mark.timeout(900)
# A server that forks is told of runs as what it forks is: one library in it will do, but when there is time.
METHODS = ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.slow)]


@SLOW
@pytest.mark.parametrize("method", METHODS)
def test_an_async_vector_envs_workers_are_children_of_the_section_that_created_it(run_session, calls, method):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: its AsyncVectorEnv is not tested")
    profile, _ = run_session(
        f"""
        import gymnasium

        class Env(gymnasium.Env):
            observation_space = action_space = gymnasium.spaces.Discrete(2)
            def reset(self, seed=None, options=None):
                with ticktree.section("reset"):
                    return 0, {{}}
            def step(self, action):
                with ticktree.section("step"):
                    return 0, 0.0, False, False, {{}}

        if __name__ == "__main__":
            ticktree.enable()
            with ticktree.section("make"):
                envs = gymnasium.vector.AsyncVectorEnv([Env] * 3, context={method!r})
            envs.reset()
            for _ in range(4):
                with ticktree.section("env step"):
                    envs.step(envs.action_space.sample())
            envs.close()
        """
    )
    call_counts = calls(profile)
    assert call_counts["make/reset"] == 3
    assert call_counts["make/step"] == 12
    assert call_counts["env step"] == 4


@pytest.mark.slow
@SLOW
@pytest.mark.parametrize("method", METHODS)
def test_a_data_loaders_workers_are_children_of_the_section_that_iterates(run_session, calls, method):
    pytest.importorskip("torch", reason="torch is not installed: its data loaders are not tested")
    profile, _ = run_session(
        f"""
        import torch.utils.data

        class Data(torch.utils.data.Dataset):
            def __len__(self):
                return 12
            def __getitem__(self, at):
                with ticktree.section("item"):
                    return at

        if __name__ == "__main__":
            ticktree.enable()
            loader = torch.utils.data.DataLoader(
                Data(), batch_size=3, num_workers=2, multiprocessing_context={method!r}
            )
            with ticktree.section("epoch"):
                assert sum(len(batch) for batch in loader) == 12
        """
    )
    assert calls(profile) == {"epoch": 1, "epoch/item": 12}
    assert profile.losses == {}


@pytest.mark.slow
@SLOW
def test_processes_of_torch_multiprocessing_are_children_of_the_section_that_spawned_them(run_session, calls):
    pytest.importorskip("torch", reason="torch is not installed: torch.multiprocessing is not tested")
    profile, _ = run_session(
        """
        import torch.multiprocessing

        def train(rank, calls):
            for _ in range(calls):
                with ticktree.section("train"):
                    pass

        if __name__ == "__main__":
            ticktree.enable()
            with ticktree.section("spawn"):
                torch.multiprocessing.spawn(train, args=(4,), nprocs=2)
            with ticktree.section("process"):
                process = torch.multiprocessing.get_context("spawn").Process(target=train, args=(0, 1))
                process.start()
                process.join()
        """
    )
    assert calls(profile) == {"spawn": 1, "spawn/train": 8, "process": 1, "process/train": 1}


@SLOW
def test_lokys_workers_are_children_of_the_section_that_needed_them(run_session, calls):
    pytest.importorskip("joblib", reason="joblib is not installed: loky is not tested")
    profile, _ = run_session(
        """
        import joblib

        def job(number):
            import ticktree
            with ticktree.section("job"):
                return number

        if __name__ == "__main__":
            ticktree.enable()
            with ticktree.section("parallel"):
                done = joblib.Parallel(n_jobs=2)(joblib.delayed(job)(number) for number in range(8))
            assert done == list(range(8))
            from joblib.externals.loky import get_reusable_executor
            get_reusable_executor().shutdown(wait=True)
        """
    )
    assert calls(profile) == {"parallel": 1, "parallel/job": 8}
    assert profile.losses == {}


@SLOW
def test_joblib_with_multiprocessing_is_a_child_of_the_section_that_needed_it(run_session, calls):
    pytest.importorskip("joblib", reason="joblib is not installed: its processes are not tested")
    profile, _ = run_session(
        """
        import joblib

        def job(number):
            with ticktree.section("job"):
                return number

        if __name__ == "__main__":
            ticktree.enable()
            with ticktree.section("parallel"):
                parallel = joblib.Parallel(n_jobs=2, backend="multiprocessing")
                assert parallel(joblib.delayed(job)(number) for number in range(8)) == list(range(8))
        """
    )
    assert calls(profile) == {"parallel": 1, "parallel/job": 8}
