"""Unused gradients on optimizers that are made up: whatever order passes, steps and clearing come in."""

from __future__ import annotations

from itertools import count
from types import ModuleType

import pytest

import ticktree
from ticktree.analysis.rules.machine import COMPILED_GAUGE
from ticktree.analysis.rules.torch import UNUSED_GAUGE, UNUSED_SECTION, UNUSED_TIME_GAUGE
from ticktree.instruments import torch
from ticktree.instruments.torch import flops, gradients
from ticktree.instruments.torch.gradients import FIRST_CALLS, Gradients
from ticktree.recorder import Flag, Layer, OutermostFunction, SectionsByObject

ADDRESSES = count(1)


class Gradient:
    def __init__(self):
        self._version = 0
        self._address = next(ADDRESSES)

    def data_ptr(self):
        return self._address


class Parameter:
    def __init__(self):
        self.grad = None

    def numel(self):
        return 100

    def write(self):
        """What a backward pass does to it."""
        if self.grad is None:
            self.grad = Gradient()
        else:
            self.grad._version += 1


class Optimizer:
    def __init__(self, parameters):
        self.param_groups = [{"params": [Parameter() for _ in range(parameters)]}]

    @property
    def parameters(self):
        return self.param_groups[0]["params"]


class Training:
    """Networks with an optimizer each, and the three things a program does with them."""

    def __init__(self):
        self.recorder = ticktree.Recorder()
        self.recorder.enable()
        self.watching = Gradients(self.recorder)
        self.compiler = ModuleType("compiler")
        self.is_compiling = Flag(self.compiler, "is_compiling")
        self.cleared = []
        self._backward = self.watching.make_backward(self._write, self.is_compiling)
        self._zero_grad = self._method(self._clear, self.watching.note_clear)
        self._step = self._method(
            lambda optimizer, closure=None: closure and closure(),
            self.watching.note_use,
            self.watching.stepping,
        )

    def _method(self, function, resolve, layer=None):
        """A method of optimizers, wrapped as theirs are."""
        section = self.recorder.timed_section("optimizer", ("", 0, ""))

        def get_section(optimizer):
            self.watching.register(optimizer)
            return section

        redirection = self.watching.make_redirection(resolve, get_section)
        layer, choice = layer or Layer(of_each=True), SectionsByObject(get_section)
        return OutermostFunction(
            function, section, layer, choice=choice, unless=self.is_compiling, redirection=redirection
        )

    def _write(self, *optimizers):
        for optimizer in optimizers:
            for parameter in optimizer.parameters:
                parameter.write()
        return optimizers

    def _clear(self, optimizer, set_to_none=True):
        self.cleared.append(set_to_none)
        for parameter in optimizer.parameters:
            parameter.grad = None

    def descend(self, optimizer, *through, step=True):
        """One step of `optimizer`, whose loss goes through the networks of others."""
        self._zero_grad(optimizer)
        assert self._backward(optimizer, *through) == (optimizer, *through)
        if step:
            self.step(optimizer)

    def learn(self, rounds, actor, critic, *through):
        """Both descend in turn, the actor by a loss that goes through the networks of others."""
        for _ in range(rounds):
            self.descend(critic)
            self.descend(actor, *through)

    def step(self, optimizer, closure=None):
        self._step(optimizer, closure)

    def profile(self):
        profile = self.recorder.snapshot()
        profile.check()
        return profile

    def seen(self):
        """In how many passes unused gradients were known of, and what part of all was unused."""
        profile = self.profile()
        node = profile.root.children.get(gradients.SECTION)
        shares = [gauge.last for name, gauge in profile.gauges.items() if name.startswith(gradients.GAUGE)]
        return (node.count if node else 0), (shares[0] if shares else None)


@pytest.fixture(autouse=True)
def forgotten():
    """Those that are made here are let go of, as uninstalling does: there are 64 layers in a process."""
    yield
    flops.remove_listeners()


@pytest.fixture
def training():
    training = Training()
    yield training
    training.recorder.disable()


def test_a_pass_through_networks_that_clear_what_it_wrote_gets_a_section_of_its_own(training):
    actor, critic = Optimizer(2), Optimizer(6)
    training.learn(20, actor, critic, critic)
    calls, unused = training.seen()
    assert 14 <= calls <= 17  # the first ones are needed to know
    assert unused == pytest.approx(0.75, abs=0.02)


