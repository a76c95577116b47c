"""Methods of a class and its subclasses as sections: once a call, and pickled classes take nothing of ours along."""

from __future__ import annotations

import copy
import inspect
import pickle
from abc import ABC, abstractmethod

import pytest

import ticktree
from ticktree.instruments.patches import Patches
from ticktree.recorder import Layer, OutermostFunction
from ticktree.recorder.site import NO_SITE


class Robot(ABC):
    @abstractmethod
    def observe(self, camera="front"):
        """Look."""

    def act(self, action):
        return action


class Early(Robot):
    def observe(self, camera="front"):
        """Look early."""
        return camera


def wrap(patches, recorder, base, method, name, layer=None, *, wait=False):
    """Makes the method of a class and its subclasses a section."""
    section = recorder.timed_section(name, NO_SITE, wait=wait)
    patches.section(base, method, section, layer, subclasses=True)


@pytest.fixture
def robots():
    """The family of robots, with `observe` and `act` as sections of a recorder."""
    recorder, patches = ticktree.Recorder(), Patches()
    recorder.enable()
    wrap(patches, recorder, Robot, "observe", "robot observe")
    wrap(patches, recorder, Robot, "act", "robot act", wait=True)
    yield recorder
    patches.undo()
    recorder.disable()


def counts(recorder):
    profile = recorder.snapshot()
    profile.check()
    return {path: node.count for path, _, node in profile.root.walk() if path}


def test_classes_that_are_there_and_those_that_come_are_recorded(robots):
    class Late(Robot):
        def observe(self, camera="front"):
            return camera.upper()

    assert Early().observe("left") == "left"
    assert Late().observe(camera="left") == "LEFT"
    assert Late().act(3) == 3
    assert counts(robots) == {"robot observe": 2, "robot act": 1}
    assert robots.snapshot().root.at("robot act").wait


def test_what_calls_the_method_of_the_class_above_is_one_call(robots):
    class Both(Early):
        def observe(self, camera="front"):
            return [super().observe(camera), super().observe(camera)]

    assert Both().observe() == ["front", "front"]
    assert counts(robots) == {"robot observe": 1}


def test_a_call_that_raises_ends_its_section_and_the_next_is_recorded(robots):
    class Broken(Robot):
        def observe(self, camera="front"):
            raise OSError("unplugged")

    for _ in range(2):
        with pytest.raises(OSError, match="unplugged"):
            Broken().observe()
    assert counts(robots) == {"robot observe": 2}


def test_abstract_methods_stay_abstract_and_signatures_stay(robots):
    with pytest.raises(TypeError, match="abstract"):
        Robot()
    assert str(inspect.signature(Early.observe)) == "(self, camera='front')"
    assert str(inspect.signature(Early().observe)) == "(camera='front')"
    assert Early.observe.__doc__ == "Look early."
    assert Early.observe.__qualname__ == "Early.observe"


def test_what_else_is_asked_of_a_method_is_the_functions(robots):
    assert Early.observe.__code__.co_name == "observe"
    assert Early.observe.__defaults__ == ("front",)
    assert not hasattr(Early.observe, "nothing_of_the_kind")


def test_a_row_has_no_place_of_ours(robots):
    Early().observe()
    assert robots.snapshot().root.at("robot observe").call_sites == {}


def test_a_class_with_a_say_in_its_subclasses_keeps_it():
    made = []

    class Base:
        def __init_subclass__(cls, flavour="plain", **kwargs):
            super().__init_subclass__(**kwargs)
            made.append((cls.__name__, flavour))

        def taste(self):
            return "base"

    patches, recorder = Patches(), ticktree.Recorder()
    own = vars(Base)["__init_subclass__"]
    wrap(patches, recorder, Base, "taste", "taste")

    class Sweet(Base, flavour="sweet"):
        def taste(self):
            return "sweet"

    assert made == [("Sweet", "sweet")]
    assert isinstance(vars(Sweet)["taste"], OutermostFunction)
    patches.undo()
    assert vars(Base)["__init_subclass__"] is own
    assert inspect.isfunction(vars(Sweet)["taste"])
    recorder.disable()


def test_once_it_is_taken_back_nothing_is_left():
    before = dict(vars(Robot)), dict(vars(Early))
    patches, recorder = Patches(), ticktree.Recorder()
    wrap(patches, recorder, Robot, "observe", "x")
    assert vars(Early)["observe"] is not before[1]["observe"]
    patches.undo()
    recorder.disable()
    after = dict(vars(Robot)), dict(vars(Early))
    for each in (*before, *after):
        each.pop("_abc_impl", None)
    assert after == before


def test_pickled_by_value_a_class_takes_its_own_function_along(robots):
    class Local(Robot):
        def observe(self, camera="front"):
            return camera

    kind, arguments = vars(Local)["observe"].__reduce__()
    assert kind is copy.copy
    assert kind(*arguments) is vars(Local)["observe"].__wrapped__
    wrapped = vars(Early)["observe"]
    assert wrapped.__reduce__() == "Early.observe"  # by its name, where the class is found by its own
    assert copy.deepcopy(wrapped) is copy.copy(wrapped) is wrapped
    assert pickle.loads(pickle.dumps(Early())).observe() == "front"


def test_methods_that_share_a_layer_are_recorded_one_at_a_time():
    class Policy:
        def predict(self):
            return self.evaluate() + 1

        def evaluate(self):
            return 1

    recorder, patches = ticktree.Recorder(), Patches()
    recorder.enable()
    layer = Layer()
    for name in ("predict", "evaluate"):
        wrap(patches, recorder, Policy, name, name, layer)
    assert (Policy().predict(), Policy().evaluate()) == (2, 1)
    assert counts(recorder) == {"predict": 1, "evaluate": 1}
    patches.undo()
    recorder.disable()
