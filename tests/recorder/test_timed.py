from __future__ import annotations

import abc
import asyncio
import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import typing
import weakref

import pytest

import ticktree
from support.recorder.queries import counts, losses, node, times


@ticktree.timed
def at_module_level(first, *rest, key=1):
    """What it does."""
    return first, rest, key


def test_a_timed_function_is_a_section_of_its_qualified_name(recorder):
    @recorder.timed
    def update():
        recorder.advance(4)

    update()
    update()
    (path,) = counts(recorder)
    assert path.endswith("<locals>.update")
    assert times(recorder) == {path: 8}


def test_a_timed_function_may_be_given_a_name(recorder):
    @recorder.timed("policy update")
    def update(): ...

    update()
    assert counts(recorder) == {"policy update": 1}


def test_a_timed_function_gives_what_the_function_gives(recorder):
    def function(*args, **kwargs):
        return args, kwargs

    timed = recorder.timed(function)
    assert timed() == function()
    assert timed(1, 2, a=3) == function(1, 2, a=3)
    assert timed(*range(20), **{f"k{i}": i for i in range(20)}) == function(
        *range(20), **{f"k{i}": i for i in range(20)}
    )
    assert functools.partial(timed, 1, b=2)(3) == function(1, 3, b=2)
    assert list(map(timed, [1, 2])) == [((1,), {}), ((2,), {})]


def test_a_timed_function_has_what_a_function_has(recorder):
    def function(first, second=2, *, key=3): ...

    timed = recorder.timed(function)
    assert timed.__code__ is function.__code__
    assert (timed.__defaults__, timed.__kwdefaults__) == ((2,), {"key": 3})
    assert not hasattr(timed, "nothing_of_the_kind")


def test_a_timed_function_raises_what_the_function_raises(recorder):
    @recorder.timed("fails")
    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fails()
    with pytest.raises(TypeError, match="positional argument"):
        fails(1)
    assert counts(recorder) == {"fails": 2}
    assert losses(recorder) == {}


def test_sections_and_timed_functions_nest_in_each_other(recorder):
    @recorder.timed("inner")
    def inner():
        with recorder.section("innermost"):
            recorder.advance(1)

    @recorder.timed("outer")
    def outer():
        with recorder.section("middle"):
            inner()

    outer()
    assert counts(recorder) == {
        "outer": 1,
        "outer/middle": 1,
        "outer/middle/inner": 1,
        "outer/middle/inner/innermost": 1,
    }


def test_a_timed_function_may_call_itself(recorder):
    @recorder.timed("down")
    def down(levels):
        recorder.advance(1)
        return levels and down(levels - 1)

    assert down(2) == 0
    assert times(recorder) == {"down": 3, "down/down": 2, "down/down/down": 1}


def test_name_docstring_and_signature_are_kept():
    assert at_module_level.__name__ == at_module_level.__qualname__ == "at_module_level"
    assert at_module_level.__doc__ == "What it does."
    assert at_module_level.__module__ == __name__
    assert str(inspect.signature(at_module_level)) == "(first, *rest, key=1)"
    assert inspect.unwrap(at_module_level).__code__.co_name == "at_module_level"
    assert inspect.getsource(at_module_level).startswith("@ticktree.timed")
    assert callable(at_module_level)
    assert "at_module_level" in repr(at_module_level)


def test_attributes_of_the_function_are_kept_and_new_ones_may_be_set(recorder):
    def function(): ...

    function.tag = "mine"
    timed = recorder.timed(function)
    timed.other = 5
    assert (timed.tag, timed.other) == ("mine", 5)


def test_a_timed_function_can_be_pickled_and_copied_as_functions_are():
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level
    assert copy.copy(at_module_level) is at_module_level
    assert copy.deepcopy([at_module_level])[0] is at_module_level


class Agent:
    """Something to bind a method to."""

    @ticktree.timed
    def act(self, observation: int) -> str:
        """Acts."""
        return f"{observation}"

    @ticktree.timed
    @abc.abstractmethod
    def learn(self): ...