def test_of_two_networks_with_one_optimizer_only_that_which_a_pass_reaches_counts(training):
    """TD3: the actor learns through the first of two critics that are updated together."""
    actor, first, second, both = Optimizer(4), Optimizer(4), Optimizer(4), Optimizer(0)
    both.param_groups = [{"params": first.parameters + second.parameters}]
    for _ in range(20):
        training.descend(both)
        training._zero_grad(actor)
        training._backward(actor, first)
        training.step(actor)
    assert training.seen()[1] == pytest.approx(0.5, abs=0.02)


def test_what_a_pass_begins_to_reach_later_counts(training):
    actor, critic = Optimizer(4), Optimizer(4)
    for rounds, through in ((10, ()), (40 * FIRST_CALLS, (critic,))):
        for _ in range(rounds):
            training.descend(critic)
            training.descend(actor, *through)
    assert 0.4 < training.seen()[1] <= 0.5


def test_the_row_of_such_a_pass_says_where_it_is_called(training):
    actor, critic = Optimizer(2), Optimizer(6)
    inside = {"__name__": "torch._tensor", "backward": training._backward}
    exec(compile("def of_tensor(*through): return backward(*through)", "_tensor.py", "exec"), inside)
    training._backward = inside["of_tensor"]  # what `Tensor.backward` is to `torch.autograd.backward`
    training.learn(20, actor, critic, critic)
    site = training.profile().root.children[gradients.SECTION].call_site
    assert (site.file, site.function) == (__file__, "Training.descend")


def test_only_that_pass_and_not_the_critics_own(training):
    actor, critic = Optimizer(2), Optimizer(6)
    for _ in range(20):
        with training.recorder.section("critic"):
            training.descend(critic)
        with training.recorder.section("actor"):
            training.descend(actor, critic)
    root = training.profile().root
    assert gradients.SECTION in root.at("actor").children
    assert gradients.SECTION not in root.at("critic").children


def test_gradients_that_are_used_are_nothing_to_speak_of(training):
    one, other = Optimizer(3), Optimizer(3)
    for _ in range(20):
        training.descend(one)
        training.descend(other)
    assert training.seen() == (0, None)


def test_what_lightning_clears_in_an_optimizers_stead_and_the_optimizer_steps_with_is_used(training):
    class LightningOptimizer(Optimizer):
        def __init__(self, optimizer):
            self._optimizer, self.param_groups = optimizer, optimizer.param_groups

    optimizer = Optimizer(3)
    around = LightningOptimizer(optimizer)
    for _ in range(20):
        training.descend(around, step=False)
        training.step(optimizer)
    assert training.seen() == (0, None)
    for _ in range(20):
        training.descend(around, step=False)
    assert training.seen()[0] > 0


def test_gradients_that_add_up_over_several_passes_are_used(training):
    optimizer = Optimizer(3)
    for _ in range(20):
        training._zero_grad(optimizer)
        for _ in range(4):
            training._backward(optimizer)
        training.step(optimizer)
    assert training.seen() == (0, None)


def test_one_loss_for_two_optimizers_that_both_step_is_used(training):
    one, other = Optimizer(3), Optimizer(3)
    for _ in range(20):
        training._zero_grad(one)
        training._zero_grad(other)
        training._backward(one, other)
        training.step(one)
        training.step(other)
    assert training.seen() == (0, None)


def test_what_one_optimizer_used_another_may_clear_that_has_the_same_parameters(training):
    slow, fast, critic = Optimizer(4), Optimizer(0), Optimizer(6)
    fast.param_groups = [{"params": slow.parameters[1:]}]
    for _ in range(20):
        training._zero_grad(critic)
        training._backward(slow, critic)
        training.step(slow)
        training._zero_grad(fast)
        training._zero_grad(slow)
        training.step(critic)
    assert training.seen() == (0, None)


def test_an_optimizer_without_a_hash_ends_the_watching_and_nothing_else(training):
    class Unhashable(Optimizer):
        __hash__ = None

    odd, actor = Unhashable(2), Optimizer(2)
    training.descend(odd)
    training.descend(actor)
    training.descend(odd)
    assert training.watching._has_failed


