"""What the Perfetto UI, with its trace processor, makes of our traces: the same calls, exactly, and no errors."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import ticktree
from support.perfetto_ui import perfetto_ui
from ticktree.outputs import EXPORTS

# Some errors are counted as mere information.
ERRORS = (
    "select name, value from stats "
    "where (severity in ('error', 'data_loss') or name like '%error%') and value > 0"
)
SLICES = "select name, ts, dur from slice where name != 'missed tick' order by ts, dur desc, name"
MARKS = (
    "select tick.name as loop, mark.dur as dur, args.int_value as number from slice mark "
    "join slice tick on mark.parent_id = tick.id join args on args.arg_set_id = mark.arg_set_id "
    "where mark.name = 'missed tick' and args.key in ('debug.tick', 'args.tick') order by mark.ts"
)
COUNTERS = "select pid from process_counter_track join process using (upid)"


def recorded() -> ticktree.Recorder:
    """Threads, tasks, waits, and durations that overlap; calls shorter than a microsecond among them."""
    recorder = ticktree.Recorder(timeline=100_000)

    def work() -> None:
        for _ in range(50):
            with recorder.section("step"), recorder.section("inner"):
                pass

    async def task(number: int) -> None:
        with recorder.section(f"task </script> {number}"):
            await asyncio.sleep(0.001)

    async def tasks() -> None:
        await asyncio.gather(*map(task, range(4)))

    threads = [threading.Thread(target=work, name=f"worker {number}") for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _ in recorder.loop("train", range(30)):
        with recorder.section("asleep", wait=True):
            pass
        recorder.record_duration("net", 0.001)
    for _ in recorder.loop("late", range(4), hz=1_000_000, warmup=0):
        time.sleep(0.001)
    asyncio.run(tasks())
    recorder.gauge("depth", 4)
    recorder.disable()
    return recorder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["perfetto", "chrome"])
def test_the_ui_shows_every_call_as_it_was(name: str) -> None:
    recorder = recorded()
    timeline = recorder.timeline()
    assert timeline is not None
    trace = EXPORTS[name].render(recorder.snapshot(), timeline=timeline)
    with perfetto_ui(trace) as ui:
        assert ui.query(ERRORS, "name", "value") == []
        shown = ui.query(SLICES, "name", "ts", "dur")
        threads = {one for (one,) in ui.query("select distinct name from thread", "name")}
        values = ui.query("select value from counter", "value")
        marks = ui.query(MARKS, "loop", "dur", "number")
        counters = ui.query(COUNTERS, "pid")
    assert len(shown) == len(timeline)
    ours = sorted(zip(timeline.start_ns.tolist(), timeline.duration_ns.tolist()))
    assert sorted((ts, dur) for _, ts, dur in shown) == ours
    assert {one for one, *_ in shown} >= {"step", "inner", "train", "asleep", "net", "task </script> 3"}
    assert {"MainThread", "worker 0", "worker 1"} <= threads
    assert (4,) in values
    assert marks == [("late", 0, tick) for tick in range(4)]
    assert len(counters) == 1
