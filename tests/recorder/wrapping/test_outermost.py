"""Wrapped functions: only the outermost call on a thread is recorded."""

from __future__ import annotations

import os
import signal
import weakref
from types import ModuleType

import pytest

import ticktree
from ticktree.recorder import (
    CallSites,
    Flag,
    IdleCalls,
    Layer,
    OutermostFunction,
    Redirection,
    SectionsByObject,
    is_inside,
)

NO_SITE = ("", 0, "")


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder(virtual_clock=True)
    yield recorder
    recorder.disable()


def paths(recorder):
    profile = recorder.snapshot()
    profile.check()
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_only_the_outermost_of_wrapped_calls_is_a_row(recorder):
    layer, section = Layer(), recorder.timed_section("call", NO_SITE)

    def inner(depth):
        with recorder.section("between"):
            return depth if depth == 3 else outer(depth + 1)

    outer = OutermostFunction(inner, section, layer)
    assert outer(0) == 3
    assert outer(3) == 3
    assert sum(count for path, count in paths(recorder).items() if path.endswith("call")) == 2


def test_calls_of_two_layers_are_nested_rows(recorder):
    one = OutermostFunction(lambda: other(), recorder.timed_section("one", NO_SITE), Layer())
    other = OutermostFunction(lambda: 5, recorder.timed_section("other", NO_SITE), Layer())
    assert one() == 5
    assert paths(recorder) == {"one": 1, "one/other": 1}


def test_freed_layers_can_be_reused(recorder):
    for _ in range(200):
        layer, section = Layer(), recorder.timed_section("call", NO_SITE)
        inner = OutermostFunction(int, section, layer)
        assert OutermostFunction(lambda inner=inner: inner("3"), section, layer)() == 3
    assert paths(recorder) == {"call": 200}


def test_before_is_called_once_and_its_errors_are_suppressed(recorder):
    seen = []

    def before(first):
        seen.append(first)
        raise ValueError("ours")

    layer, section = Layer(), recorder.timed_section("call", NO_SITE)
    inner = OutermostFunction(lambda first: first, section, layer, before)
    outer = OutermostFunction(inner, section, layer, before)
    assert outer("a") == "a"
    with pytest.raises(TypeError):
        outer()
    recorder.disable()
    assert outer("b") == "b"
    assert seen == ["a"]


@pytest.mark.parametrize("question", ["before", "sections"])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError, SystemExit])
def test_exceptions_of_signal_handlers_reach_the_program(recorder, question, raised):
    def handler(*_):
        raise raised

    def interrupted(*_):
        signal.raise_signal(signal.SIGUSR1)

    previous_handler = signal.signal(signal.SIGUSR1, handler)
    try:
        section, calls = recorder.timed_section("call", NO_SITE), []
        layer = Layer()
        knob = {"before": interrupted} if question == "before" else {"choice": SectionsByObject(interrupted)}
        call = OutermostFunction(calls.append, section, layer, **knob)
        with pytest.raises(raised):
            call("a")
        assert (calls, layer.within, is_inside(recorder)) == ([], None, False)
        OutermostFunction(calls.append, section, layer)("b")
        assert calls == ["b"]
    finally:
        signal.signal(signal.SIGUSR1, previous_handler)
    assert paths(recorder) == {"call": 1}


def test_an_exception_leaves_the_layer(recorder):
    call = OutermostFunction(int, recorder.timed_section("call", NO_SITE), Layer())
    for _ in range(2):
        with pytest.raises(ValueError):
            call("x")
    assert paths(recorder) == {"call": 2}


def test_a_child_forked_inside_a_call_is_outside_of_it(recorder):
    layer, section = Layer(), recorder.timed_section("call", NO_SITE)
    inner = OutermostFunction(lambda: 1, section, layer)

    def fork():
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        status = 1
        try:
            inner()
            status = (
                0
                if sum(count for path, count in paths(recorder).items() if path.endswith("call")) == 1
                else 2
            )
        finally:
            os._exit(status)

    assert OutermostFunction(fork, section, layer)() == 0


class Thing:
    """An object with methods."""


def test_the_outermost_call_on_every_object_is_a_row(recorder):
    layer, section = Layer(of_each=True), recorder.timed_section("call", NO_SITE)

    def inner(*things):
        return call(*things) if things else None

    call = OutermostFunction(
        lambda current, *rest: objects.append(layer.within is current) or inner(*rest), section, layer
    )
    first, other, objects = Thing(), Thing(), []
    call(first, first, other, other, first, first)
    assert objects == [True] * 6
    assert layer.within is None
    assert paths(recorder) == {"call": 1, "call/call": 1, "call/call/call": 1}


