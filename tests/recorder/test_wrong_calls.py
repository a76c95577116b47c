"""Wrong calls raise at once, in one line that names what was expected, whether anything is recorded or not."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy
import pytest


class Unprintable:
    __hash__ = None

    def __repr__(self):
        raise ValueError


def error_of(call, *args, **options):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return type(caught.value), message


@pytest.fixture(params=["recording", "off"])
def any_recorder(request, recorder):
    if request.param == "off":
        recorder.disable()
    return recorder


@pytest.mark.parametrize(
    "name", [None, 3, b"x", ("a", 1), [1], Unprintable()], ids=lambda name: type(name).__name__
)
def test_a_name_is_a_str(any_recorder, name):
    calls = [
        (any_recorder.section, "a section's"),
        (lambda name: any_recorder.section(name, wait=True), "a section's"),
        (any_recorder.stage, "a section's"),
        (any_recorder.tick, "a section's"),
        (any_recorder.loop, "a loop's"),
        (any_recorder.role, "a role's"),
        (any_recorder.wakes, "a signal's"),
        (any_recorder.woken_by, "a signal's"),
        (lambda name: any_recorder.gauge(name, 1), "a gauge's"),
        (lambda name: any_recorder.record_duration(name, 1), "a duration's"),
    ]
    for call, owner in calls:
        kind, message = error_of(call, name)
        assert kind is TypeError
        assert message.startswith(f"{owner} name must be a str, not ")


def test_a_loop_of_an_iterable_alone_tells_the_right_call(any_recorder):
    kind, message = error_of(any_recorder.loop, range(1000))
    assert kind is TypeError
    assert message == 'a loop\'s name must be a str, not range(0, 1000): write loop("train", range(0, 1000))'
    assert "..." in error_of(any_recorder.loop, list(range(1000)))[1]


@pytest.mark.parametrize(
    ("hz", "kind"),
    [("50", TypeError), (b"50", TypeError), ([], TypeError), (True, TypeError)]
    + [(hz, ValueError) for hz in (0, -1, float("nan"), float("inf"), numpy.float64(-2))],
)
def test_a_rate_is_a_positive_number(any_recorder, hz, kind):
    for call in (any_recorder.loop, any_recorder.tick):
        error, message = error_of(call, "loop", hz=hz)
        assert error is kind
        assert message.startswith("hz must be a ")


@pytest.mark.parametrize(("warmup", "kind"), [(-1, ValueError), (1.5, TypeError), ("3", TypeError)])
def test_a_warmup_is_a_number_of_ticks(any_recorder, warmup, kind):
    for call in (any_recorder.loop, any_recorder.tick):
        error, message = error_of(call, "loop", warmup=warmup)
        assert error is kind
        assert message.startswith("warmup must be ")
        assert message.endswith(f"not {warmup!r}")


@pytest.mark.parametrize("device", ["tpu", "", "cuda:first", "gpu", 3])
def test_a_device_is_one_that_can_be_measured(any_recorder, device):
    for call in (any_recorder.section, lambda name, **options: any_recorder.timed(name, **options)(len)):
        kind, message = error_of(call, "forward", device=device)
        assert kind is ValueError
        assert message.startswith("device must be 'cuda', 'mps', 'cpu', 'jax' or 'auto'")


@pytest.mark.parametrize("value", ["3", b"3", None, [], 1j, Ellipsis], ids=repr)
def test_a_value_is_a_number(any_recorder, value):
    section = any_recorder.section("copy")
    calls = [
        lambda: any_recorder.gauge("queue", value),
        lambda: any_recorder.record_duration("camera", value),
        lambda: any_recorder.record_duration("camera", 1, items=value),
        lambda: section.work(bytes=value),
        lambda: any_recorder.tick("loop").origin(value),
    ]
    for call in calls:
        kind, message = error_of(call)
        assert kind is TypeError
        assert "number" in message


def test_a_class_is_not_decorated(any_recorder):
    class Model:
        pass

    for decorate in (any_recorder.timed, any_recorder.timed("model"), any_recorder.section("model")):
        kind, message = error_of(decorate, Model)
        assert kind is TypeError
        assert "Model is a class: decorate its methods, such as " in message
        assert message.endswith("Model.__init__")


def test_timed_takes_one_name_and_it_is_a_str(any_recorder):
    assert error_of(any_recorder.timed, name=3) == (TypeError, "timed(name=...) must be a str, not 3")
    assert error_of(any_recorder.timed, "a", name="b") == (TypeError, "timed() got two names: 'a' and 'b'")


def test_kinds_of_str_and_of_number_are_taken(recorder):
    recorder.section(numpy.str_("sample"))
    recorder.gauge("queue", numpy.float32(2))
    recorder.record_duration("camera", numpy.int64(1), items=numpy.int32(2))
    for _ in recorder.loop("control", range(9), numpy.float64(30), warmup=numpy.int64(3)):
        pass
    assert recorder.snapshot().loops["control"].warmup_ticks == 3
    for _ in recorder.loop("train", range(3), numpy.int64(10), warmup=2**70):
        pass
    assert recorder.snapshot().loops["train"].ticks == 3


PROGRAM = """
import ticktree
wrong = [
    lambda: ticktree.loop(range(1000)), lambda: ticktree.section(None), lambda: ticktree.gauge("x", "3"),
    lambda: ticktree.timed(type("Model", (), {})), lambda: ticktree.timed(device="tpu")(lambda: 0),
    lambda: ticktree.section("x", device="tpu"), lambda: ticktree.loop("x", hz="50"),
]
for call in wrong:
    try:
        call()
        print("accepted")
    except (TypeError, ValueError):
        print("refused")
"""


def test_wrong_calls_are_refused_where_ticktree_is_off_for_good():
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TICKTREE_OFF": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == ["refused"] * 7
