"""numpy's and OpenCV's functions, on demand: rows with their bytes, and stand-ins that behave as the functions do."""

from __future__ import annotations

import copy
import inspect
import pickle
from types import ModuleType

import numpy as np
import pytest

import ticktree
from ticktree.instruments import arrays
from ticktree.instruments.patches import Patches
from ticktree.recorder.site import NO_SITE

NAMES = (*arrays.WRITES, *arrays.COMPUTES)
BARE = {name: getattr(np, name) for name in NAMES}


@pytest.fixture
def recorder():
    recorder = ticktree.Recorder()
    arrays.NUMPY.install(recorder)
    yield recorder
    arrays.NUMPY.uninstall()
    arrays.OPENCV.uninstall()
    recorder.disable()


def test_all_of_them_are_there_wrapped_and_put_back(recorder):
    assert [name for name in NAMES if getattr(np, name) is BARE[name]] == []
    assert all(hasattr(np.linalg, name) for name in arrays.OF_LINALG)
    arrays.NUMPY.uninstall()
    assert {name: getattr(np, name) for name in NAMES} == BARE
    assert np.linalg.norm.__module__ == "numpy.linalg"
    assert not hasattr(np.linalg.norm, "_function")


def test_each_call_is_a_row_with_the_bytes_it_wrote_and_once(recorder):
    with recorder.section("sample"):
        rows = [np.zeros((4, 4), np.float32)] * 3
        stacked = np.stack(rows)
        np.vstack(rows)
        np.linalg.norm(stacked)
        again = np.asarray(stacked)
    assert again is stacked
    profile = recorder.snapshot()
    profile.check()
    sample = profile.root.at("sample")
    assert {name: node.count for name, node in sample.children.items()} == {
        "numpy.stack": 1,
        "numpy.vstack": 1,
        "numpy.linalg.norm": 1,
        "numpy.asarray": 1,
    }
    assert sample.children["numpy.stack"].work.bytes == stacked.nbytes == 192
    assert sample.children["numpy.asarray"].work is None
    assert not any(node.children for node in sample.children.values())


def test_results_exceptions_names_and_signatures_are_numpys_own(recorder):
    for name in NAMES:
        now, before = getattr(np, name), BARE[name]
        assert (now.__name__, now.__doc__, now.__module__) == (
            before.__name__,
            before.__doc__,
            before.__module__,
        )
        try:
            expected = inspect.signature(before)
        except ValueError:
            with pytest.raises(ValueError):
                inspect.signature(now)
        else:
            assert inspect.signature(now) == expected
        assert repr(now) == repr(before)
        assert pickle.loads(pickle.dumps(now)) is now
        assert copy.deepcopy(now) is now
    for wrong in (lambda: np.stack(), lambda: np.concatenate([]), lambda: np.array(dtype="nothing")):
        with recorder.section("here"), pytest.raises(Exception) as ours:
            wrong()
        arrays.NUMPY.uninstall()
        with pytest.raises(Exception) as theirs:
            wrong()
        arrays.NUMPY.install(recorder)
        assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))


@pytest.mark.parametrize("kind", ["of C", "of Python"])
def test_as_an_attribute_of_a_class_it_is_a_method_where_the_function_is_one(kind):
    function = len if kind == "of C" else (lambda *args: len(args[-1]))
    module, recorder, patches = ModuleType("module"), ticktree.Recorder(), Patches()
    module.function = function
    patches.section(module, "function", recorder.timed_section("function", NO_SITE))
    ours = module.function

    class Holder:
        plain = function
        wrapped = ours

    assert Holder().wrapped([1, 2]) == Holder().plain([1, 2]) == 2
    assert Holder.wrapped([1, 2]) == 2
    patches.undo()
    assert module.function is function


def test_functions_on_images_and_frames_are_rows(tmp_path, recorder):
    cv2 = pytest.importorskip("cv2")
    bare = cv2.resize
    arrays.OPENCV.install(recorder)
    image = np.zeros((8, 8, 3), np.uint8)
    with recorder.section("frame"):
        small = cv2.resize(image, (4, 4))
        ok, data = cv2.imencode(".png", small)
        assert ok
        assert (cv2.imdecode(data, cv2.IMREAD_COLOR) == small).all()
        assert cv2.imread(str(tmp_path / "missing.png")) is None
        with pytest.raises(cv2.error):
            cv2.resize(image, (0, 0))
    arrays.OPENCV.uninstall()
    assert cv2.resize is bare
    frame = recorder.snapshot().root.at("frame")
    assert {name: node.count for name, node in frame.children.items()} == {
        "cv2.resize": 2,
        "cv2.imencode": 1,
        "cv2.imdecode": 1,
        "cv2.imread": 1,
    }
    assert frame.children["cv2.imdecode"].work.bytes == small.nbytes
    assert frame.children["cv2.imread"].work is None


def test_they_are_on_demand(recorded):
    program = """
        import numpy as np
        def main():
            with ticktree.section("here"):
                np.stack([np.ones(4)])
        """
    assert list(recorded(program).root.at("here").children) == []
    profile = recorded(program, "--instrument", "default,numpy")
    assert list(profile.root.at("here").children) == ["numpy.stack"]
