"""gymnasium: the outermost env's calls, steps as ticks, vectors, each wrapper's share; nothing changed by it."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading

import pytest

import ticktree

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

from ticktree.instruments.gymnasium import INSTRUMENT, WRAPPERS  # noqa: E402

METHODS = ("reset", "step", "render", "close")
BARE = {
    (owner, name): vars(owner)[name]
    for owner in (
        gymnasium.Env,
        gymnasium.Wrapper,
        gymnasium.vector.SyncVectorEnv,
        gymnasium.wrappers.TimeLimit,
    )
    for name in METHODS
    if name in vars(owner)
}


class Counter(gymnasium.Env):
    """Takes a millisecond a step."""

    observation_space = gymnasium.spaces.Box(0, 1000, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, recorder=None, fails=False):
        self.recorder, self.fails = recorder, fails

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        if self.fails:
            raise KeyError("no step")
        self.count += 1
        if self.recorder is not None:
            self.recorder.advance(1_000_000)
        return np.full(1, self.count, np.float32), 1.0, False, False, {}

    def render(self):
        return "drawn"


class Slow(gymnasium.Wrapper):
    """Takes a millisecond of its own before each step."""

    def step(self, action):
        self.unwrapped.recorder.advance(1_000_000)
        return super().step(action)


class Twice(gymnasium.Wrapper):
    """Two steps of what it wraps, and an image of it."""

    def step(self, action):
        self.env.step(action)
        self.env.render()
        return self.env.step(action)


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder(virtual_clock=True)
    INSTRUMENT.install(recorder)
    yield recorder
    INSTRUMENT.uninstall()
    recorder.disable()


@pytest.fixture
def shares():
    recorder = ticktree.Recorder(virtual_clock=True)
    WRAPPERS.install(recorder)
    INSTRUMENT.install(recorder)
    yield recorder
    INSTRUMENT.uninstall()
    WRAPPERS.uninstall()
    recorder.disable()


def counts(recorder):
    profile = recorder.snapshot()
    profile.check()
    return {path: node.count for path, node in _paths(profile.root).items()}


def _paths(node, above=""):
    found = {}
    for key, child in node.children.items():
        path = f"{above}/{key}" if above else key
        found[path] = child
        found.update(_paths(child, path))
    return found


def test_of_an_env_in_its_wrappers_only_the_outermost_call_is_a_row(recorder):
    env = gymnasium.wrappers.TimeLimit(gymnasium.wrappers.OrderEnforcing(Slow(Counter(recorder))), 100)
    with recorder.section("collect"):
        env.reset(seed=1)
        for _ in range(3):
            env.step(0)
        env.close()
    assert counts(recorder) == {
        "collect": 1,
        "collect/env.reset": 1,
        "collect/env.step": 3,
        "collect/env.close": 1,
    }
    assert recorder.snapshot().root.at("collect/env.step").total_ns == 6_000_000


def test_what_a_wrapper_does_beside_stepping_is_below_the_step_once(recorder):
    env = Twice(Counter(recorder))
    with recorder.section("collect"):
        env.reset()
        env.step(0)
        assert env.render() == "drawn"
    assert counts(recorder) == {
        "collect": 1,
        "collect/env.reset": 1,
        "collect/env.step": 1,
        "collect/env.step/env.render": 1,
        "collect/env.render": 1,
    }


def test_envs_of_gymnasium_make_and_classes_defined_later_are_wrapped(recorder):
    class Later(Counter):
        def step(self, action):
            return super().step(action)

    gymnasium.register("Later-v0", entry_point=lambda: Later(recorder), max_episode_steps=10)
    try:
        env = gymnasium.make("Later-v0")
    finally:
        del gymnasium.registry["Later-v0"]
    with recorder.section("collect"):
        env.reset()
        env.step(0)
    assert counts(recorder) == {"collect": 1, "collect/env.reset": 1, "collect/env.step": 1}


def test_each_thread_has_its_own_outermost_call(recorder):
    inside, stepped = threading.Event(), threading.Event()

    class Waiting(Counter):
        def step(self, action):
            inside.set()
            stepped.wait()
            return super().step(action)

    slow, quick = Waiting(), Counter(recorder)
    slow.reset()
    quick.reset()

    def step():
        with recorder.section("helper"):
            slow.step(0)

    thread = threading.Thread(target=step)
    thread.start()
    inside.wait()
    with recorder.section("main"):
        quick.step(0)
    stepped.set()
    thread.join()
    found = counts(recorder)
    assert found["main/env.step"] == found["helper/env.step"] == 1


def test_what_a_step_raises_is_raised_and_the_next_step_is_a_row_again(recorder):
    env = gymnasium.wrappers.TimeLimit(Counter(fails=True), 5)
    with recorder.section("collect"):
        env.reset()
        for _ in range(2):
            with pytest.raises(KeyError, match="no step"):
                env.step(0)
        with pytest.raises(TypeError):
            env.step()
    assert counts(recorder)["collect/env.step"] == 3


def test_steps_where_nothing_is_marked_are_ticks_from_one_beginning_to_the_next(recorder):
    env = Counter(recorder)
    env.reset()
    for _ in range(5):
        env.step(0)
        recorder.advance(3_000_000)
    env.close()
    recorder.advance(100_000_000)  # what comes after the last step is no step's
    profile = recorder.snapshot()
    profile.check()
    loop = profile.loops["env"]
    assert (loop.ticks, loop.incomplete) == (4, 1)
    assert loop.stats.min_ns == loop.stats.max_ns == 4_000_000
    assert counts(recorder) == {"env.reset": 1, "env": 4, "env/env.step": 5, "env.close": 1}


def test_another_env_steps_within_a_tick_until_the_first_is_closed_or_forgotten(recorder):
    env, other = Counter(recorder), Counter(recorder)
    env.reset()
    other.reset()
    for _ in range(3):
        env.step(0)
        other.step(0)
    assert counts(recorder)["env"] == 2
    env.close()
    other.step(0)
    other.step(0)
    assert counts(recorder)["env"] == 3
    del other
    third = Counter(recorder)
    third.reset()
    third.step(0)
    third.step(0)
    assert counts(recorder)["env"] == 5


def test_an_env_that_only_evaluates_first_does_not_have_the_training_in_one_tick(recorder):
    evaluation, training = Counter(recorder), Counter(recorder)
    evaluation.reset()
    training.reset()
    for _ in range(20):
        evaluation.step(0)
    for _ in range(500):
        training.step(0)
    loop = recorder.snapshot().loops["env"]
    assert loop.ticks == 19 + 399  # a hundred of its steps until the loop is the training's
    assert loop.incomplete == 1  # the tick that they were in
    assert loop.stats.max_ns == loop.stats.min_ns


def test_an_evaluation_between_two_steps_is_within_a_tick(recorder):
    training, evaluation = Counter(recorder), Counter(recorder)
    training.reset()
    evaluation.reset()
    for _ in range(5):
        training.step(0)
        for _ in range(90):
            evaluation.step(0)
    assert recorder.snapshot().loops["env"].ticks == 4


def test_there_are_no_ticks_inside_a_section_nor_in_a_program_that_marks_anything(recorder):
    env = Counter(recorder)
    env.reset()
    env.step(0)
    assert "env" in counts(recorder)
    with recorder.section("learn"):  # its first: what is the loop's own ends there
        env.step(0)
    env.step(0)
    found = counts(recorder)
    assert {path: found[path] for path in ("env", "env/env.step", "learn", "learn/env.step", "env.step")} == {
        "env": 0,
        "env/env.step": 1,
        "learn": 1,
        "learn/env.step": 1,
        "env.step": 1,
    }
    assert recorder.snapshot().loops["env"].incomplete == 1


@pytest.mark.parametrize("mark", ["timed", "loop", "stage", "tick"])
def test_whatever_a_program_marks_first_there_are_no_ticks(recorder, mark):
    env = Counter(recorder)
    env.reset()
    if mark == "timed":
        recorder.timed(len)
    elif mark == "loop":
        next(recorder.loop("train"))
    elif mark == "stage":
        recorder.stage("observe")
    else:
        recorder.tick("mine")
    env.step(0)
    env.step(0)
    assert "env" not in {path.rpartition("/")[2] for path in counts(recorder)}


def test_steps_in_a_section_of_an_instrument_are_no_ticks(recorder):
    section = recorder.timed_section("rollout", ("", 0, ""))  # as instruments make theirs
    env = Counter(recorder)
    env.reset()
    with section:
        env.step(0)
        env.step(0)
    env.step(0)
    found = counts(recorder)
    assert found["rollout/env.step"] == 2
    assert found["env/env.step"] == 1


def test_a_vector_of_envs_has_rows_of_its_own_and_those_in_this_process_are_below(recorder):
    envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.wrappers.TimeLimit(Counter(recorder), 9)] * 3)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    envs.reset(seed=1)
    for _ in range(4):
        envs.step(np.zeros(3, int))
    envs.close()
    found = counts(recorder)
    assert found.pop("envs.close") == 1
    assert found.pop("envs.close/env.close") == 3
    assert found == {
        "envs.reset": 1,
        "envs.reset/env.reset": 3,
        "env": 3,
        "env/envs.step": 4,
        "env/envs.step/env.step": 12,
    }


def test_each_wrapper_has_its_own_share_on_demand(shares):
    env = gymnasium.wrappers.TimeLimit(Slow(Counter(shares)), 100)
    with shares.section("collect"):
        env.reset()
        env.step(0)
        env.step(0)
    found = counts(shares)
    step = "collect/env.step/TimeLimit.step"
    assert {path: count for path, count in found.items() if "step" in path} == {
        "collect/env.step": 2,
        step: 2,
        f"{step}/Slow.step": 2,
        f"{step}/Slow.step/Counter.step": 2,
    }
    slow = shares.snapshot().root.at(f"{step}/Slow.step")
    assert slow.self_ns == 2_000_000
    assert slow.total_ns == 4_000_000
    assert found["collect/env.reset/TimeLimit.reset/Slow.reset/Counter.reset"] == 1


def test_shares_are_taken_back_alone_and_what_inherits_is_one_row(shares):
    class Heir(Slow):
        def step(self, action):
            return super().step(action)

    env = Heir(Counter(shares))
    with shares.section("before"):
        env.reset()
        env.step(0)
    WRAPPERS.uninstall()
    with shares.section("after"):
        env.step(0)
    found = counts(shares)
    assert found["before/env.step/Heir.step/Counter.step"] == 1
    assert {path for path in found if path.startswith("after")} == {"after", "after/env.step"}


def test_all_of_it_is_put_back_and_classes_of_the_program_too(recorder):
    class Mine(Counter):
        def step(self, action):
            return super().step(action)

    assert Mine.step is not Mine.step.__wrapped__
    bare = Mine.step.__wrapped__
    INSTRUMENT.uninstall()
    assert {(owner, name): vars(owner)[name] for owner, name in BARE} == BARE
    assert Mine.step is bare
    assert "__init_subclass__" not in vars(gymnasium.Env)


def test_names_signatures_and_docstrings_stay(recorder):
    for (owner, name), before in BARE.items():
        now = vars(owner)[name]
        assert now is not before
        assert inspect.signature(now) == inspect.signature(before)
        assert (now.__name__, now.__qualname__, now.__doc__, now.__module__) == (
            before.__name__,
            before.__qualname__,
            before.__doc__,
            before.__module__,
        )


def test_a_class_keeps_its_own_way_of_being_inherited(recorder):
    seen = []

    class Base(gymnasium.Env):
        def __init_subclass__(cls, tag="", **kwargs):
            super().__init_subclass__(**kwargs)
            seen.append((cls.__name__, tag))

    class Made(Base, tag="a"):
        def step(self, action):
            return action

    assert seen == [("Made", "a")]
    with recorder.section("here"):
        assert Made().step(3) == 3
    assert counts(recorder)["here/env.step"] == 1


@pytest.mark.parametrize("which", ["recorder", "shares"])
def test_envs_and_their_classes_can_be_copied_and_sent_to_other_processes(request, which):
    request.getfixturevalue(which)
    cloudpickle = pytest.importorskip("cloudpickle")

    class Local(Counter):
        def step(self, action):
            return super().step(action)

    env = copy.deepcopy(Local())
    env.reset()
    assert env.step(0)[0] == 1
    sent = pickle.loads(cloudpickle.dumps(Local))
    # What arrives is the class without ours: who records there wraps it there.
    assert type(vars(sent)["step"]).__name__ in ("function", "OutermostFunction")
    other = sent()
    other.reset()
    assert other.step(0)[0] == 1
    step = pickle.loads(pickle.dumps(gymnasium.make("CartPole-v1").unwrapped.step))
    assert step.__name__ == "step"
    assert pickle.loads(pickle.dumps(gymnasium.Wrapper.step)) is gymnasium.Wrapper.step


def test_forgotten_classes_are_not_kept(recorder):
    import gc
    import weakref

    def make():
        class Gone(Counter):
            def step(self, action):
                return super().step(action)

        return weakref.ref(Gone)

    gone = make()
    gc.collect()
    assert gone() is None
