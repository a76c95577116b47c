"""Calls that an exception ends are counted; ends of iterators and generators do not count."""

from __future__ import annotations

import asyncio

import pytest

from ticktree.profile import Profile
from ticktree.session import Recorder


@pytest.fixture
def recorder():
    new_recorder = Recorder(virtual_clock=True)
    yield new_recorder
    new_recorder.disable()


def raised(recorder: Recorder) -> dict[str, tuple[int, int]]:
    return {path: (node.count, node.raised) for path, _, node in recorder.snapshot().root.walk() if path}


def test_sections_and_decorated_functions_that_raise(recorder):
    @recorder.timed
    def fails(number):
        if number % 3 == 0:
            raise ValueError(number)

    for number in range(9):
        with pytest.raises(KeyError), recorder.section("always"):
            raise KeyError
        try:
            with recorder.section("sometimes"):
                fails(number)
        except ValueError:
            pass
    assert raised(recorder) == {
        "always": (9, 9),
        "sometimes": (9, 3),
        f"sometimes/{fails.__qualname__}": (9, 3),
    }


def test_coroutines_that_are_cancelled_and_methods_that_raise(recorder):
    class Robot:
        @recorder.timed("act")
        def act(self):
            raise RuntimeError

    @recorder.timed("wait")
    async def wait():
        await asyncio.sleep(3600)

    async def main():
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    with pytest.raises(RuntimeError):
        Robot().act()
    assert {path.split("/")[-1]: counts for path, counts in raised(recorder).items()} == {
        "wait": (1, 1),
        "act": (1, 1),
    }


def test_an_iterator_that_is_exhausted_and_a_generator_that_is_closed_have_raised_nothing(recorder):
    @recorder.timed("numbers")
    def numbers():
        yield from range(3)

    def sleeper():
        with recorder.section("sleeper"):
            yield 1

    assert list(numbers()) == [0, 1, 2]
    generator = sleeper()
    next(generator)
    generator.close()
    assert raised(recorder) == {"numbers": (4, 0), "sleeper": (1, 0)}


def test_a_section_with_a_device_counts_them_too(recorder):
    with pytest.raises(OSError, match="gone"), recorder.section("step", device="cpu"):
        raise OSError("gone")
    assert raised(recorder)["step"] == (1, 1)


def test_those_of_the_warm_up_count_and_reset_forgets_them(recorder):
    for number in recorder.loop("train", range(4), warmup=2):
        try:
            with recorder.section("step"):
                if number < 3:
                    raise ValueError
        except ValueError:
            pass
    assert raised(recorder)["train/step"] == (4, 3)
    recorder.reset()
    with recorder.section("step"):
        pass
    assert raised(recorder) == {"step": (1, 0)}


def test_raised_calls_are_in_the_file_merge_and_appear_in_the_report(recorder, tmp_path):
    from ticktree.outputs import OUTPUTS, ViewOptions

    for number in range(4):
        try:
            with recorder.section("step"):
                recorder.advance(10**9)
                if number:
                    raise ValueError
        except ValueError:
            pass
    profile = recorder.snapshot()
    assert Profile.from_json(profile.to_json()) == profile
    assert profile.merge(profile).root.at("step").raised == 6
    text = OUTPUTS["terminal"].render(profile, ViewOptions(width=120)).decode()
    assert any(line.endswith("exceptions") for line in text.splitlines())
    (row,) = [line for line in text.splitlines() if line.lstrip("└─ ").startswith("step")]
    assert row.rstrip().endswith(" 3")
