"""What part of a backward pass unused gradients take, on torch's own graphs and a clock that the nodes advance."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import pytest

from ticktree.instruments.torch import node_times
from ticktree.instruments.torch.node_times import NodeTimes, cpu_roots

torch = pytest.importorskip("torch")


class Clock:
    def __init__(self):
        self.now_ns = 0
        self.step_ns = 0  # by each reading

    def __call__(self):
        self.now_ns += self.step_ns
        return self.now_ns


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(node_times, "perf_counter_ns", clock)
    return clock


def layer(clock, ms):
    """Return a layer: its output is the sum of its input and its weight, its backward pass takes `ms`."""

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(context, value, weight):
            return value + weight

        @staticmethod
        def backward(context, gradient):
            clock.now_ns += ms * 1_000_000
            return gradient, gradient

    return Layer.apply


def weight():
    return torch.zeros(1, requires_grad=True)


def share_of(loss, unused):
    times = NodeTimes(cpu_roots(loss), {id(parameter) for parameter in unused})
    with times:
        loss.backward()
    return times.unused_share()


def test_where_the_gradient_goes_through_to_used_parameters_half_of_a_layer_is_unused(clock):
    actor, critic = weight(), weight()
    action = layer(clock, 10)(torch.zeros(1), actor)
    value = layer(clock, 30)(action, critic)
    assert share_of(value, [critic]) == pytest.approx(0.5 * 30 / 40)


def test_where_nothing_below_is_used_all_of_a_layer_is(clock):
    """The critic has an encoder of the image: no gradient has to pass through it."""
    actor, encoder, critic = weight(), weight(), weight()
    image = torch.zeros(1)
    features = layer(clock, 50)(image, encoder)
    action = layer(clock, 20)(image, actor)
    value = layer(clock, 30)(features + action, critic)
    assert share_of(value, [encoder, critic]) == pytest.approx((50 + 0.5 * 30) / 100)


def test_what_is_reached_twice_is_timed_once(clock):
    actor, critic = weight(), weight()
    action = layer(clock, 10)(torch.zeros(1), actor)
    first = layer(clock, 15)(action, critic)
    second = layer(clock, 15)(action, critic)
    assert share_of(torch.minimum(first, second), [critic]) == pytest.approx(0.5 * 30 / 40)


def test_a_pass_of_several_tensors_of_which_one_lies_below_another(clock):
    actor, critic = weight(), weight()
    action = layer(clock, 10)(torch.zeros(1), actor)
    value = layer(clock, 30)(action, critic)
    for tensors in ([action, value], [value, action]):
        times = NodeTimes(cpu_roots(tensors), {id(critic)})
        with times:
            torch.autograd.backward(tensors, retain_graph=True)
        assert times.unused_share() == pytest.approx(0.5 * 30 / 40)


def test_gradients_are_those_of_a_pass_that_is_not_timed(clock):
    clock.step_ns = 1
    network, data = torch.nn.Linear(3, 1), torch.ones(2, 3)
    network(data).sum().backward()
    plain = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    assert share_of(network(data).sum(), network.parameters()) > 0.5
    assert all(map(torch.equal, plain, (parameter.grad for parameter in network.parameters())))


@pytest.mark.slow
def test_a_graph_that_is_kept_has_no_hook_afterwards_and_is_freed(clock):
    loss = layer(clock, 10)(torch.zeros(1), weight())
    times = NodeTimes(cpu_roots(loss), ())
    with times:
        loss.backward(retain_graph=True)
    starts = len(times._starts)
    loss.backward()
    assert len(times._starts) == starts
    node = weakref.ref(loss.grad_fn)
    del loss
    gc.collect()
    assert node() is None


def test_an_error_of_the_pass_is_the_programs_and_leaves_no_hook():
    loss = torch.zeros(2, requires_grad=True) * 2
    times = NodeTimes(cpu_roots(loss), ())
    with pytest.raises(RuntimeError, match="scalar"), times:
        loss.backward()
    loss.sum().backward()
    assert times.unused_share() is None


def test_on_another_device_and_without_a_graph_nothing_is_timed():
    loss = weight() * 2
    assert cpu_roots([loss, SimpleNamespace(device=SimpleNamespace(type="cuda"), grad_fn=None)]) == []
    assert cpu_roots(torch.zeros(1)) == []


def test_a_pass_that_torch_compiles_is_not_timed():
    compiled_autograd = pytest.importorskip("torch._dynamo.compiled_autograd")
    loss = weight() * 2
    with compiled_autograd._enable(torch.compile(backend="eager")):
        assert cpu_roots(loss) == []
    assert len(cpu_roots(loss)) == 1


def test_a_graph_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(node_times, "MAX_NODES", 10)
    value = weight()
    for _ in range(20):
        value = value + 1
    with pytest.raises(OverflowError, match="more than 10 nodes"):
        NodeTimes(cpu_roots(value), ())