def test_a_bound_method_can_be_pickled_and_tells_its_types():
    again = pickle.loads(pickle.dumps(Agent().act))
    assert isinstance(again.__self__, Agent)
    assert again(3) == "3"
    assert typing.get_type_hints(Agent.act) == {"observation": int, "return": str}
    assert Agent.learn.__isabstractmethod__
    assert hash(Agent.act) == hash(Agent.act)
    assert weakref.ref(Agent.act)() is Agent.act


def test_a_method_is_bound_to_its_object(recorder):
    class Agent:
        def __init__(self, size):
            self.size = size

        @recorder.timed
        def act(self, observation, scale=1):
            """Acts."""
            return self.size * observation * scale

        @recorder.timed("static")
        @staticmethod
        def static(x):
            return x + 1

        @recorder.timed("class")
        @classmethod
        def made(cls, size):
            return cls(size)

        @staticmethod
        @recorder.timed("inner static")
        def inner_static(x):
            return x + 2

        @classmethod
        @recorder.timed("inner class")
        def inner_made(cls, size):
            return cls(size)

        @property
        @recorder.timed("property")
        def double(self):
            return 2 * self.size

    agent = Agent(3)
    assert agent.act(5) == Agent.act(agent, 5) == 15
    assert agent.act(5, scale=2) == 30
    assert (agent.static(1), Agent.static(1), agent.inner_static(1)) == (2, 2, 3)
    assert agent.made(4).size == Agent.made(4).size == agent.inner_made(4).size == 4
    assert agent.double == 6
    bound = agent.act
    assert bound(1) == 3
    assert bound.__self__ is agent
    assert bound.__doc__ == "Acts."
    assert inspect.ismethod(bound)
    assert str(inspect.signature(bound)) == "(observation, scale=1)"
    node_counts = {path.rsplit(".", 1)[-1]: count for path, count in counts(recorder).items()}
    expected = {"act": 4, "static": 2, "class": 2, "inner static": 1, "inner class": 1, "property": 1}
    assert node_counts == expected


def test_an_overridden_method_may_call_its_parents(recorder):
    class Base:
        @recorder.timed("base")
        def step(self):
            return 1

    class Derived(Base):
        @recorder.timed("derived")
        def step(self):
            return super().step() + 1

    assert Derived().step() == 2
    assert counts(recorder) == {"derived": 1, "derived/base": 1}


def test_whatever_can_be_called_can_be_timed(recorder):
    class Model:
        def __call__(self, x):
            return x + 1

    assert recorder.timed("model")(Model())(1) == 2
    assert recorder.timed("built-in")(len)("abc") == 3
    assert recorder.timed("partial")(functools.partial(int, base=2))("101") == 5
    assert recorder.timed("lambda")(lambda: 7)() == 7
    assert sorted(counts(recorder)) == ["built-in", "lambda", "model", "partial"]


@pytest.mark.parametrize("what", [7, 1.5, object()])
def test_what_cannot_be_called_cannot_be_timed(recorder, what):
    with pytest.raises(TypeError, match="function"):
        recorder.timed(what)


def test_a_timed_function_works_with_the_usual_wrappers(recorder):
    @functools.lru_cache
    @recorder.timed("cached")
    def cached(x):
        return x

    @functools.singledispatch
    @recorder.timed("general")
    def dispatched(x):
        return "general"

    @dispatched.register
    @recorder.timed("int")
    def _(x: int):
        return "int"

    assert [cached(1), cached(1), cached(2)] == [1, 1, 2]
    assert [dispatched("a"), dispatched(1)] == ["general", "int"]
    assert counts(recorder) == {"cached": 2, "general": 1, "int": 1}


def test_a_function_timed_twice_is_two_sections(recorder):
    timed = recorder.timed("outer")(recorder.timed("inner")(lambda: recorder.advance(1)))
    timed()
    assert times(recorder) == {"outer": 1, "outer/inner": 1}


def test_a_timed_function_may_be_a_threads_target(recorder):
    timed = recorder.timed("work")(lambda: recorder.advance(2))
    with recorder.section("main"):
        thread = threading.Thread(target=timed)
        thread.start()
        thread.join()
    assert node(recorder, "main/work").concurrent_ns == 2