def test_an_objects_section_is_requested_once_and_the_object_can_be_freed(recorder):
    requests = []

    def sections(thing):
        requests.append(id(thing))
        return recorder.timed_section(thing.name, NO_SITE)

    default = recorder.timed_section("nobody's", NO_SITE)
    call = OutermostFunction(lambda *_: 5, default, Layer(), choice=SectionsByObject(sections))
    first, other = Thing(), Thing()
    first.name, other.name = "one", "other"
    for _ in range(5):
        assert call(first) == call(other) == call() == 5
    assert len(requests) == 2
    reference = weakref.ref(first)
    del first
    assert reference() is None
    for number in range(40):
        thing = Thing()
        thing.name = f"new {number % 2}"
        call(thing)
    assert paths(recorder) == {"one": 5, "other": 5, "nobody's": 5, "new 0": 20, "new 1": 20}


def test_sections_of_a_models_parts_are_requested_once_unless_there_are_very_many(recorder):
    requests, section = [], recorder.timed_section("part", NO_SITE)
    call = OutermostFunction(
        lambda _: 5,
        section,
        Layer(),
        choice=SectionsByObject(lambda thing: requests.append(thing) or section),
    )
    parts = [Thing() for _ in range(256)]
    for _ in range(50):
        assert {call(part) for part in parts} == {5}
    assert requests == parts

    parts += [Thing() for _ in range(144)]
    requests.clear()
    for _ in range(20):
        assert {call(part) for part in parts} == {5}
    assert len(requests) == 20 * 144, "what is cached stays, whatever else is called"


def test_freed_objects_leave_their_slots_in_the_cache(recorder):
    requests, section = [], recorder.timed_section("part", NO_SITE)
    call = OutermostFunction(
        lambda _: 5, section, Layer(), choice=SectionsByObject(lambda thing: requests.append(1) or section)
    )
    parts = [Thing() for _ in range(256)]
    for part in parts:
        call(part)
    later_parts = [
        Thing() for _ in range(256)
    ]  # made while the others are there: none is at the address of another
    parts.clear()
    for _ in range(100):
        for part in later_parts:
            call(part)
    assert len(requests) < 256 + 4096 + 2 * 256
    assert paths(recorder) == {"part": 256 + 100 * 256}


def test_a_failing_choice_leaves_the_functions_own_section(recorder):
    default = recorder.timed_section("own", NO_SITE)
    for sections in (lambda _: 5, lambda _: 1 / 0, lambda: None):
        assert OutermostFunction(len, default, Layer(), choice=SectionsByObject(sections))("abc") == 3
    wrapper = OutermostFunction(abs, default, Layer(), choice=SectionsByObject(lambda _: default))
    assert wrapper(-3) == 3  # numbers have no weak references
    assert paths(recorder) == {"own": 4}


def test_an_object_without_a_section_has_no_row_but_its_parts_have(recorder):
    default = recorder.timed_section("own", NO_SITE)
    layer, choice = Layer(), SectionsByObject(lambda group: None if isinstance(group, Group) else default)
    call = OutermostFunction(lambda group: [call(part) for part in group], default, layer, choice=choice)
    call(Group([Group([Group(), frozenset()]), frozenset()]))
    assert paths(recorder) == {"own": 2}


class Group(list):
    """A list of parts, which is not a part itself."""


def test_calls_that_are_known_to_do_nothing_are_not_recorded(recorder):
    blockers = []
    idle = IdleCalls((Thing,), ("place", "shape"), (str, int), lambda: blockers)
    objects = []
    redirection = Redirection()
    redirection.way = lambda function, *args, **kwargs: (
        objects.append((args, kwargs)) or function(*args, **kwargs)
    )

    def move(thing, *args, **kwargs):
        return thing

    call = OutermostFunction(
        move, recorder.timed_section("own", NO_SITE), Layer(), choice=idle, redirection=redirection
    )
    thing, other = Thing(), Thing()
    thing.place, thing.shape, other.place, other.shape = "here", 1, "there", 1
    idle_requests = [
        ((thing, "here"), {}),
        ((thing,), {"to": "here"}),
        ((thing, "here", 2), {"to": 3, "by": "x"}),
    ]
    for args, kwargs in idle_requests:
        idle.note(args, kwargs)
    for args, kwargs in idle_requests:
        assert call(*args, **kwargs) is thing
    assert not objects
    recorded_requests = [
        *[((other, "here"), {}), ((thing, "there"), {}), ((thing,), {"by": "here"}), ((thing, []), {})],
        *[((thing, "here", 2), {"by": 3, "to": "x"}), ((thing,), {}), ((object(), "here"), {})],
    ]
    idle.note((thing, ()), {})  # not of one of the classes whose equals ask for the same
    for args, kwargs in [*recorded_requests, ((thing, ()), {})]:
        assert call(*args, **kwargs) is args[0]
    blockers.append("by another")
    call(thing, "here")
    del thing.shape  # it cannot be told
    blockers.clear()
    call(thing, "here")
    assert len(objects) == len(recorded_requests) + 3


