"""A learner and four processes that it started by spawn, one of them slow: what the report says of them."""

from __future__ import annotations

import json
import re

import pytest

from support.command_line import CommandLine

TRAINER = """
import multiprocessing, time, ticktree

def worker(number, commands, results):
    while commands.get():
        with ticktree.section("env step"):
            time.sleep(0.15 if number == 3 else 0.002)
        results.put(number)

def main():
    ticktree.role("learner")
    spawn = multiprocessing.get_context("spawn")
    commands, results = [spawn.Queue() for _ in range(4)], spawn.Queue()
    with ticktree.section("make envs"):
        workers = [
            spawn.Process(target=worker, args=(n, commands[n], results), name=f"env worker-{n}")
            for n in range(4)
        ]
        for each in workers:
            each.start()
    for tick in ticktree.loop("train", range(15)):
        for each in commands:
            each.put(True)
        with ticktree.section("step_wait", wait=True):
            for each in workers:
                results.get()
    for each in commands:
        each.put(False)
    for each in workers:
        each.join()

if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    here = CommandLine(tmp_path_factory.mktemp("trainer"))
    here.write("train.py", TRAINER)
    done = here.ticktree("run", "train.py")
    assert done.returncode == 0, done.stderr
    (here.directory / "printed").write_text(done.stderr)
    return here


@pytest.mark.slow
def test_each_process_has_a_column_named_by_what_it_does(trained: CommandLine) -> None:
    text = trained.ticktree("report", "--by", "process", "--width", "150").stdout
    assert "5 processes: learner, 4 × env worker" in text
    text = text[text.index("The run by process") :]
    heading = text.splitlines()[0]
    assert "learner  env worker 0  env worker 1  env worker 2  env worker 3" in heading
    step = next(line for line in text.splitlines() if "env step" in line)
    assert step.rstrip().endswith("60")  # calls, of all of them together


@pytest.mark.slow
def test_the_slow_one_is_what_is_worth_doing_and_whose_signals_ended_the_wait(trained: CommandLine) -> None:
    worth_doing = (trained.directory / "printed").read_text().partition("\nRecommendations\n")[2]
    assert re.search(r"^ \d  (?:\S+  .+  )?env worker 3 takes", worth_doing, re.MULTILINE)
    everything = json.loads(trained.ticktree("report", "--format", "json").stdout)["findings"]
    (found,) = (each for each in everything if each["rule"] == "straggler")
    assert found["path"] == "make envs/env step"
    # Not "up to": wake edges prove it. On a busy machine another worker may straggle, too.
    assert re.search(r"; learner waits for it \d+% of the time in step_wait(?:;|$)", found["message"])
    metrics = {metric["key"]: metric["value"] for metric in found["metrics"] if metric["unit"] == "ns"}
    assert metrics["per_call"] > 2 * metrics["per_call_by_peers"]


def test_the_report_says_why_anyone_was_idle_and_what_set_the_runs_length(trained: CommandLine) -> None:
    blocks = trained.ticktree("report", "--all").stdout.split("\n\n")
    (idle,) = (block for block in blocks if block.startswith("why idle"))
    assert "learner in step_wait" in idle
    assert "4 × env worker in Queue.get" in idle
    (path,) = (block for block in blocks if block.startswith("critical path"))
    assert "in env step" in path
    (processes,) = (block for block in blocks if block.startswith("processes"))
    assert [line.split()[:2] for line in processes.splitlines()[1:]] == [["learner", "1"], ["env", "worker"]]