def test_what_a_steps_own_closure_writes_is_used_by_that_step(training):
    optimizer = Optimizer(3)

    def closure():
        training._zero_grad(optimizer)
        training._backward(optimizer)

    for _ in range(20):
        training.step(optimizer, closure)
    assert training.seen() == (0, None)


def test_a_step_left_out_now_and_then_is_no_habit(training):
    optimizer = Optimizer(3)
    for update in range(40):
        training.descend(optimizer, step=update % 5 != 0)
    assert training.seen() == (0, None)


def test_what_is_frozen_is_not_written(training):
    actor, critic = Optimizer(2), Optimizer(6)
    training.learn(20, actor, critic)
    assert training.seen() == (0, None)


def test_after_its_first_calls_a_place_is_looked_at_now_and_then_and_still_known(training):
    actor, critic = Optimizer(2), Optimizer(6)
    training.learn(4 * FIRST_CALLS, actor, critic, critic)
    calls, _ = training.seen()
    assert calls >= 4 * FIRST_CALLS - 6


def test_a_pass_known_to_be_wasteful_is_asked_where_it_is_no_oftener_than_others(training):
    actor, critic = Optimizer(2), Optimizer(6)
    training.learn(40 * FIRST_CALLS, actor, critic, critic)
    calls, _ = training.seen()
    asked = sum(site.calls for site in training.watching._sites.values())
    assert calls >= 40 * FIRST_CALLS - 6
    assert asked < 2 * FIRST_CALLS + 2 * 80 * FIRST_CALLS / gradients.CHECK_EVERY


def test_a_pass_that_wastes_no_longer_is_plain_again(training):
    actor, critic = Optimizer(2), Optimizer(6)
    for through, rounds in (((critic,), FIRST_CALLS), ((), 120 * FIRST_CALLS)):
        training.learn(rounds, actor, critic, *through)  # one place, whatever it goes through
    calls, _ = training.seen()
    assert FIRST_CALLS < calls < 100 * FIRST_CALLS


def test_arguments_pass_through(training):
    training._zero_grad(Optimizer(1), set_to_none=False)
    assert training.cleared == [False]


def test_what_is_being_compiled_sees_nothing_of_it(training):
    training.compiler.is_compiling = True
    actor, critic = Optimizer(2), Optimizer(6)
    training.learn(20, actor, critic, critic)
    assert len(training.watching._optimizers) == 0


def test_an_optimizer_of_another_kind_ends_the_watching_and_nothing_else(training):
    actor, critic = Optimizer(2), Optimizer(6)
    training.descend(actor, critic)
    critic.param_groups = None
    training.step(critic)
    assert training.watching._has_failed
    training.descend(actor)
    assert training.seen() == (0, None)


def test_a_pass_has_one_row_plain_until_it_is_known_to_be_wasteful(training):
    actor, critic = Optimizer(2), Optimizer(6)
    training.learn(20, actor, critic, critic)
    children = training.profile().root.children
    assert children[gradients.PLAIN].count + children[gradients.SECTION].count == 40
    assert children[gradients.PLAIN].children == children[gradients.SECTION].children == {}


def test_a_pass_inside_another_is_part_of_it(training):
    inner = training.watching.make_backward(lambda: 1)
    assert training.watching.make_backward(lambda: inner() + 1)() == 2
    node = training.profile().root.children[gradients.PLAIN]
    assert (node.count, node.children) == (1, {})


def test_an_error_of_the_pass_is_the_programs(training):
    def fails():
        raise RuntimeError("no graph")

    with pytest.raises(RuntimeError, match="no graph"):
        training.watching.make_backward(fails)()
    assert not training.watching._has_failed


def test_optimizers_without_parameters_have_no_gradients(training):
    nothing = Optimizer(0)
    for _ in range(5):
        training.descend(nothing)
    assert training.seen() == (0, None)
    assert not training.watching._has_failed


def test_an_optimizer_that_is_gone_is_forgotten(training):
    training.descend(Optimizer(2))
    assert len(training.watching._optimizers) == 0


def test_the_rules_look_for_what_is_recorded():
    assert (UNUSED_SECTION, UNUSED_GAUGE) == (gradients.SECTION, gradients.GAUGE)
    assert UNUSED_TIME_GAUGE == gradients.TIME_GAUGE
    assert COMPILED_GAUGE == torch.COMPILED_GAUGE