def test_a_timed_function_that_switches_recording_off_and_on_returns_in_order(recorder):
    @recorder.timed("switches")
    def switches(off, on):
        if off:
            recorder.advance(1)
            recorder.disable()
        if on:
            recorder.enable()
        return off, on

    with recorder.section("outer"):
        assert switches(False, False) == (False, False)
    assert switches(True, True) == (True, True)
    assert switches(True, False) == (True, False)
    assert switches(False, True) == (False, True)
    assert counts(recorder)["switches"] == 0
    assert node(recorder, "outer").count == 1


def test_off_for_good_gives_the_function_back_unchanged(run_python):
    run_python(
        """
        import ticktree
        def function(): ...
        class K:
            @ticktree.timed
            def method(self): ...
        assert ticktree.timed(function) is function
        assert ticktree.timed("name", memory=True)(function) is function
        assert type(K.__dict__["method"]) is type(function)
        ticktree.enable()
        with ticktree.section("x") as section:
            section.work(items=1)
        for _ in ticktree.loop("loop", range(2), hz=10): ticktree.stage("s")
        ticktree.tick("t"); ticktree.record_duration("r", 1); ticktree.gauge("g", 1)
        ticktree.reset(); ticktree.disable()
        assert list(ticktree.snapshot().root.walk())[1:] == []
        """,
        TICKTREE_OFF="1",
    )


def test_a_timed_function_that_is_made_to_look_like_another_calls_its_own(recorder):
    def other(number):
        return number

    def make():
        @functools.wraps(other)
        @recorder.timed
        def around(number):
            return "around", other(number)

        return around

    around = make()
    gc.collect()
    assert around.__wrapped__ is other
    assert [around(number) for number in range(3)] == [("around", 0), ("around", 1), ("around", 2)]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated at once before 3.14")
@pytest.mark.parametrize("kind", ["def", "async def", "generator"])
def test_annotations_are_evaluated_where_somebody_asks_for_them(recorder, kind):
    body = "yield" if kind == "generator" else "..."
    source = f"@timed\n{kind.replace('generator', 'def')} update(batch: Batch) -> Loss: {body}"
    names = {"timed": recorder.timed}
    exec(
        compile(source, "deferred.py", "exec", dont_inherit=True), names
    )  # as in a module without __future__
    update = names["update"]
    with pytest.raises(NameError):
        update.__annotations__  # noqa: B018
    names["Batch"], names["Loss"] = list, float
    assert update.__annotations__ == typing.get_type_hints(update) == {"batch": list, "return": float}
    assert inspect.signature(update).parameters["batch"].annotation is list


def test_a_section_decorates_what_timed_does(recorder):
    @recorder.section("plain")
    def plain(x):
        """Adds."""
        return x + 1

    @recorder.section("coroutine")
    async def coroutine():
        return 2

    @recorder.section("generator")
    def generator():
        yield 3

    class Policy:
        @recorder.section("method")
        def act(self):
            return 4

        @recorder.section("static")
        @staticmethod
        def reset():
            return 5

    assert (plain(0), plain.__name__, plain.__doc__) == (1, "plain", "Adds.")
    assert asyncio.run(coroutine()) == 2
    assert list(generator()) == [3]
    assert (Policy().act(), Policy.reset()) == (4, 5)
    with recorder.section("plain"):
        pass
    assert counts(recorder) == {"plain": 2, "coroutine": 1, "generator": 2, "method": 1, "static": 1}
    assert recorder.snapshot().root.at("plain").call_sites


def test_what_is_asked_of_a_section_is_asked_of_what_it_decorates(recorder):
    recorder.section("wait", wait=True)(lambda: None)()
    recorder.section("cpu", cpu=True, memory=True)(lambda: None)()
    recorder.section("device", device="cpu")(lambda: None)()
    root = recorder.snapshot().root
    assert root.at("wait").wait
    assert root.at("cpu").cpu.samples == 1
    assert root.at("device").device


def test_every_form_of_timed_names_and_asks_alike(recorder):
    def work():
        pass

    recorder.timed(work)()
    recorder.timed()(work)()
    recorder.timed(name="a")(work)()
    recorder.timed("a")(work)()
    recorder.timed(work, name="a")()
    recorder.timed("b", wait=True, cpu=True, device="cpu")(work)()
    root = recorder.snapshot().root
    assert counts(recorder) == {work.__qualname__: 2, "a": 3, "b": 1}
    assert (root.at("b").wait, root.at("b").cpu.samples) == (True, 1)