def test_a_variable_of_a_module_turns_recording_off(recorder):
    module = ModuleType("module")
    flag = Flag(module, "is_busy")
    call = OutermostFunction(lambda: 5, recorder.timed_section("own", NO_SITE), Layer(), unless=flag)
    for value in (True, False, 1, None):
        module.is_busy = value
        assert call() == 5
        assert flag() is (value is True)
    del module.is_busy
    assert call() == 5
    assert paths(recorder) == {"own": 4}


def test_a_redirection_begins_at_once_or_later_or_not_at_all(recorder):
    redirection, redirected = Redirection(), []
    default = recorder.timed_section("own", NO_SITE)

    def way(function, *args, **kwargs):
        redirected.append((args, kwargs))
        return function(*args, **kwargs)

    call = OutermostFunction(lambda first, last=0: first - last, default, Layer(), redirection=redirection)
    assert call(3) == 3
    redirection.way, redirection.after = way, 2
    assert [call(3, last=number) for number in range(4)] == [3, 2, 1, 0]
    assert redirected == [((3,), {"last": 2}), ((3,), {"last": 3})]
    redirection.way = None
    assert call(last=1, first=3) == 2
    assert redirection.after == 0
    assert paths(recorder) == {"own": 4}


def test_a_replaced_handler_is_not_called_while_it_is_freed(recorder):
    redirection, calls = Redirection(), []
    call = OutermostFunction(
        lambda: "plain", recorder.timed_section("own", NO_SITE), Layer(), redirection=redirection
    )

    class Way:
        def take(self, function):
            return "redirection"

        def __del__(self):
            calls.append(call())

    redirection.way = Way().take
    assert call() == "redirection"
    redirection.way = None
    assert calls == ["plain"]


def test_exceptions_of_a_redirection_reach_the_caller_and_leave_the_layer(recorder):
    redirection = Redirection()
    redirection.way = lambda function: 1 / 0
    call = OutermostFunction(
        lambda: 1, recorder.timed_section("own", NO_SITE), Layer(), redirection=redirection
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            call()
    redirection.way = None
    assert call() == 1
    assert paths(recorder) == {"own": 1}


def test_calls_from_a_named_call_site_are_in_its_section(recorder):
    default, named, other = (recorder.timed_section(name, NO_SITE) for name in ("own", "named", "other"))
    call_sites, redirection, numbers = CallSites(recorder, 1), Redirection(), []

    def way(function):
        numbers.append(call_sites.number())
        return function()

    call = OutermostFunction(lambda: 5, default, Layer(), choice=call_sites, redirection=redirection)
    redirection.way = way

    def here():
        return call()

    def there():
        return call()

    assert here() == here() == there() == 5
    with recorder.section("elsewhere"):
        here()
    assert numbers[0] == numbers[1]
    assert len(set(numbers)) == 3
    redirection.way = None
    for number in range(100):
        call_sites.name(number, other)
    call_sites.name(numbers[0], named)
    assert here() == there() == 5
    call_sites.name(numbers[0], other)
    here()
    call_sites.name(numbers[0], None)
    call_sites.name(numbers[0], None)
    here()
    assert paths(recorder) == {"elsewhere": 1, "named": 1, "other": 1, "own": 2}


def test_without_recording_there_is_no_call_site(recorder):
    call_sites = CallSites(recorder, 1)
    assert call_sites.number()
    recorder.disable()
    assert call_sites.number() == 0


def test_attendants_get_the_begin_and_end_of_calls_however_they_end(recorder):
    events = []

    class Attendant:
        waits = False

        def begin(self):
            events.append("begin")
            return object()

        def end(self, mark, place):
            events.append("end")

        def failed(self):
            events.append("failed")

    recorder.attended_by.append(lambda name: Attendant())
    call = OutermostFunction(int, recorder.timed_section("own", NO_SITE), Layer())
    assert call("7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        call("x")
    assert events == ["begin", "end"] * 2
    assert paths(recorder) == {"own": 2}
