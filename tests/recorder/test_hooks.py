"""Functions are wrapped while anything records, and restored afterwards."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import ticktree
from ticktree.recorder import imports


def wrapped():
    return (threading.Thread.start, ThreadPoolExecutor.submit, asyncio.BaseEventLoop.create_task)


def test_hooks_are_there_while_something_records_and_gone_after():
    bare = wrapped()
    callbacks = len(gc.callbacks)
    first = ticktree.Recorder(virtual_clock=True)
    during = wrapped()
    assert all(bare_hook is not hook for bare_hook, hook in zip(bare, during, strict=True))
    second = ticktree.Recorder(virtual_clock=True)
    assert wrapped() == during
    first.disable()
    assert wrapped() == during
    second.disable()
    assert wrapped() == bare
    assert len(gc.callbacks) == callbacks


def test_enabling_and_disabling_many_times_wraps_once():
    bare = wrapped()
    recorder = ticktree.Recorder(virtual_clock=True)
    for _ in range(50):
        recorder.disable()
        recorder.enable()
        recorder.enable()
    recorder.disable()
    assert wrapped() == bare


def test_wrappers_added_meanwhile_by_others_stay(monkeypatch):
    recorder = ticktree.Recorder(virtual_clock=True)
    wrapper = threading.Thread.start
    calls = []

    def theirs(thread, *args, **kwargs):
        calls.append(thread)
        return wrapper(thread, *args, **kwargs)

    monkeypatch.setattr(threading.Thread, "start", theirs)
    recorder.disable()
    assert threading.Thread.start is theirs
    thread = threading.Thread(target=calls.clear)
    thread.start()
    thread.join()
    assert calls == []


def test_wrapped_functions_keep_their_names_and_signatures():
    import inspect

    recorder = ticktree.Recorder(virtual_clock=True)
    assert threading.Thread.start.__name__ == "start"
    assert "fn" in inspect.signature(ThreadPoolExecutor.submit).parameters
    assert ThreadPoolExecutor.submit.__doc__ == inspect.unwrap(ThreadPoolExecutor.submit).__doc__
    recorder.disable()


def test_a_recorder_that_is_dropped_without_being_disabled_records_no_more():
    bare = wrapped()
    recorder = ticktree.Recorder(virtual_clock=True)
    with recorder.section("x"):
        pass
    del recorder
    assert wrapped() == bare


def test_the_hooks_stay_while_another_recorder_needs_them():
    bare = wrapped()
    dropped, remaining = ticktree.Recorder(virtual_clock=True), ticktree.Recorder(virtual_clock=True)
    del dropped
    assert wrapped() != bare
    remaining.disable()
    assert wrapped() == bare


def test_garbage_collections_are_counted_while_recording():
    recorder = ticktree.Recorder()
    for _ in recorder.loop("loop", range(2)):
        gc.collect()
    worst = recorder.snapshot().loops["loop"].worst[0]
    assert worst.causes["gc_ns"] > 0
    assert worst.causes["gc_ns"] <= worst.duration_ns
    recorder.disable()


@pytest.mark.parametrize("library", ["asyncio", "concurrent.futures.thread", "uvloop"])
def test_a_library_imported_after_enabling_is_wrapped_as_well(run_python, library):
    if library == "uvloop":
        pytest.importorskip("uvloop")
    run_python(
        f"""
        import sys, ticktree
        assert {library!r} not in sys.modules
        recorder = ticktree.Recorder(virtual_clock=True)
        import {library}
        module = sys.modules[{library!r}]
        assert type(module.__loader__).__module__.startswith(("_frozen_importlib", "importlib", "zipimport"))
        assert module.__spec__.loader is module.__loader__
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        loops = [asyncio.new_event_loop]
        if {library!r} == "uvloop":
            loops.append(module.new_event_loop)
        async def task(name):
            with recorder.section(name):
                await asyncio.sleep(0)
                await asyncio.get_running_loop().run_in_executor(executor, thread, name)
        def thread(name):
            with recorder.section("thread"):
                pass
        async def main():
            with recorder.section("main"):
                await asyncio.gather(task("a"), task("b"))
        executor = ThreadPoolExecutor(1)
        for new in loops:
            loop = new()
            loop.run_until_complete(main())
            loop.close()
        executor.shutdown()
        told = {{path: node.count for path, _, node in recorder.snapshot().root.walk() if path}}
        n = len(loops)
        assert told == {{"main": n, "main/a": n, "main/b": n, "main/a/thread": n, "main/b/thread": n}}, told
        """
    )


def test_a_library_that_is_not_installed_is_none_of_our_business(run_python):
    run_python(
        """
        import ticktree, sys
        sys.modules["uvloop"] = None
        recorder = ticktree.Recorder(virtual_clock=True)
        try:
            import uvloop
        except ImportError:
            pass
        recorder.disable()
        from ticktree.recorder import imports
        assert set(imports._finder.awaited) == {"torch._dynamo"}  # as before: session/compiling.py
        """
    )


def test_an_import_that_fails_fails_as_without_us(run_python, tmp_path):
    (tmp_path / "uvloop.py").write_text("raise ValueError('broken')")
    run_python(
        """
        import ticktree
        recorder = ticktree.Recorder(virtual_clock=True)
        for _ in range(2):
            try:
                import uvloop
            except ValueError as error:
                assert str(error) == "broken"
            else:
                raise AssertionError
        recorder.disable()
        """
    )


def test_a_thread_is_recorded_by_every_recorder_that_records():
    first, second = (ticktree.Recorder(virtual_clock=True) for _ in range(2))

    def work():
        with first.section("work"), second.section("work"):
            pass

    with first.section("a"), second.section("b"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    for recorder, path in ((first, "a/work"), (second, "b/work")):
        assert recorder.snapshot().root.at(path).count == 1
        recorder.disable()


def test_no_thread_of_ours_is_ever_started():
    before = set(threading.enumerate())
    recorder = ticktree.Recorder()
    with recorder.section("x"):
        assert set(threading.enumerate()) == before
    recorder.disable()


def test_an_import_continues_if_a_callback_fails(tmp_path, monkeypatch):
    """Another version of a library, in which nothing is where it was."""
    (tmp_path / "unlike_before.py").write_text("here = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    requests = []

    def fails(module):
        requests.append(module)
        module.gone()

    imports.when_imported("unlike_before", fails)
    import unlike_before

    imports.when_imported(
        "unlike_before", fails
    )  # and it is called again for a module that is already imported
    assert unlike_before.here == 1
    assert requests == [unlike_before, unlike_before]
    del sys.modules["unlike_before"]


def test_an_executor_of_interpreters_gets_the_unwrapped_function(recorder):
    interpreters = pytest.importorskip("concurrent.futures.interpreter")
    with recorder.section("main"), interpreters.InterpreterPoolExecutor(1) as executor:
        assert executor.submit(abs, -3).result() == 3
