"""JAX: what is handed over, when it is done, what is compiled and why again. With arrays made up, and with JAX itself.

What needs JAX runs where it is installed: `make test-libraries` has a venv with it.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import ticktree
from support.findings import findings
from ticktree.analysis.rules.torch import PHASES, RECOMPILED_GAUGE, RecompilationRule
from ticktree.analysis.rules.workers import EXECUTOR_ROLES
from ticktree.instruments import jax as instrument
from ticktree.instruments.jax import CALLBACKS_ROLE

MS = 1_000_000
with_jax = pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")


class Array:
    """A result that is there when it is said to be."""

    is_there = False

    def is_ready(self):
        if self.is_there is None:
            raise RuntimeError("Array has been deleted")
        return self.is_there


class Function:
    skip_count = 0


@pytest.fixture
def thread(monkeypatch):
    """What a thread has handed over, with a clock that is set by hand."""
    recorder = ticktree.Recorder(virtual_clock=True)
    made = instrument._Thread(recorder)
    made.recorder = recorder
    made.now_ns = 0
    monkeypatch.setattr(instrument.time, "perf_counter_ns", lambda: made.now_ns)
    with recorder.section("jit update"):
        made.at = recorder.place()
    yield made
    recorder.disable()


def hand_over(thread, at_ns, function=Function):
    array = Array()
    thread.now_ns = at_ns
    thread.book_done()
    thread.add(instrument._Execution(function, thread.at, lambda: array, frozenset({id(array)}), at_ns))
    return array


def check(thread, at_ns):
    thread.now_ns = at_ns
    thread.book_done()


def executions(thread):
    """How many were timed, and what they took."""
    node = thread.recorder.snapshot().root.at("jit update").children.get("execution@device")
    return (node.count, node.total_ns) if node is not None else (0, 0)


def test_the_names_that_the_rule_looks_for_are_those_of_the_instrument():
    assert tuple(f"{phase} " for phase in instrument.PHASES.values()) == PHASES
    assert instrument.RECOMPILED_GAUGE == RECOMPILED_GAUGE


def test_an_execution_lasts_until_the_wait_for_it_ended(thread):
    array = hand_over(thread, 10 * MS)
    check(thread, 11 * MS)
    array.is_there = True
    thread.now_ns = 40 * MS
    thread.end_wait({id(array)})
    assert executions(thread) == (1, 30 * MS)


def test_one_whose_end_lies_between_two_looks_far_apart_is_not_timed(thread):
    array = hand_over(thread, 10 * MS)
    array.is_there = True
    check(thread, 40 * MS)
    assert executions(thread) == (0, 0)


def test_an_execution_begins_when_the_one_before_it_is_done(thread):
    first, second = hand_over(thread, 0), hand_over(thread, 1 * MS)
    first.is_there = True
    thread.now_ns = 20 * MS
    thread.end_wait({id(first)})
    second.is_there = True
    thread.now_ns = 50 * MS
    thread.end_wait({id(second)})
    assert executions(thread) == (2, 50 * MS)


def test_where_one_end_is_not_known_well_enough_several_are_timed_together(thread):
    """A program that runs ahead looks about once per execution: the mean of many is known well."""
    ahead = [hand_over(thread, number) for number in range(4)]
    for number in range(40):
        ahead[number].is_there = True
        ahead.append(hand_over(thread, (number + 1) * 10 * MS))
    count, total_ns = executions(thread)
    assert count >= 20
    assert total_ns / count == pytest.approx(10 * MS, rel=0.1)


def test_a_result_that_the_program_gave_away_leaves_no_time_and_is_counted(thread):
    array = hand_over(thread, 0)
    array.is_there = None
    check(thread, 5 * MS)
    assert executions(thread) == (0, 0)
    assert thread.recorder.snapshot().gauges[instrument.UNTIMED_GAUGE].last == 1


def test_after_a_short_execution_the_next_are_not_looked_at(thread):
    class Short:
        skip_count = 0

    array = hand_over(thread, 0, Short)
    array.is_there = True
    thread.now_ns = 50_000
    thread.end_wait({id(array)})
    assert Short.skip_count == instrument.SKIPPED_AFTER_SHORT


def recompiled(times, reason="shapes differ in argument 2 (x)", name="update"):
    recorder = ticktree.Recorder(virtual_clock=True)
    for number in range(20):
        recorder.tick("jax step")
        with recorder.section(f"jit {name}"):
            if number < times:
                for phase in PHASES:
                    with recorder.section(f"{phase}{name}"):
                        recorder.advance(100 * MS)
            recorder.advance(MS)
        if 0 < number < times and reason:
            recorder.gauge(f"{RECOMPILED_GAUGE}{name}: {reason}", number)
    recorder.disable()
    return findings(recorder.snapshot(), rules=[RecompilationRule()])


def test_a_function_that_is_compiled_again_and_again_is_named_with_the_reason():
    (one,) = recompiled(7)
    assert one.message == (
        "Have update compiled once: it was compiled 7 times (shapes differ in argument 2 (x)), "
        "which took 1.80 s after the first time"
    )
    assert "jit update/" in one.path
    assert one.saving.share == pytest.approx(1800 / 2120, rel=0.01)


def test_two_compilations_as_for_training_and_evaluation_are_no_finding():
    assert recompiled(2) == []


def test_without_a_reason_nothing_is_said():
    assert recompiled(7, reason="") == []


TRAINING = """
    import jax, jax.numpy as jnp, optax
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.relu(nn.Dense(32)(x)))

    net, optimizer = Net(), optax.adam(1e-3)

    def loss_of(params, x):
        return jnp.mean((net.apply(params, x) - 1) ** 2)

    @jax.jit
    def update(params, state, x):
        loss, gradients = jax.value_and_grad(loss_of)(params, x)
        changes, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, changes), state, loss

    def main():
        params = net.init(jax.random.PRNGKey(0), jnp.ones((1, 8)))
        state = optimizer.init(params)
        for number in range(30):
            params, state, loss = update(params, state, jnp.ones((16 + 4 * (number // 10), 8)))
        print(float(loss) < 10, update.__name__, update._cache_size())
        jax.block_until_ready(params)
"""


def rows(profile):
    found = {}
    for _, _, node in profile.root.walk():
        found[node.name] = found.get(node.name, 0) + node.count
    return found


@with_jax
def test_a_training_loop_has_its_steps_as_ticks_and_rows_for_calls_compilations_and_waits(recorded):
    profile = recorded(TRAINING, "--instrument", "jax")
    assert recorded.output == "True update 3\n"
    assert recorded.complaints == ""
    (loop,) = [loop for loop in profile.loops.values() if loop.path == "jax step"]
    assert loop.ticks + loop.warmup_ticks + loop.incomplete >= 28  # the first call is of no loop yet
    found = rows(profile)
    assert found["jit update"] == 30
    assert (found["trace update"], found["lower update"], found["compile update"]) == (3, 3, 3)
    assert found["copy to host"] == 1
    assert found["block_until_ready"] == 1
    (reason,) = [gauge for gauge in profile.gauges if gauge.startswith(RECOMPILED_GAUGE)]
    assert reason == f"{RECOMPILED_GAUGE}update: shapes differ in argument 3 (x)"
    assert profile.gauges[reason].last == 2


@with_jax
def test_why_a_function_is_compiled_again(recorded):
    profile = recorded(
        """
    import jax, jax.numpy as jnp

    def main():
        ones = jnp.ones(3)
        def compiled(name, *calls, **options):
            function = lambda a, b: a
            function.__name__ = name
            function = jax.jit(function, **options)
            for args, kwargs in calls:
                function(*args, **kwargs)
        compiled("number", ((1.0, ones), {}), ((ones, ones), {}))
        compiled("integers", ((ones, ones), {}), ((ones, ones.astype(int)), {}))
        compiled("structure", ((ones, {"x": ones}), {}), ((ones, {"x": ones, "y": ones}), {}))
        compiled("keyword", ((ones, ones), {}), ((ones,), {"b": ones}))
        compiled("static", ((ones, 1), {}), ((ones, 2), {}), static_argnums=1)
        compiled("named", ((ones,), {"b": 1}), ((ones,), {"b": 2}), static_argnames="b")
        compiled("once", ((ones, ones), {}), ((ones, ones), {}))
        for _ in range(2):
            jax.jit(lambda x: x + 1)(ones)
    """,
        "--instrument",
        "jax",
    )
    gauges = {
        name.removeprefix(RECOMPILED_GAUGE) for name in profile.gauges if name.startswith(RECOMPILED_GAUGE)
    }
    assert gauges == {
        "number: shapes differ in argument 1 (a)",
        "integers: types differ in argument 2 (b)",
        "structure: structures differ in argument 2 (b)",
        "keyword: other arguments are given",
        "static: values differ in argument 2 (b)",
        "named: values differ in argument b",
        "<lambda>: jax.jit is called again",
    }


@with_jax
def test_the_execution_has_a_row_of_its_own_below_what_handed_it_over(recorded):
    profile = recorded(
        """
    import jax, jax.numpy as jnp

    @jax.jit
    def work(x):
        for _ in range(8):
            x = jnp.tanh(x @ x)
        return x

    def main():
        x = jnp.ones((700, 700))
        for _ in range(6):
            work(x).block_until_ready()
    """,
        "--instrument",
        "jax",
    )
    step = profile.root.at("jax step/jit work")
    execution = step.children["execution@device"]
    waited = profile.root.at("jax step/block_until_ready")
    assert execution.count == 5
    assert waited.wait
    assert waited.total_ns <= execution.total_ns <= waited.total_ns + step.total_ns + 5 * 20 * MS


@with_jax
def test_a_scanned_training_loop_has_its_host_calls_below_the_call_that_made_them(recorded):
    """The shape of purejaxrl: all of the training is one call, and tells of itself by callbacks."""
    profile = recorded(
        """
    import jax, jax.numpy as jnp, threading
    threads = set()

    def make_train(updates):
        def train(weights):
            def update_step(weights, number):
                def report(number):
                    threads.add(threading.get_native_id())
                    print(int(number))
                jax.debug.callback(report, number)
                return jnp.tanh(weights @ weights), weights.mean()
            return jax.lax.scan(update_step, weights, jnp.arange(updates))
        return train

    def main():
        weights, means = jax.block_until_ready(jax.jit(make_train(20))(jnp.ones((50, 50))))
        jax.effects_barrier()
        print(means.shape, len(threads - {threading.get_native_id()}), sep="\\n")
    """,
        "--instrument",
        "jax",
    )
    *numbers, _, threads = recorded.output.splitlines()
    assert sorted(numbers, key=int) == [str(number) for number in range(20)]
    found = rows(profile)
    assert found["callback report"] == 20
    assert found["between callbacks report"] == 19
    roles = {thread.role for thread in profile.threads.values() if thread.role.startswith(CALLBACKS_ROLE)}
    assert len(roles) == int(threads)  # though each callback is a new thread to Python
    assert CALLBACKS_ROLE in EXECUTOR_ROLES


@with_jax
def test_what_jit_gives_is_used_as_before(recorded):
    recorded(
        """
    import copy, jax, jax.numpy as jnp
    from functools import partial

    class Model:
        scale = 3.0
        @partial(jax.jit, static_argnums=0)
        def scaled(self, x):
            "Scales."
            return x * self.scale

    @jax.jit
    def inner(x): return x * 2

    @jax.jit
    def outer(x): return inner(x) + 1

    @jax.jit
    def fails(x): raise ValueError("mine")

    def main():
        x = jnp.arange(3.0)
        print(Model().scaled(x).tolist(), Model.scaled.__doc__)
        print(outer(x).tolist(), jax.vmap(outer)(x).tolist(), jax.grad(lambda x: outer(x).sum())(x).tolist())
        print(isinstance(outer, jax.stages.Wrapped), outer.lower(x).compile()(x).tolist(), outer.eval_shape(x).shape)
        print(copy.copy(outer)(x).tolist(), jax.jit(outer)(x).tolist())
        try:
            fails(x)
        except ValueError as error:
            frames, trace = [], error.__traceback__
            while trace:
                frames.append(trace.tb_frame.f_code.co_filename)
                trace = trace.tb_next
            print(error, any("ticktree" in name and "instruments" in name for name in frames))
    """,
        "--instrument",
        "jax",
    )
    assert recorded.output.splitlines() == [
        "[0.0, 3.0, 6.0] Scales.",
        "[1.0, 3.0, 5.0] [1.0, 3.0, 5.0] [2.0, 2.0, 2.0]",
        "True [1.0, 3.0, 5.0] (3,)",
        "[1.0, 3.0, 5.0] [1.0, 3.0, 5.0]",
        "mine False",
    ]
    assert recorded.complaints == ""
