"""Programs that measure their own shares of time: `known_splits.py NAME SECONDS` prints them as JSON at the end."""

from __future__ import annotations

import json
import mmap
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

TOOK: dict[str, float] = defaultdict(float)


def timed(function: Callable[..., object], *arguments: object) -> None:
    began = time.perf_counter()
    function(*arguments)
    TOOK[function.__name__] += time.perf_counter() - began


def squares(n: int) -> int:
    total = 0
    for i in range(n):
        total += i * i
    return total


def texts(n: int) -> int:
    return sum(len(str(i)) for i in range(n))


def multiply(size: int) -> object:
    matrix = np.ones((size, size))
    return matrix @ matrix


def order(size: int) -> object:
    return np.sort(np.arange(size)[::-1])


def short_sleep() -> None:
    time.sleep(0.002)


def long_sleep() -> None:
    time.sleep(0.006)


def short_wait(lock: threading.Lock) -> None:
    lock.acquire(True, 0.003)


def long_wait(lock: threading.Lock) -> None:
    lock.acquire(True, 0.009)


def shallow(n: int) -> int:
    return n if n < 2 else shallow(n - 1) + shallow(n - 2)


def deep(n: int) -> int:
    return 0 if not n else 1 + deep(n - 1)


def deep_often(n: int) -> None:
    for _ in range(n):
        deep(400)


def pure_python() -> None:
    timed(squares, 9000)
    timed(texts, 9000)


def numpy() -> None:
    timed(multiply, 220)
    timed(order, 40000)


def sleeps() -> None:
    timed(short_sleep)
    timed(long_sleep)


def waits(lock: threading.Lock) -> None:
    timed(short_wait, lock)
    timed(long_wait, lock)


def recursion() -> None:
    timed(shallow, 13)
    timed(deep_often, 12)


def repeat(step: Callable[[], None], seconds: float) -> int:
    """Go round for so long; how often it did."""
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        step()
        rounds += 1
    return rounds


def main(name: str, seconds: float) -> None:
    began = time.thread_time_ns()
    if name == "locks":
        lock = threading.Lock()
        lock.acquire()
        rounds = repeat(lambda: waits(lock), seconds)
    elif name == "gil":
        thread = threading.Thread(target=repeat, args=(lambda: squares(1000), seconds), daemon=True)
        thread.start()
        rounds = repeat(pure_python, seconds)
    else:
        steps = {"python": pure_python, "numpy": numpy, "sleeps": sleeps, "recursion": recursion}
        rounds = repeat(steps[name], seconds)
    cost, total = (time.thread_time_ns() - began) / rounds, sum(TOOK.values())
    shares = {function: took / total for function, took in TOOK.items()}
    print(json.dumps({"shares": shares, "ns_per_round": cost}), flush=True)


def counting(path: str) -> Callable[[], None]:
    """What is called after each round: keeps their number, and the processor time until then, where others see it."""
    with Path(path).open("r+b") as file:
        counts = memoryview(mmap.mmap(file.fileno(), 16)).cast("Q")

    def count() -> None:
        counts[0] += 1
        counts[1] = time.thread_time_ns()

    return count


def count_python(path: str) -> None:
    """Work in pure Python for ever."""
    count = counting(path)
    while True:
        squares(20000)
        count()


def count_control(path: str) -> None:
    """Hold 1 kHz for ever, with a third of each tick's budget busy."""
    count, due = counting(path), time.perf_counter()
    gains, state = np.eye(32) * 0.99, np.ones(32)
    while True:
        for _ in range(60):
            state = np.tanh(gains @ state)
        count()
        due += 0.001
        time.sleep(max(0.0, due - time.perf_counter()))


def count_ppo(path: str) -> None:
    """Run the PPO of the workloads, which marks nothing; an epoch of its updates is a round."""
    import runpy

    import torch

    count, shuffle = counting(path), torch.randperm

    def counted(n: int) -> torch.Tensor:
        count()
        return shuffle(n)

    torch.randperm = counted  # type: ignore[assignment]
    program = Path(__file__).parents[2] / "workloads" / "ppo_single_file" / "ppo.py"
    sys.argv = [str(program), "--total-timesteps", "1000000000"]
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "count":
        {"python": count_python, "control": count_control, "ppo": count_ppo}[sys.argv[2]](sys.argv[3])
    main(sys.argv[1], float(sys.argv[2]))
